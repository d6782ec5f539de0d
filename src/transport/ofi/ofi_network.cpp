// SPDX-License-Identifier: Apache-2.0
#include "transport/ofi/ofi_network.hpp"

#include <algorithm>
#include <utility>

namespace headway::transport::ofi {

namespace {

/// Longest frame with its header: what layered providers still send in one piece of their own.
constexpr std::size_t frame_bytes = 16 * 1024;

/// In an address between the names of the endpoint and of the pusher, if there is one.
constexpr char pusher_mark = '+';

/// What providers of hardware want to know of memory: all that one reads into, while it has pages,
/// by the addresses that it has, and under keys of their own. The last two cannot be asked of a
/// layer, which hands addresses on to a provider that was not asked.
int modes_of_hardware(const fi_info& info)
{
    const bool is_layered =
        std::string_view(info.fabric_attr->prov_name).find(';') != std::string_view::npos;
    return FI_MR_LOCAL | FI_MR_ALLOCATED | (is_layered ? 0 : FI_MR_VIRT_ADDR | FI_MR_PROV_KEY);
}

std::string hex_of(std::string_view bytes)
{
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        text += digits[value >> 4];
        text += digits[value & 15];
    }
    return text;
}

/// Empty: it is none.
std::string bytes_of(std::string_view hex)
{
    const auto digit_of = [](char digit) {
        return digit >= '0' && digit <= '9'   ? digit - '0'
               : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                              : -1;
    };
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        const int high = digit_of(hex[i]);
        const int low = digit_of(hex[i + 1]);
        if (high < 0 || low < 0) {
            return {};
        }
        bytes += static_cast<char>(high << 4 | low);
    }
    return hex.size() % 2 == 0 ? bytes : std::string();
}

}  // namespace

OfiNetwork::OfiNetwork(Fabric fabric, const NetworkOptions& options)
    : fabric_(std::move(fabric)),
      judge_{.secret = {},
             .own_rank = options.own_rank,
             .own_count = options.own_count,
             .rank_count = options.rank_count},
      window_bytes_(options.window_bytes),
      push_bytes_max_(options.push_bytes_max),
      are_hosts_watched_(options.are_hosts_watched),
      may_hold_(options.may_hold)
{
    for (std::uint32_t i = 0; i < options.own_count; ++i) {
        ports_.push_back(std::make_unique<OfiPort>(*this, options.own_rank + i));
    }
}

base::Result<std::unique_ptr<OfiNetwork>> OfiNetwork::open(const NetworkOptions& options)
{
    auto info = choose_provider({options.provider, options.interface});
    if (!info) {
        return base::Failure{info.sentence()};
    }
    const std::string description = std::string(info.value()->fabric_attr->prov_name) + " on " +
                                    info.value()->domain_attr->name;
    if (options.registers_all) {
        info.value()->domain_attr->mr_mode |= modes_of_hardware(*info.value());
    }
    auto fabric = Fabric::open(std::move(info.value()));
    if (!fabric) {
        return base::Failure{"the network (" + description +
                             ") cannot be used: " + fabric.sentence() +
                             "; name another one by HEADWAY_OFI_PROVIDER or "
                             "HEADWAY_OFI_INTERFACE"};
    }
    std::unique_ptr<OfiNetwork> network(new OfiNetwork(std::move(fabric.value()), options));
    network->description_ = description;
    if (auto prepared = network->prepare(); !prepared) {
        return base::Failure{"the network (" + description +
                             ") cannot be used: " + prepared.sentence()};
    }
    network->open_regions(options);
    return network;
}

/// Where the provider finds the pages of memory when it is registered, that is dear, and what it
/// has found becomes wrong when the memory changes. Where nobody tells of that, all memory is
/// registered for one message (`headway info` says which).
void OfiNetwork::open_regions(const NetworkOptions& options)
{
    RegistrationCache::Limits limits{options.regions_kept_max, options.region_bytes_max};
    if (!fabric_.has_mode(FI_MR_LOCAL) && !fabric_.has_mode(FI_MR_ALLOCATED)) {
        limits.entries = 0;
    }
    if (limits.entries != 0) {
        if (auto opened = platform::MemoryWatch::open(); opened) {
            memory_watch_ = std::move(opened.value());
        }
    }
    regions_ = std::make_unique<RegistrationCache>(registrar_, memory_watch_.get(), limits);
}

void OfiNetwork::declare_lasting(const void* address, std::uint64_t bytes) noexcept
{
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const std::lock_guard guard(lock_);
    regions_->declare_lasting({begin, begin + bytes});
}

RegionCounts OfiNetwork::region_counts() const noexcept
{
    const std::lock_guard guard(lock_);
    return regions_->counts();
}

base::Outcome OfiNetwork::prepare()
{
    const std::size_t bytes = std::min(frame_bytes, fabric_.info->ep_attr->max_msg_size);
    if (bytes < 2 * sizeof(WireHeader) + inline_bytes_max) {
        return base::Failure{"its messages are too short (" + std::to_string(bytes) + " bytes)"};
    }
    packet_bytes_max_ = bytes;
    payload_bytes_max_ = bytes - sizeof(WireHeader);
    const auto name = Fabric::name_of(*fabric_.endpoint);
    if (!name) {
        return base::Failure{name.sentence()};
    }
    address_ = std::string(fabric_.info->fabric_attr->prov_name) + ":" + hex_of(name.value());
    if (pushes()) {
        const auto name_of_pusher = Fabric::name_of(*fabric_.pusher);
        if (!name_of_pusher) {
            return base::Failure{name_of_pusher.sentence()};
        }
        address_ += pusher_mark + hex_of(name_of_pusher.value());
    }
    if (fabric_.info->addr_format == FI_SOCKADDR || fabric_.info->addr_format == FI_SOCKADDR_IN ||
        fabric_.info->addr_format == FI_SOCKADDR_IN6) {
        socket_address_ = name.value();
    }
    descriptor_ = fabric_.descriptor();
    if (auto opened = slots_.open(fabric_, bytes); !opened) {
        return opened;
    }
    return blocks_.open(fabric_, bytes);
}

void OfiNetwork::join_job(const base::Secret& secret) noexcept
{
    judge_.secret = secret;
}

base::Outcome OfiNetwork::introduce(std::uint32_t rank, std::string_view address,
                                    std::string_view host)
{
    const std::string name =
        "rank " + std::to_string(rank) + " on host '" + std::string(host) + "'";
    const std::size_t colon = address.rfind(':');
    const std::string_view own(address_);
    if (colon == std::string_view::npos ||
        address.substr(0, colon) != own.substr(0, own.rfind(':'))) {
        return base::Failure{name + " uses the network '" +
                             std::string(address.substr(0, std::min(colon, address.size()))) +
                             "' and this one '" + std::string(own.substr(0, own.rfind(':'))) +
                             "'; set HEADWAY_OFI_PROVIDER to one that all hosts have"};
    }
    const std::lock_guard guard(lock_);
    auto known = processes_.find(address);
    if (known == processes_.end()) {
        const std::string_view names = address.substr(colon + 1);
        const std::size_t mark = std::min(names.find(pusher_mark), names.size());
        Destination there;
        there.address = insert_address(names.substr(0, mark));
        if (mark != names.size()) {
            there.push_address = insert_address(names.substr(mark + 1));
        }
        if (there.address == FI_ADDR_UNSPEC ||
            (mark != names.size() && there.push_address == FI_ADDR_UNSPEC)) {
            return base::Failure{"the network address of " + name +
                                 " makes no sense here; do "
                                 "all hosts have the same libfabric provider?"};
        }
        known = processes_.emplace(address, there).first;
    }
    destinations_.try_emplace(rank, known->second).first->second.name = name;
    return base::Done{};
}

/// FI_ADDR_UNSPEC: it makes no sense to the provider.
fi_addr_t OfiNetwork::insert_address(std::string_view hex) noexcept
{
    const std::string bytes = bytes_of(hex);
    fi_addr_t there = FI_ADDR_UNSPEC;
    return !bytes.empty() &&
                   fi_av_insert(fabric_.addresses.get(), bytes.data(), 1, &there, 0, nullptr) == 1
               ? there
               : FI_ADDR_UNSPEC;
}

bool OfiNetwork::knows(std::uint32_t rank) const noexcept
{
    const std::lock_guard guard(lock_);
    return destinations_.contains(rank);
}

void OfiNetwork::fail(std::string sentence) noexcept
{
    if (failure_.empty()) {
        failure_ = std::move(sentence);
        // (1) release, pairs with (2).
        has_failed_.store(true, std::memory_order_release);
    }
}

const std::string& OfiNetwork::failure() const noexcept
{
    // (2) acquire, pairs with (1).
    return has_failed_.load(std::memory_order_acquire) ? failure_ : no_failure_;
}

std::string OfiNetwork::describe(std::uint32_t rank) const
{
    const auto found = destinations_.find(rank);
    return found != destinations_.end() ? found->second.name : "rank " + std::to_string(rank);
}

/// One more or less. Relaxed: written under the lock; who reads it without asks again, see
/// deliver().
void OfiNetwork::count_sleeping(std::int32_t change) noexcept
{
    const std::uint32_t now = sleeping_.load(std::memory_order_relaxed);
    sleeping_.store(now + static_cast<std::uint32_t>(change), std::memory_order_relaxed);
}

/// The port does not want to be called any more.
void OfiNetwork::end_sleep(OfiPort& port) noexcept
{
    if (std::exchange(port.sleeps_, false)) {
        count_sleeping(-1);
    }
}

/// Something was taken in for a port: who is not looking at it himself rings its rank.
void OfiNetwork::call(OfiPort& port, const Look& look) noexcept
{
    if (&port == look.port || port.is_called_) {
        return;
    }
    port.is_called_ = true;
    end_sleep(port);
    look.called->push_back(port.rank_);
}

/// All that there is by now, with nobody's look; whether there was something.
bool OfiNetwork::take_in(const Look& look) noexcept
{
    /// Where more keeps coming, whoever calls looks again.
    constexpr int batches_at_once = 64;
    int batches = 0;
    while (batches < batches_at_once && read_completions(look)) {
        (void)take_events(look);
        ++batches;
    }
    return batches != 0;
}

/// True: its next frame is the current one.
bool OfiNetwork::look_for(OfiPort& port) noexcept
{
    /// What others get of a rank's time before it goes on with its own business.
    constexpr int batches_a_look = 4;
    looks_.store(looks_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // a hint
    port.begin_look();
    regions_->forget_changed();
    if (port.take_letter()) {
        return true;
    }
    const Look look{&port, &port.called_};
    for (int batches = 0; failure_.empty(); ++batches) {
        if (take_events(look)) {
            return true;
        }
        if (batches == batches_a_look || !read_completions(look)) {
            return false;
        }
    }
    return false;
}

/// Completions are read as long as the port has something under way. Over most providers a short
/// frame has left when fi_send returns, and what is pushed often, and the completion is there
/// without a look at any socket. What has come with them is dealt with as far as to a frame of the
/// port's own.
bool OfiNetwork::settle(OfiPort& port) noexcept
{
    const Look look{&port, &port.called_};
    const auto is_of_send = [](const fi_cq_data_entry& entry) {
        const Target::Kind kind = static_cast<Target*>(entry.op_context)->kind;
        return kind == Target::Kind::send || kind == Target::Kind::push;
    };
    for (;;) {
        const bool are_sends =
            packet_.block == nullptr &&
            std::all_of(events_.data() + next_event_, events_.data() + event_count_, is_of_send);
        (void)take_events(look);
        if (!are_sends || !failure_.empty()) {
            return false;
        }
        const bool is_all_gone =
            port.in_flight_.load(std::memory_order_relaxed) == 0 && port.pushes_under_way_ == 0;
        if (is_all_gone || !read_completions(look)) {
            return true;
        }
    }
}

int OfiNetwork::clear_descriptor() noexcept
{
    const int code = fabric_.clear_descriptor();
    if (code != 0 && code != -FI_EAGAIN) {
        fail(describe_failure("fi_trywait", code).sentence);
    }
    return code;
}

Network::Delivery OfiNetwork::deliver(std::vector<std::uint32_t>& called) noexcept
{
    /// Where more keeps coming, the descriptor can be read at once.
    constexpr int batches_a_delivery = 64;
    /// A rank that passes by looks a few times, one that waits all the time.
    constexpr std::uint32_t many_looks = 16;
    // Relaxed, both: who sleeps has said so before it told the watch, under a lock that the watch
    // has taken since; who goes to sleep from now on has it look again.
    const auto is_awaited = [this] { return sleeping_.load(std::memory_order_relaxed) != 0; };
    const auto is_attended = [this] {
        return looks_.exchange(0, std::memory_order_relaxed) >= many_looks;
    };
    if (!is_awaited()) {
        return {.is_awaited = false, .is_attended = is_attended(), .is_of_parts = false};
    }
    // The only rank of the process is in a call: to wait here until it lets go of the lock would
    // take its core from it then.
    std::unique_lock guard(lock_, std::defer_lock);
    if (ports_.size() != 1) {
        guard.lock();
    } else if (!guard.try_lock()) {
        return {.is_awaited = true, .is_attended = true, .is_of_parts = false};
    }
    const Look look{nullptr, &called};
    for (int batches = 0; is_awaited() && batches < batches_a_delivery; ++batches) {
        (void)take_events(look);
        if (!failure_.empty() ||
            (!read_completions(look) && clear_descriptor() == 0 && !read_completions(look))) {
            break;
        }
    }
    (void)take_events(look);
    regions_->forget_changed();
    // A provider in layers may have told of something else all the same, and only once.
    const bool is_of_parts =
        fabric_.has_streams() &&
        std::ranges::any_of(ports_, [](const auto& port) { return port->bytes_under_way() != 0; });
    return {.is_awaited = is_awaited(), .is_attended = is_attended(), .is_of_parts = is_of_parts};
}

bool OfiNetwork::send_held(std::vector<std::uint32_t>& called) noexcept
{
    const std::lock_guard guard(lock_);
    const Look look{nullptr, &called};
    const auto is_left = [](const auto& port) { return port->is_left_; };
    for (const auto& port : ports_) {
        port->is_left_ = port->is_left_ || port->has_held();
        (void)port->send_held();
    }
    while (failure_.empty() && std::ranges::any_of(ports_, is_left)) {
        (void)take_events(look);
        for (const auto& port : ports_) {
            port->is_left_ = port->is_left_ && (port->has_held() || port->has_unsent());
        }
        if (!std::ranges::any_of(ports_, is_left) || !read_completions(look)) {
            break;
        }
    }
    return std::ranges::none_of(ports_, is_left);
}

}  // namespace headway::transport::ofi

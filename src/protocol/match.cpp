// SPDX-License-Identifier: Apache-2.0
#include "protocol/match.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "platform/cpu.hpp"

namespace headway::protocol {

namespace {

bool has_wildcard(const transport::FrameHeader& name) noexcept
{
    return name.source == any_source || name.tag == any_tag;
}

/// Relaxed, as all here: statistics with one writer.
std::uint64_t add(std::atomic<std::uint64_t>& counter, std::uint64_t change) noexcept
{
    const std::uint64_t sum = counter.load(std::memory_order_relaxed) + change;
    counter.store(sum, std::memory_order_relaxed);
    return sum;
}

/// Of a queue whose length changes.
void add(std::atomic<std::uint64_t>& length, std::atomic<std::uint64_t>& length_max,
         std::uint64_t change) noexcept
{
    const std::uint64_t now = add(length, change);
    // Relaxed: as above.
    if (now > length_max.load(std::memory_order_relaxed)) {
        length_max.store(now, std::memory_order_relaxed);
    }
}

constexpr std::uint64_t one_less = ~std::uint64_t{0};

}  // namespace

/// Adds the time that it lives to the rank's, where somebody wants to know it.
class MatchContext::Timer {
  public:
    explicit Timer(engine::RankCounters& counters) noexcept
        // Relaxed: whoever asks for the time does not mind a call more or less.
        : counters_(counters.times_matching.load(std::memory_order_relaxed) != 0 ? &counters
                                                                                 : nullptr)
    {
        if (counters_ != nullptr) [[unlikely]] {
            begin_ns_ = platform::monotonic_ns();
        }
    }
    ~Timer()
    {
        if (counters_ != nullptr) [[unlikely]] {
            add(counters_->match_work_ns,
                static_cast<std::uint64_t>(platform::monotonic_ns() - begin_ns_));
        }
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

  private:
    engine::RankCounters* counters_;
    std::int64_t begin_ns_ = 0;
};

void MatchContext::count_posted(std::uint64_t change) noexcept
{
    posted_ += change;
    add(counters_->posted_queue, counters_->posted_queue_max, change);
}

MatchContext::Bin& MatchContext::bin(const transport::FrameHeader& name) noexcept
{
    std::uint32_t hash = static_cast<std::uint32_t>(name.source) * 0x9E37'79B1U +
                         static_cast<std::uint32_t>(name.tag) * 0x85EB'CA77U;
    if (is_collective()) {
        hash += name.sequence * 0xC2B2'AE3DU;
    }
    return bins_[hash >> (32 - hash_bits) & bin_mask_];
}

bool MatchContext::is_same(const transport::FrameHeader& a,
                           const transport::FrameHeader& b) const noexcept
{
    return a.source == b.source && a.tag == b.tag && (!is_collective() || a.sequence == b.sequence);
}

engine::Op* MatchContext::find_posted(const transport::FrameHeader& message) noexcept
{
    const Timer timer(*counters_);
    engine::OpList& exact_list = bin(message).posted;
    engine::Op* exact = exact_list.first();
    while (exact != nullptr && !is_same(exact->header, message)) {
        exact = exact->next;
    }
    engine::Op* wild = wild_.first();
    while (wild != nullptr && !fits(wild->header, message)) {
        wild = wild->next;
    }
    if (wild != nullptr && (exact == nullptr || wild->order < exact->order)) {
        wild_.remove(wild);
        count_posted(one_less);
        return wild;
    }
    if (exact != nullptr) {
        exact_list.remove(exact);
        count_posted(one_less);
    }
    return exact;
}

void MatchContext::post(engine::Op* receive) noexcept
{
    const Timer timer(*counters_);
    receive->order = ++posts_;
    count_posted(1);
    (has_wildcard(receive->header) ? wild_ : bin(receive->header).posted).push_back(receive);
}

std::uint32_t MatchContext::withdraw(const engine::GraphInstance* run) noexcept
{
    std::uint32_t count = 0;
    for (const Bin& each : std::span(bins_, bin_mask_ + 1ULL)) {
        for (engine::Op* op = each.posted.first(); op != nullptr; op = op->next) {
            if (op->graph == run) {
                op->size_bytes = 0;
                op->is_cancelled = true;
                ++count;
            }
        }
    }
    return count;
}

bool MatchContext::take_back_alone(engine::Op* receive) noexcept
{
    engine::OpList& list = bin(receive->header).posted;
    if (!wild_.is_empty() || list.first() != receive || receive->next != nullptr) {
        return false;
    }
    list.remove(receive);
    count_posted(one_less);
    return true;
}

bool MatchContext::cancel(engine::Op* receive) noexcept
{
    engine::OpList& list = has_wildcard(receive->header) ? wild_ : bin(receive->header).posted;
    for (engine::Op* op = list.first(); op != nullptr; op = op->next) {
        if (op == receive) {
            list.remove(op);
            count_posted(one_less);
            return true;
        }
    }
    return false;
}

void MatchContext::push_back(Bin& home, Unexpected* message) noexcept
{
    message->next_in_bin = nullptr;
    message->previous_in_bin = home.last;
    (home.last != nullptr ? home.last->next_in_bin : home.first) = message;
    home.last = message;
}

/// Each new bin takes what belongs there from one old bin, so that receives keep their order;
/// messages come in the order in which they arrived.
void MatchContext::grow(memory::Allocator& allocator) noexcept
{
    const std::uint32_t old_count = bin_mask_ + 1;
    const std::uint32_t count = std::min(growth * old_count, bin_count_max);
    void* const place = allocator.allocate(count * sizeof(Bin));
    may_grow_ = place != nullptr && count < bin_count_max;
    if (place == nullptr) {
        return;  // a longer search is right, too
    }
    Bin* const old_bins = std::exchange(bins_, static_cast<Bin*>(place));
    std::uninitialized_value_construct_n(bins_, count);
    bin_mask_ = count - 1;
    for (Bin& old : std::span(old_bins, old_count)) {
        for (engine::Op* op = old.posted.first(); op != nullptr;) {
            engine::Op* const moved = op;
            op = op->next;
            bin(moved->header).posted.push_back(moved);
        }
    }
    for (Unexpected* message = first_arrival_; message != nullptr;
         message = message->next_arrival) {
        push_back(bin(message->header), message);
    }
    if (old_bins != first_bins_) {
        allocator.free(old_bins);
    }
}

void MatchContext::keep(Unexpected* message) noexcept
{
    const Timer timer(*counters_);
    add(counters_->unexpected_queue, counters_->unexpected_queue_max, 1);
    ++kept_;
    push_back(bin(message->header), message);
    message->previous_arrival = last_arrival_;
    (last_arrival_ != nullptr ? last_arrival_->next_arrival : first_arrival_) = message;
    last_arrival_ = message;
}

Unexpected* MatchContext::find_kept(const transport::FrameHeader& wanted) noexcept
{
    const Timer timer(*counters_);
    if (!has_wildcard(wanted)) {
        Unexpected* message = bin(wanted).first;
        while (message != nullptr && !is_same(message->header, wanted)) {
            message = message->next_in_bin;
        }
        return message;
    }
    Unexpected* message = first_arrival_;
    while (message != nullptr && !fits(wanted, message->header)) {
        message = message->next_arrival;
    }
    return message;
}

void MatchContext::remove(Unexpected* message) noexcept
{
    const Timer timer(*counters_);
    add(counters_->unexpected_queue, counters_->unexpected_queue_max, one_less);
    --kept_;
    Bin& home = bin(message->header);
    (message->previous_in_bin != nullptr ? message->previous_in_bin->next_in_bin : home.first) =
        message->next_in_bin;
    (message->next_in_bin != nullptr ? message->next_in_bin->previous_in_bin : home.last) =
        message->previous_in_bin;
    (message->previous_arrival != nullptr ? message->previous_arrival->next_arrival
                                          : first_arrival_) = message->next_arrival;
    (message->next_arrival != nullptr ? message->next_arrival->previous_arrival : last_arrival_) =
        message->previous_arrival;
}

void MatchContext::free_bins(memory::Allocator& allocator) noexcept
{
    if (bins_ != first_bins_) {
        allocator.free(bins_);
    }
}

void MatchTable::forget(memory::Allocator& allocator, std::uint32_t id) noexcept
{
    for (MatchContext** link = &bucket_of(id); *link != nullptr; link = &(*link)->next) {
        MatchContext* const known = *link;
        if (known->context() != id) {
            continue;
        }
        if (known->is_empty()) {
            *link = known->next;
            recent_ = recent_ == known ? nullptr : recent_;
            known->free_bins(allocator);
            allocator.free(known);
        }
        return;
    }
}

MatchContext* MatchTable::context(memory::Allocator& allocator, std::uint32_t id) noexcept
{
    MatchContext*& bucket = bucket_of(id);
    for (MatchContext* known = bucket; known != nullptr; known = known->next) {
        if (known->context() == id) {
            recent_ = known;
            return known;
        }
    }
    void* place = allocator.allocate(sizeof(MatchContext));
    if (place == nullptr) {
        return nullptr;
    }
    auto* made = new (place) MatchContext(id, *counters_, has_bins_);
    made->next = bucket;
    bucket = made;
    recent_ = made;
    return made;
}

}  // namespace headway::protocol

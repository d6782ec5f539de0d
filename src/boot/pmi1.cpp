// SPDX-License-Identifier: Apache-2.0
#include "boot/pmi1.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "boot/job_name.hpp"

namespace headway::boot {
namespace {

using Wait = Pmi1Connection::Wait;

bool is_word(std::string_view text) noexcept
{
    return !text.empty() && std::all_of(text.begin(), text.end(),
                                        [](char byte) { return byte > ' ' && byte <= '~'; });
}

/// Waits a little for the launcher to take what was written into a pipe: mpiexec.hydra drops what
/// it has not read when a process asks it to abort.
void await_reader(int descriptor)
{
    constexpr int looks_max = 200;
    int unread_bytes = 0;
    for (int look = 0; look < looks_max; ++look) {
        if (::ioctl(descriptor, FIONREAD, &unread_bytes) != 0 || unread_bytes == 0) {
            return;
        }
        ::poll(nullptr, 0, 1);
    }
}

base::Outcome to_outcome(const base::Result<Pmi1Line>& line)
{
    if (!line) {
        return base::Failure{line.sentence()};
    }
    return base::Done{};
}

/// Waits for a connect() in progress; 0 or an errno.
int finish_connect(int descriptor, std::chrono::milliseconds patience)
{
    pollfd entry{descriptor, POLLOUT, 0};
    int ready = 0;
    do {
        ready = ::poll(&entry, 1, static_cast<int>(patience.count()));
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) {
        return ETIMEDOUT;
    }
    int error = 0;
    socklen_t size = sizeof(error);
    return ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

/// A connected descriptor, or -1 with errno.
int connect_to(const addrinfo& address, std::chrono::milliseconds patience)
{
    const int descriptor = ::socket(
        address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol);
    if (descriptor < 0) {
        return -1;
    }
    int error = 0;
    if (::connect(descriptor, address.ai_addr, address.ai_addrlen) != 0) {
        error = errno == EINPROGRESS ? finish_connect(descriptor, patience) : errno;
    }
    if (error != 0) {
        ::close(descriptor);
        errno = error;
        return -1;
    }
    return descriptor;
}

base::Result<int> connect_to_port(const std::string& port, std::chrono::milliseconds patience)
{
    const std::size_t colon = port.rfind(':');
    if (colon == std::string::npos || colon == 0) {
        return base::Failure{"PMI_PORT is " + quote_bytes(port) +
                             ", not host:port; start the program with Headway's mpiexec"};
    }
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(port.substr(0, colon).c_str(), port.substr(colon + 1).c_str(),
                                    &hints, &found);
    if (error != 0) {
        return base::Failure{"PMI_PORT names " + quote_bytes(port) + ", which cannot be found (" +
                             ::gai_strerror(error) + "); is the launcher's machine reachable?"};
    }
    int descriptor = -1;
    for (const addrinfo* each = found; each != nullptr && descriptor < 0; each = each->ai_next) {
        descriptor = connect_to(*each, patience);
    }
    const int connect_error = errno;
    ::freeaddrinfo(found);
    if (descriptor < 0) {
        return base::Failure{"the launcher at PMI_PORT " + quote_bytes(port) +
                             " does not answer (" + std::strerror(connect_error) +
                             "); start the job again"};
    }
    return descriptor;
}

base::Result<int> open_descriptor(const Pmi1Address& address, std::chrono::milliseconds patience)
{
    if (!address.port.empty()) {
        return connect_to_port(address.port, patience);
    }
    if (::fcntl(address.descriptor, F_GETFD) < 0) {
        return base::Failure{"PMI_FD names descriptor " + std::to_string(address.descriptor) +
                             ", which is not open: something between the launcher and this "
                             "program has closed it, or it was started by a rank with a copy of "
                             "that rank's first environment; start the program directly under "
                             "mpiexec, or unset PMI_FD to run it alone"};
    }
    return address.descriptor;
}

}  // namespace

Pmi1Boot::Pmi1Boot(int descriptor, const Pmi1Address& address, std::chrono::milliseconds patience)
    : connection_(descriptor, patience), headway_job_(address.headway_job)
{
    process_index_ = address.process_index;
    process_count_ = address.process_count;
}

base::Result<std::unique_ptr<Boot>> Pmi1Boot::open(const Pmi1Address& address,
                                                   std::chrono::milliseconds patience)
{
    const auto descriptor = open_descriptor(address, patience);
    if (!descriptor) {
        return base::Failure{descriptor.sentence()};
    }
    std::unique_ptr<Pmi1Boot> boot(new Pmi1Boot(descriptor.value(), address, patience));
    if (!address.port.empty()) {
        if (auto greeted = boot->greet_port(address.process_index); !greeted) {
            return base::Failure{greeted.sentence()};
        }
    }
    if (auto greeted = boot->greet(); !greeted) {
        return base::Failure{greeted.sentence()};
    }
    return std::unique_ptr<Boot>(std::move(boot));
}

base::Outcome Pmi1Boot::greet_port(int process_id)
{
    const std::string hello = "cmd=initack pmiid=" + std::to_string(process_id);
    if (auto answer = connection_.request(hello, "initack"); !answer) {
        return base::Failure{answer.sentence()};
    }
    for (const std::string_view name : {"size", "rank", "debug"}) {
        auto line = connection_.receive("set", Wait::server);
        if (!line) {
            return base::Failure{line.sentence()};
        }
        const auto value = line.value().find_int(name);
        if (!value) {
            return base::Failure{"the launcher did not say the " + std::string(name) +
                                 " of the job; start the job again"};
        }
        if (name == "size") {
            process_count_ = *value;
        } else if (name == "rank") {
            process_index_ = *value;
        }
    }
    return base::Done{};
}

base::Outcome Pmi1Boot::greet()
{
    if (process_count_ < 1 || process_index_ < 0 || process_index_ >= process_count_) {
        return base::Failure{"the launcher says that this is process " +
                             std::to_string(process_index_) + " of " +
                             std::to_string(process_count_) +
                             ", which cannot be; start the job "
                             "again with Headway's mpiexec or mpiexec.hydra"};
    }
    auto init = connection_.request("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
    if (!init) {
        return to_outcome(init);
    }
    shares_descriptors_ = init.value().find_int("headway_descriptor") == 1;
    auto maxes = connection_.request("cmd=get_maxes", "maxes");
    if (!maxes) {
        return to_outcome(maxes);
    }
    const int key_max = maxes.value().find_int("keylen_max").value_or(0);
    const int value_max = maxes.value().find_int("vallen_max").value_or(0);
    if (key_max < 16 || value_max < 16) {
        return base::Failure{"the launcher offers keys of " + std::to_string(key_max) +
                             " and values of " + std::to_string(value_max) +
                             " bytes, which is too little to start a job"};
    }
    key_length_max_ = static_cast<std::size_t>(key_max);
    value_length_max_ = static_cast<std::size_t>(value_max);
    auto name = connection_.request("cmd=get_my_kvsname", "my_kvsname");
    if (!name) {
        return to_outcome(name);
    }
    kvs_name_ = name.value().find("kvsname").value_or("");
    if (!is_word(kvs_name_)) {
        return base::Failure{"the launcher did not name its dictionary; start the job again"};
    }
    job_ = to_job_name(kvs_name_);
    is_ours_ = !headway_job_.empty() && headway_job_ == kvs_name_;
    return base::Done{};
}

std::string_view Pmi1Boot::launcher() const noexcept
{
    return is_ours_ ? "headway mpiexec" : "PMI-1 server";
}

base::Result<std::vector<int>> Pmi1Boot::node_map()
{
    const std::string request = "cmd=get kvsname=" + kvs_name_ + " key=PMI_process_mapping";
    if (auto sent = connection_.send(request); !sent) {
        return base::Failure{sent.sentence()};
    }
    auto answer = connection_.receive("get_result", Wait::server);
    if (!answer) {
        return base::Failure{answer.sentence()};
    }
    if (answer.value().find("rc") && answer.value().find_int("rc") != 0) {
        return std::vector<int>{};
    }
    return expand_process_mapping(answer.value().find("value").value_or(""), process_count_);
}

base::Outcome Pmi1Boot::put(std::string_view key, std::string_view value)
{
    // The limits of a server count a closing zero byte.
    if (key.size() >= key_length_max_ || value.size() >= value_length_max_) {
        return base::Failure{"the launcher takes keys below " + std::to_string(key_length_max_) +
                             " and values below " + std::to_string(value_length_max_) +
                             " bytes, but " + quote_bytes(key) + " has " +
                             std::to_string(value.size())};
    }
    if (!is_word(key) || !is_word(value) || key.find('=') != std::string_view::npos) {
        return base::Failure{"a key or value that PMI cannot carry: " + quote_bytes(key) + " " +
                             quote_bytes(value)};
    }
    const std::string request = "cmd=put kvsname=" + kvs_name_ + " key=" + std::string(key) +
                                " value=" + std::string(value);
    return to_outcome(connection_.request(request, "put_result"));
}

base::Outcome Pmi1Boot::fence()
{
    if (auto sent = connection_.send("cmd=barrier_in"); !sent) {
        return sent;
    }
    auto answer = connection_.receive("barrier_out", Wait::other_processes);
    if (answer && answer.value().find("rc") && answer.value().find_int("rc") != 0) {
        return base::Failure{"the launcher says that the processes of the job cannot meet"};
    }
    return to_outcome(answer);
}

base::Result<std::string> Pmi1Boot::get(std::string_view key)
{
    if (!is_word(key)) {
        return base::Failure{"a key that PMI cannot carry: " + quote_bytes(key)};
    }
    auto answer = connection_.request("cmd=get kvsname=" + kvs_name_ + " key=" + std::string(key),
                                      "get_result");
    if (!answer) {
        return base::Failure{answer.sentence()};
    }
    const auto value = answer.value().find("value");
    if (!value) {
        return base::Failure{"the launcher answered without a value for " + quote_bytes(key)};
    }
    return std::string(*value);
}

base::Outcome Pmi1Boot::share_descriptor(int descriptor)
{
    if (auto sent = connection_.send("cmd=headway_share", descriptor); !sent) {
        return sent;
    }
    return to_outcome(connection_.receive_answer("cmd=headway_share", "headway_share_result"));
}

base::Result<int> Pmi1Boot::take_descriptor()
{
    if (auto answer = connection_.request("cmd=headway_take", "headway_take_result"); !answer) {
        return base::Failure{answer.sentence()};
    }
    const int descriptor = connection_.release_descriptor();
    if (descriptor < 0) {
        return base::Failure{
            "the launcher's descriptor did not arrive: this process has no room for another open "
            "file; raise the limit (ulimit -n)"};
    }
    return descriptor;
}

base::Outcome Pmi1Boot::finalize()
{
    auto outcome = to_outcome(connection_.request("cmd=finalize", "finalize_ack"));
    connection_.close();
    return outcome;
}

void Pmi1Boot::abort(int code, std::string_view sentence)
{
    std::string line = "cmd=abort exitcode=" + std::to_string(code);
    if (is_ours_) {
        constexpr std::size_t shown_max = 2000;
        line += " message=";
        line += sentence.substr(0, shown_max);
        std::replace_if(
            line.begin(), line.end(), [](char byte) { return byte < ' ' || byte > '~'; }, ' ');
    } else {
        if (!sentence.empty()) {
            std::fprintf(stderr, "%.*s\n", static_cast<int>(sentence.size()), sentence.data());
            std::fflush(stderr);
        }
        await_reader(STDERR_FILENO);
    }
    if (connection_.send(line)) {
        // The launcher kills this process; one that has not done so by then never will.
        connection_.await_end(std::chrono::seconds(10));
    }
}

}  // namespace headway::boot

// SPDX-License-Identifier: Apache-2.0
// mpiexec: starts the ranks of a job on this machine, or has another launcher start them on others.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "boot/pmi1_line.hpp"
#include "environment.hpp"
#include "hand_over.hpp"
#include "job.hpp"
#include "options.hpp"

#ifndef HEADWAY_VERSION
#define HEADWAY_VERSION "unversioned"
#endif

namespace {

constexpr int usage_exit_code = 2;

/// Descriptors 0, 1 and 2 must be open, else a pipe of ours would take their place.
void open_missing_streams()
{
    int descriptor = 0;
    do {
        descriptor = ::open("/dev/null", O_RDWR);
    } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    if (descriptor >= 0) {
        ::close(descriptor);
    }
}

/// Inside a rank of another job its PMI connection is ours to keep from our own ranks.
void hide_outer_connection()
{
    const char* text = std::getenv("PMI_FD");
    const auto descriptor = headway::boot::parse_int(text == nullptr ? "" : text);
    if (descriptor && *descriptor > STDERR_FILENO) {
        const int flags = ::fcntl(*descriptor, F_GETFD);
        if (flags >= 0) {
            ::fcntl(*descriptor, F_SETFD, flags | FD_CLOEXEC);
        }
    }
}

void print(std::FILE* stream, std::string_view text)
{
    std::fprintf(stream, "%.*s\n", static_cast<int>(text.size()), text.data());
}

/// Ranks that wait in MPI shortly before the job's time is up say where (docs/knobs.md).
void add_waits_told_at(headway::launch::Options& options)
{
    constexpr double share_before = 0.25;
    constexpr double before_max_s = 1;
    const double after_s =
        options.timeout_s - std::min(before_max_s, share_before * options.timeout_s);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto at_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
        now + std::chrono::duration<double>(std::min(after_s, 1e9)));
    options.environment.set.emplace_back("HEADWAY_WAITS_TOLD_AT", std::to_string(at_ms.count()));
}

}  // namespace

int main(int argument_count, char** arguments)
{
    using headway::launch::Request;
    open_missing_streams();
    hide_outer_connection();
    const std::vector<std::string> words(arguments + (argument_count > 0 ? 1 : 0),
                                         arguments + argument_count);
    auto options = headway::launch::parse_options(words);
    if (!options) {
        print(stderr, "headway mpiexec: " + options.sentence());
        return usage_exit_code;
    }
    if (options.value().request == Request::help) {
        print(stdout, headway::launch::usage());
        return 0;
    }
    if (options.value().request == Request::version) {
        print(stdout, "headway mpiexec " HEADWAY_VERSION);
        return 0;
    }
    if (options.value().timeout_s > 0) {
        add_waits_told_at(options.value());
    }
    const auto hosts = options.value().hosts.hosts.empty()
                           ? headway::launch::find_allocation(headway::launch::own_environment())
                           : headway::base::Result(options.value().hosts);
    if (!hosts) {
        print(stderr, "headway mpiexec: " + hosts.sentence());
        return usage_exit_code;
    }
    if (hosts.value().leaves_this_machine()) {
        const auto failure = headway::launch::hand_over(options.value(), hosts.value());
        print(stderr, "headway mpiexec: " + failure.sentence);
        return usage_exit_code;
    }
    return headway::launch::Job(std::move(options.value())).run();
}

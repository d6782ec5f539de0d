// SPDX-License-Identifier: Apache-2.0
#include "platform/fatal.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "platform/process.hpp"

namespace headway::platform {

namespace {

// The job belongs to the process, not to a rank. Written once while the process initialises, read
// by a thread that ends it; relaxed: a plain function address guards no data.
std::atomic<JobEnder> job_ender{nullptr};

// Who ends the process: written by the first thread that says why. Relaxed: it guards no data.
std::atomic<std::thread::id> ended_by{};

}  // namespace

void set_job_ender(JobEnder ender) noexcept
{
    job_ender.store(ender, std::memory_order_relaxed);
}

void fatal(std::int64_t rank, std::string_view sentence, Pauses pauses)
{
    std::string line = "headway: ";
    if (rank >= 0) {
        line += "rank " + std::to_string(rank) + ": ";
    }
    line.append(sentence).append("\n");
    std::this_thread::sleep_for(pauses.before);
    std::thread::id before;
    if (!ended_by.compare_exchange_strong(before, std::this_thread::get_id(),
                                          std::memory_order_relaxed) &&
        before != std::this_thread::get_id()) {
        // Another rank of the process ends it, most likely for the same reason.
        for (;;) {
            std::this_thread::sleep_for(std::chrono::seconds(1));
        }
    }
    write_error(line);
    std::this_thread::sleep_for(pauses.after);
    if (const JobEnder ender = job_ender.load(std::memory_order_relaxed); ender != nullptr) {
        ender(1, sentence);
    }
    exit_now(1);
}

}  // namespace headway::platform

// SPDX-License-Identifier: Apache-2.0
#include "study/verify_command.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "study/option_words.hpp"
#include "study/other_graphs.hpp"
#include "study/sweep.hpp"

namespace headway::study {

using coll::Algorithm;

namespace {

struct Family {
    std::string name;
    std::function<Swept(const Reach&)> sweep;
};

std::vector<Family> families()
{
    std::vector<Family> all;
    for (const coll::Row& row : coll::table()) {
        all.push_back(
            {std::string(row.name), [&row](const Reach& reach) { return sweep(row, reach); }});
    }
    all.push_back({"neighbor_exchange", sweep_neighbors});
    const auto add_between = [&](const NamedAlgorithm& named) {
        all.push_back({std::string(named.name), [one = named.algorithm](const Reach& reach) {
                           return sweep_between_groups(one, reach);
                       }});
    };
    add_between({"inter_barrier", Algorithm::barrier_dissemination});
    std::ranges::for_each(algorithms_between_groups(), add_between);
    return all;
}

bool is_wanted(const Family& family, std::span<const std::string_view> names)
{
    return names.empty() || std::ranges::any_of(names, [&](std::string_view name) {
               return family.name.starts_with(name);
           });
}

int complain(const std::string& sentence)
{
    std::fprintf(stderr, "headway: verify: %s\n", sentence.c_str());
    return 2;
}

/// A family after its sweep.
struct Done {
    Swept swept;
    double seconds = 0;
};

/// Each family is swept by whichever thread is free next.
class Sweeps {
  public:
    Sweeps(std::vector<Family> families, Reach reach)
        : families_(std::move(families)), reach_(std::move(reach)), done_(families_.size())
    {
    }

    std::span<const Family> families() const noexcept { return families_; }

    void start(std::size_t threads)
    {
        for (std::size_t i = 0; i < threads; ++i) {
            threads_.emplace_back([this] { work(); });
        }
    }

    const Done& wait_for(std::size_t family)
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return done_[family].has_value(); });
        return *done_[family];
    }

  private:
    void work()
    {
        std::unique_lock lock(mutex_);
        while (next_ < families_.size()) {
            const std::size_t family = next_++;
            lock.unlock();
            const auto start = std::chrono::steady_clock::now();
            Done done{families_[family].sweep(reach_)};
            done.seconds =
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            lock.lock();
            done_[family] = std::move(done);
            changed_.notify_all();
        }
    }

    std::vector<Family> families_;
    Reach reach_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t next_ = 0;                   ///< under the mutex, as is done_
    std::vector<std::optional<Done>> done_;  ///< by family
    std::vector<std::jthread> threads_;      ///< last: they end before the rest goes
};

}  // namespace

int run_verify(std::span<const std::string_view> arguments)
{
    Reach reach{.through = 70, .samples = {96, 128, 243}, .all_roots_through = 70};
    OptionWords words(arguments);
    const bool is_short = std::ranges::find(arguments, "--through") != arguments.end();
    reach.through = static_cast<std::uint32_t>(words.take_number("--through", 70, 1, 4096));
    if (is_short) {
        reach.samples.clear();
    }
    const std::size_t jobs = words.take_number(
        "--jobs", std::clamp(std::thread::hardware_concurrency(), 1U, 64U), 1, 1024);
    if (words.fault()) {
        return complain(*words.fault());
    }
    const auto names = words.rest();
    std::vector<Family> wanted = families();
    std::erase_if(wanted, [&](const Family& family) { return !is_wanted(family, names); });
    if (wanted.empty()) {
        return complain("no algorithm has a name that begins with '" + std::string(names.front()) +
                        "'");
    }
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t cases = 0;
    std::uint64_t messages = 0;
    int failed = 0;
    Sweeps sweeps(std::move(wanted), std::move(reach));
    sweeps.start(jobs);
    for (std::size_t i = 0; i < sweeps.families().size(); ++i) {
        const auto& [swept, seconds] = sweeps.wait_for(i);
        std::printf("%-30s %8llu calls %10llu messages %7.2f s  %s\n",
                    sweeps.families()[i].name.c_str(), static_cast<unsigned long long>(swept.cases),
                    static_cast<unsigned long long>(swept.messages), seconds,
                    swept.fault ? swept.fault->c_str() : "ok");
        std::fflush(stdout);
        cases += swept.cases;
        messages += swept.messages;
        failed += swept.fault ? 1 : 0;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%zu algorithms, %llu calls, %llu messages: %d wrong (%.1f s, %.1f s of CPU)\n",
                sweeps.families().size(), static_cast<unsigned long long>(cases),
                static_cast<unsigned long long>(messages), failed, took.count(),
                static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
    return failed == 0 ? 0 : 1;
}

}  // namespace headway::study

// SPDX-License-Identifier: Apache-2.0
//
// Tasks of a test that a crew runs.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "ult/crew.hpp"

namespace headway::ult {

inline constexpr std::int64_t never_ns = platform::Deadline::never().ns();

inline CrewOptions with_workers(std::size_t count)
{
    CrewOptions options;
    options.cpus.assign(count, -1);
    return options;
}

/// Runs `body(i)` in `count` tasks of a crew, and waits for them.
class Tasks {
  public:
    Tasks(Crew& crew, std::size_t count, const std::function<void(std::size_t)>& body)
        : crew_(crew), tasks_(count)
    {
        for (std::size_t i = 0; i < count; ++i) {
            threads_.emplace_back([this, i, &body] {
                if (!crew_.enter(tasks_[i])) {
                    std::abort();
                }
                body(i);
                crew_.go_home();
            });
        }
        for (const Task& task : tasks_) {
            wait_for_birth(task.birth);
        }
        for (std::size_t i = 0; i < count; ++i) {
            crew_.make_ready(tasks_[i], static_cast<std::uint32_t>(i), i % crew_.core_count());
        }
    }
    ~Tasks() { join(); }
    Tasks(const Tasks&) = delete;
    Tasks& operator=(const Tasks&) = delete;

    void join()
    {
        for (std::size_t i = 0; i < threads_.size(); ++i) {
            threads_[i].join();
            destroy_bed(tasks_[i].birth);
        }
        threads_.clear();
    }

  private:
    Crew& crew_;
    std::vector<Task> tasks_;
    std::vector<std::thread> threads_;
};

inline void run_tasks(CrewOptions options, std::size_t count,
                      const std::function<void(Crew&, std::size_t)>& body,
                      const std::function<void(const Crew&)>& look = {})
{
    Crew crew(std::move(options));
    const std::function<void(std::size_t)> bound = [&](std::size_t i) { body(crew, i); };
    {
        Tasks tasks(crew, count, bound);
        ASSERT_TRUE(crew.start());
        tasks.join();
    }
    crew.stop();
    if (look) {
        look(crew);
    }
}

}  // namespace headway::ult

// SPDX-License-Identifier: Apache-2.0
#include "leftovers.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

namespace headway::launch {
namespace {

/// A child whose children come and go as fast as the system makes them.
class Storm {
  public:
    Storm() : pid_(::fork())
    {
        while (pid_ == 0) {
            const pid_t child = ::fork();
            if (child == 0) {
                ::_exit(0);
            }
            ::waitpid(child, nullptr, 0);
        }
    }
    Storm(const Storm&) = delete;
    Storm& operator=(const Storm&) = delete;
    ~Storm()
    {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    pid_t pid() const { return pid_; }

  private:
    pid_t pid_;
};

/// Looks as often as `looks_max`, or as a busy machine with many processes allows.
template <typename Look>
void look_often(int looks_max, Look&& look)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    do {
        look();
    } while (--looks_max != 0 && std::chrono::steady_clock::now() < end);
}

TEST(LeftoversTest, ProcessesMayEndWhileTheyAreRead)
{
    const Storm storm;
    ASSERT_GT(storm.pid(), 0);
    look_often(400, [&storm] {
        const auto found = descendants_of(::getpid());
        ASSERT_EQ(std::count(found.begin(), found.end(), storm.pid()), 1);
    });
}

TEST(LeftoversTest, NobodyBelongsToAnotherJob)
{
    const Storm storm;
    ASSERT_GT(storm.pid(), 0);
    look_often(100, [] { ASSERT_TRUE(processes_of_job("no job has this name").empty()); });
}

}  // namespace
}  // namespace headway::launch

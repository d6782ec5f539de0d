// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <headway/interface.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <vector>

#include "engine/node.hpp"
#include "object/host_directory.hpp"
#include "platform/process.hpp"
#include "platform/scheduler.hpp"

namespace headway::object {

/// The scheduler of a process whose host program runs ranks in workers of its own: sleeping,
/// yielding and waking are the host's, time is the system's. Threads of the library take part.
/// The host knows sleepers of its own process only; where the node has others, those that sleep on
/// words of the node heap are announced to them (sync/outside_bell). Any thread.
class HostedScheduler final : public platform::Scheduler {
  public:
    /// `scheduling` outlives all threads, and `node` all that sleep on words of its heap. `bell` is
    /// this process's, in the heap; null: it is the only one of the node.
    HostedScheduler(const headway_scheduling& scheduling, engine::Node& node,
                    HostDirectory& directory, sync::OutsideBell* bell) noexcept;
    ~HostedScheduler() = default;

    std::int64_t now_ns() const noexcept override;
    void step() noexcept override {}
    void yield() noexcept override { scheduling_.yield(); }
    platform::FutexWait wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                             std::int64_t deadline_ns) noexcept override;
    void wake(const std::atomic<std::uint32_t>& word, int count) noexcept override;

    /// That run the ranks of this process.
    std::size_t worker_count() const noexcept
    {
        return static_cast<std::size_t>(scheduling_.workers);
    }
    /// Where the calling rank may run: it goes from worker to worker, unless it is bound to one.
    std::vector<unsigned> cpus_of_rank() const
    {
        return scheduling_.binds_ranks != 0 ? platform::allowed_cpus() : cpus_;
    }
    /// What other processes ring; null: there are none.
    const headway_outside* outside() noexcept { return bell_ == nullptr ? nullptr : &outside_; }
    /// Wakes those for whom others have rung.
    void answer() noexcept;

    // Threads of the library have no seat: their ends are the system's to wait for.
    Seat* add_seat() override { return nullptr; }
    void take_seat(Seat* seat) noexcept override;
    void leave_seat() noexcept override;
    void remove_seat(Seat* /*seat*/) noexcept override {}
    void wait_for_end(Seat* /*seat*/) noexcept override {}
    void name_seat(const char* /*name*/) noexcept override {}
    const platform::WaitNote* exchange_note(const platform::WaitNote* /*note*/) noexcept override
    {
        return nullptr;
    }

  private:
    using Word = std::atomic<std::uint32_t>;

    /// Somebody asleep on a word of the heap; on his stack.
    struct Sleeper {
        const Word* word;
        Sleeper* next;
        Sleeper* previous;
    };
    struct Bucket {
        std::mutex mutex;  ///< guards the rest, and its bits in the bell
        Sleeper* first = nullptr;
        std::uint32_t in_kernel = 0;
    };

    bool is_shared(const Word& word) const noexcept;
    platform::FutexWait wait_here(const Word& word, std::uint32_t expected,
                                  std::int64_t deadline_ns) noexcept;
    void ring_outside(const Word& word, int count) noexcept;

    const headway_scheduling& scheduling_;
    engine::Node& node_;
    HostDirectory& directory_;
    const std::vector<unsigned> cpus_;  ///< of all workers
    sync::OutsideBell* const bell_;
    headway_outside outside_{};
    std::array<Bucket, sync::OutsideBell::bucket_count> buckets_;
};

}  // namespace headway::object

// SPDX-License-Identifier: Apache-2.0
// Messages of a rank to itself once several of its threads call MPI: a lane as between two ranks,
// to which a thread posts without the rank's lock while another one is inside. Whoever is the
// rank's executor takes its frames out, with those of all other lanes. Why order holds:
// docs/design/028.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "platform/cpu.hpp"
#include "sync/posting_gate.hpp"
#include "transport/frame.hpp"
#include "transport/shm/lane.hpp"

namespace headway::engine {

class Node;
struct RankState;

/// In the node heap; all bytes zero: the rank's frames to itself go by its loopback.
struct alignas(platform::cache_line_bytes) OwnLane {
    sync::PostingGate gate;
    // Made by the executor, when the loopback is empty and stays so, before the gate is open; read
    // by him and by who has entered the gate.
    transport::shm::Lane* lane = nullptr;
    // Frames posted so far. Written inside the gate; read, relaxed, by threads that wait, as a hint
    // that there is something to take out.
    std::atomic<std::uint64_t> posted{0};
    // Threads that found another one inside the gate, and how long they waited. Written inside it;
    // read, relaxed, by tools.
    std::atomic<std::uint64_t> gates_contended{0};
    std::atomic<std::uint64_t> gate_wait_ns{0};

    /// Requires: inside the gate, or the gate is not open yet and the caller is the executor.
    base::Status post(transport::FrameKind kind, transport::FrameHeader header, const void* payload,
                      std::size_t payload_bytes) noexcept
    {
        const base::Status status = lane->post(kind, header, payload, payload_bytes);
        if (status == base::Status::done) {
            add(posted, 1);
        }
        return status;
    }
    /// Requires: inside the gate, which another thread had since `met_ns`.
    void count_meeting(std::int64_t met_ns) noexcept
    {
        add(gates_contended, 1);
        add(gate_wait_ns, static_cast<std::uint64_t>(platform::monotonic_ns() - met_ns));
    }
    /// Whether a frame waits to be taken. Thread rule: the executor.
    bool has_frame() noexcept
    {
        transport::Frame frame;
        return lane != nullptr && lane->peek(frame);
    }

  private:
    static void add(std::atomic<std::uint64_t>& counter, std::uint64_t more) noexcept
    {
        // Relaxed: see above; the gate orders its writers.
        counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }
};

/// Posts a short message of the rank to itself, without its lock or its ownership word. False, and
/// nothing happened, where the executor has to do it: the lane is not there or has no room, or
/// earlier messages wait for room.
/// Thread rule: any thread of the rank. Requires: no longer than the eager limit; nothing is
/// recorded.
[[nodiscard]] bool post_beside(Node& node, RankState& rank, transport::FrameHeader header,
                               const void* payload, std::size_t payload_bytes);

}  // namespace headway::engine

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "observe/ring.hpp"
#include "platform/cpu.hpp"
#include "platform/current_rank.hpp"

namespace headway::observe {

/// Name of a function by its index, "MPI_Send".
using FunctionName = const char* (*)(std::uint16_t function);

/// Events that wait for a tool of the rank, which hears of them at the end of a call.
/// Thread rule: the rank's threads, under its lock.
struct Listener {
    static constexpr std::size_t pending_max = 4096;

    std::vector<Record> pending;
    /// By kind: those that came while so many were pending.
    std::array<std::uint64_t, event_kinds> dropped{};
};

/// What a process needs to record: whoever has a pointer to one records, a null pointer is all
/// that tells an unobserved job. One a process; its rings lie in the node heap.
///
/// Thread rule: any thread; each writes to its own ring.
class Tracer {
  public:
    /// `owner` tells this process's rings from those of jobs that its threads were in before.
    Tracer(std::uint64_t owner, std::uint64_t records_a_ring) noexcept
        : owner_(owner), records_a_ring_(records_a_ring)
    {
    }

    std::uint64_t owner() const noexcept { return owner_; }
    std::uint64_t records_a_ring() const noexcept { return records_a_ring_; }

    /// Whether adopt() has been called for the calling thread.
    bool knows_thread() const noexcept { return platform::thread_ring().owner == owner_; }
    /// Says which ring the calling thread writes to; null: none, it stays unobserved.
    void adopt(Ring* ring) noexcept { platform::thread_ring() = {owner_, ring}; }
    /// The calling thread's ring, or null.
    Ring* ring() const noexcept
    {
        const platform::ThreadRing& own = platform::thread_ring();
        return own.owner == owner_ ? static_cast<Ring*>(own.ring) : nullptr;
    }

    /// Records an event of the calling thread; nothing happens where it has no ring.
    void record(const Record& event) noexcept
    {
        if (Ring* own = ring(); own != nullptr) {
            own->write(event);
        }
    }

    /// Who hears what tell() is given; null: nobody. Only of a tracer that one rank has to itself.
    void set_listener(Listener* listener) noexcept { listener_ = listener; }
    void tell(const Record& event)
    {
        if (listener_ == nullptr) {
            return;
        }
        if (listener_->pending.size() < Listener::pending_max) {
            listener_->pending.push_back(event);
        } else {
            ++listener_->dropped[static_cast<std::size_t>(event.kind)];
        }
    }

    // Relaxed, both: all ranks of a process set the same address, which guards no data.
    void set_function_names(FunctionName name) noexcept
    {
        function_name_.store(name, std::memory_order_relaxed);
    }
    /// Null until set.
    FunctionName function_name() const noexcept
    {
        return function_name_.load(std::memory_order_relaxed);
    }

  private:
    std::uint64_t owner_;
    std::uint64_t records_a_ring_;
    Listener* listener_ = nullptr;
    std::atomic<FunctionName> function_name_{nullptr};  ///< written by ranks that start
};

/// Begins a span: the moment to give to span_end(); 0 in an unobserved job (a null tracer).
inline std::int64_t span_begin(const Tracer* tracer) noexcept
{
    return tracer != nullptr ? platform::monotonic_ns() : 0;
}

/// Ends a span of work that the calling thread did for `rank`; `worker` is the rank that did it
/// (the same one for its own threads and its agent). Returns the span's length in nanoseconds.
inline std::int64_t span_end(Tracer* tracer, SpanKind kind, std::uint32_t rank,
                             std::uint32_t worker, std::int64_t begin_ns) noexcept
{
    if (tracer == nullptr || begin_ns == 0) {
        return 0;
    }
    const std::int64_t length_ns = platform::monotonic_ns() - begin_ns;
    tracer->record({.begin_ns = begin_ns,
                    .amount = static_cast<std::uint64_t>(length_ns),
                    .rank = rank,
                    .peer = worker,
                    .index = static_cast<std::uint16_t>(kind),
                    .kind = EventKind::span});
    return length_ns;
}

/// A span as long as a block.
class Span {
  public:
    Span(Tracer* tracer, SpanKind kind, std::uint32_t rank, std::uint32_t worker) noexcept
        : tracer_(tracer), begin_ns_(span_begin(tracer)), rank_(rank), worker_(worker), kind_(kind)
    {
    }
    ~Span() { span_end(tracer_, kind_, rank_, worker_, begin_ns_); }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

  private:
    Tracer* tracer_;
    std::int64_t begin_ns_;
    std::uint32_t rank_;
    std::uint32_t worker_;
    SpanKind kind_;
};

}  // namespace headway::observe

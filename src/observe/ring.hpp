// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "observe/record.hpp"
#include "observe/record_log.hpp"
#include "platform/atomic.hpp"

namespace headway::observe {

enum class ThreadKind : std::uint8_t { application, agent };

/// What one thread has to tell. Plain data in the node heap, so that any process of the node can
/// read what a thread of any other did, also of one that has died.
///
/// Thread rule: written by its thread; the calls marked so by any.
class Ring {
  public:
    /// The bytes that a ring of so many records takes.
    static constexpr std::size_t bytes_needed(std::uint64_t capacity) noexcept
    {
        return sizeof(Ring) + static_cast<std::size_t>(capacity) * sizeof(Record);
    }

    /// Makes a ring in bytes_needed(capacity) bytes. With capacity 0 it keeps no records and
    /// serves the counting of calls only.
    static Ring* create(void* place, std::uint64_t capacity) noexcept
    {
        return new (place) Ring(capacity);
    }

    void write(const Record& record) noexcept
    {
        if (capacity_ != 0) {
            log_.write(words(), capacity_, words_of(record));
        }
    }

    /// A call begins; the number of calls around it.
    std::uint8_t begin_call(std::uint16_t function, std::int64_t begin_ns) noexcept
    {
        if (depth_ == 0) {
            // Relaxed, both: a reader that meets a call half begun misses it or misnames it.
            open_function_.store(function, std::memory_order_relaxed);
            open_since_ns_.store(begin_ns, std::memory_order_relaxed);
        }
        return depth_++;
    }

    /// A call ends; the number of calls around it.
    std::uint8_t end_call() noexcept
    {
        --depth_;
        if (depth_ == 0) {
            open_since_ns_.store(0, std::memory_order_relaxed);  // see begin_call
        }
        return depth_;
    }

    /// The outermost call that the thread is in: when it began (0: none) and which it is. Any
    /// thread; relaxed, see begin_call.
    std::int64_t open_since_ns() const noexcept
    {
        return open_since_ns_.load(std::memory_order_relaxed);
    }
    std::uint16_t open_function() const noexcept
    {
        return open_function_.load(std::memory_order_relaxed);
    }

    /// Records that were written over, or may be now. Any thread.
    std::uint64_t dropped() const noexcept
    {
        const std::uint64_t written = log_.written();
        return written >= capacity_ && written != 0 ? written - capacity_ + 1 : 0;
    }

    /// Shows every record that is still there, oldest first. Any thread, also while the owner goes
    /// on writing.
    template <typename Visit>
    void visit(Visit&& visit) const
    {
        const std::uint64_t end = log_.written();
        RecordWords values;
        for (std::uint64_t index = dropped(); index < end; ++index) {
            if (log_.read(words(), capacity_, index, &values)) {
                visit(record_of(values));
            }
        }
    }

    // Written by the thread that makes the ring before others find it.
    Ring* next = nullptr;        ///< in its rank's list
    std::uint32_t rank = 0;      ///< whose list
    std::int32_t thread_id = 0;  ///< as the system calls the thread
    ThreadKind thread = ThreadKind::application;

  private:
    using Log = RecordLog<platform::RealAtomics, record_words>;
    using Word = Log::Word;

    explicit Ring(std::uint64_t capacity) noexcept : capacity_(capacity) {}

    // The words follow the object. They are not touched until a record is written, so that a ring
    // takes the memory that its records need; what was there before is never read.
    Word* words() noexcept { return reinterpret_cast<Word*>(this + 1); }
    const Word* words() const noexcept { return reinterpret_cast<const Word*>(this + 1); }

    std::uint64_t capacity_;
    Log log_;
    // Written by the ring's thread, read by whoever writes a trace.
    std::atomic<std::int64_t> open_since_ns_{0};
    std::atomic<std::uint16_t> open_function_{0};
    std::uint8_t depth_ = 0;
};

}  // namespace headway::observe

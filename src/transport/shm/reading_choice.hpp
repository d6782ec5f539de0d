// SPDX-License-Identifier: Apache-2.0
//
// Whether the sender of a lane writes a long message into it, or leaves it where it is for its
// receiver to read by the system (docs/design/036).
//
// Through the lane each byte changes cores once and is copied twice. Whoever reads by the system
// copies once, but waits for each line that the sender has written since; where the sender has not,
// the reader's own cache may hold it still, from the time before. Which of the two it is depends on
// the program, so it is measured: the receiver tells what a read has cost it, and that is compared
// with what writing costs the sender.
#pragma once

#include <algorithm>
#include <cstdint>

namespace headway::transport::shm {

/// What the receiver tells of a message that it has read, in one word.
struct ReadingTold {
    /// Instead of a cost: the receiver copied the sender's half as well.
    static constexpr std::uint32_t by_one_rank = UINT32_MAX;

    std::uint32_t number = 0;  ///< as offer() gave it; 0: nothing told yet
    std::uint32_t cost = 0;    ///< ticks for ReadingChoice::cost_bytes, at least 1

    static ReadingTold from(std::uint64_t word) noexcept
    {
        return {static_cast<std::uint32_t>(word >> 32U), static_cast<std::uint32_t>(word)};
    }
    std::uint64_t word() const noexcept { return std::uint64_t{number} << 32U | cost; }
    bool operator==(const ReadingTold&) const = default;
};

/// Who decides (the knob inside_way).
enum class Reading : std::uint8_t { measured, never, always };

/// Two kinds of messages, for each of which the choice is made apart.
enum class Readable : std::uint8_t {
    whole,   ///< of a frame's length: in the lane, or read by the receiver alone
    halves,  ///< longer ones: through slots, or half of it read by the receiver, half of it written
             ///< by the sender, at the same time
};

/// Plain data. Thread rule: the sender's executor.
class ReadingChoice {
  public:
    explicit ReadingChoice(Reading reading = Reading::measured) noexcept : reading_(reading) {}

    /// Shorter messages go through the lane: a call of the system is dear for them.
    static constexpr std::uint64_t bytes_min = 32 * 1024;
    /// Costs are ticks for so many bytes.
    static constexpr std::uint64_t cost_bytes = 4096;

    /// What it has cost to move `bytes` in so many ticks.
    static std::uint32_t cost_of(std::uint64_t bytes, std::uint64_t ticks) noexcept
    {
        const std::uint64_t cost = ticks * cost_bytes / bytes + 1;
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(cost, ReadingTold::by_one_rank - 1));
    }

    /// Way of the next message of bytes_min and more: true for a read. `writing_cost` is what
    /// messages that are written into the lane cost, 0 where that is not known. The same until one
    /// of the two below says which way the message went.
    bool is_next_read(ReadingTold told, std::uint64_t writing_cost) noexcept
    {
        if (reading_ != Reading::measured) [[unlikely]] {
            return reading_ == Reading::always;
        }
        if (told != heard_) {
            heard_ = told;
            hear(told.cost, writing_cost);
        }
        return (trial_left_ != 0) != reads_;
    }

    /// Whether note_written() is to be told what the next message costs.
    bool is_measuring() const noexcept { return reads_ && trial_left_ != 0; }

    /// A message goes through the lane, and costs its sender so much; 0 where that is not known.
    void note_written(std::uint64_t cost) noexcept
    {
        if (is_measuring() && cost != 0) {
            least_cost_ = least_cost_ != 0 ? std::min(least_cost_, cost) : cost;
        }
        count(false);
    }

    /// The next message is offered for reading; its number, for the receiver to tell.
    std::uint32_t offer() noexcept
    {
        count(true);
        return offered_ = offered_ != UINT32_MAX ? offered_ + 1 : 1;
    }

    /// The sender copied the receiver's half of a message, too, as the receiver was not there.
    void note_by_one_rank() noexcept { hear_read(ReadingTold::by_one_rank); }

  private:
    // The first read of a buffer takes its lines from the sender's cache in any case.
    static constexpr std::uint32_t reads_a_trial = 4;
    // As many as it takes until the lane is as quick as in a stream.
    static constexpr std::uint32_t writes_a_trial = 16;
    // Messages between two trials of the other way: twice as many each time the choice stood.
    static constexpr std::uint32_t interval_min = 63;
    static constexpr std::uint32_t interval_max = 1023;
    // One read during which the core was taken away says little. Three in a row end the choice, or
    // more than every third one for a while.
    static constexpr std::uint32_t dear_read = 2;
    static constexpr std::uint32_t dear_reads_max = 3 * dear_read;

    /// Whoever takes a message out of the lane waits for its lines, too, and copies no less than
    /// its sender.
    static bool pays(std::uint64_t reading_cost, std::uint64_t writing_cost) noexcept
    {
        return reading_cost < 2 * writing_cost;
    }

    /// Whether a later read of a trial found what the first one had left in the reader's cache.
    /// Where the sender has written since, it is dear for both: his next write takes the lines
    /// back.
    bool is_from_own_cache(std::uint64_t reading_cost) const noexcept
    {
        return 9 * reading_cost < 4 * first_cost_;
    }

    /// Whether a read tells that the messages are others now.
    bool is_dear(std::uint64_t reading_cost) const noexcept
    {
        return 2 * reading_cost > 3 * chosen_cost_ || !pays(reading_cost, writing_cost_);
    }

    void count(bool is_read) noexcept
    {
        if (trial_left_ != 0) {
            if (is_read != reads_ && --trial_left_ == 0 && reads_) {
                judge_writing();
            }
        } else if (++since_trial_ >= interval_) {
            since_trial_ = 0;
            trial_left_ = reads_ ? writes_a_trial : reads_a_trial;
            least_cost_ = 0;
            first_cost_ = 0;
            later_cost_ = 0;
            is_by_one_rank_ = false;
            first_read_ = offered_ + 1;
            interval_ = std::min(2 * interval_ + 1, interval_max);
        }
    }

    void hear(std::uint32_t cost, std::uint64_t writing_cost) noexcept
    {
        if (cost == ReadingTold::by_one_rank) {
            hear_read(cost);
            return;
        }
        reading_cost_ = cost;
        if (reads_) {
            hear_read(cost);
            return;
        }
        if (heard_.number - first_read_ < reads_a_trial) {
            // Of messages in a window the first one may not be heard of: then another one will do,
            // that is its buffer's first read, too.
            std::uint64_t& known = first_cost_ == 0 ? first_cost_ : later_cost_;
            known = known == 0 ? cost : std::min<std::uint64_t>(known, cost);
        }
        if (trial_left_ == 0 && heard_.number == offered_ && later_cost_ != 0 && !is_by_one_rank_ &&
            is_from_own_cache(later_cost_) && pays(later_cost_, writing_cost)) {
            writing_cost_ = writing_cost;
            chosen_cost_ = later_cost_;
            choose(true);
        }
    }

    /// Where messages are read, one more. In a trial: it decides nothing, or against halves.
    void hear_read(std::uint32_t cost) noexcept
    {
        if (!reads_) {
            is_by_one_rank_ = is_by_one_rank_ || cost == ReadingTold::by_one_rank;
            return;
        }
        chosen_cost_ = std::min<std::uint64_t>(chosen_cost_, cost);
        if (is_dear(cost)) {
            dear_reads_ += dear_read;
        } else if (dear_reads_ != 0) {
            --dear_reads_;
        }
        if (dear_reads_ >= dear_reads_max) {
            choose(false);
        }
    }

    /// After a trial of the lane. What it cost before was of a time when messages went through it.
    void judge_writing() noexcept
    {
        if (least_cost_ != 0) {
            writing_cost_ = least_cost_;
            if (!pays(reading_cost_, writing_cost_)) {
                choose(false);
            }
        }
    }

    void choose(bool reads) noexcept
    {
        reads_ = reads;
        dear_reads_ = 0;
        trial_left_ = 0;
        since_trial_ = 0;
        interval_ = interval_min;
    }

    Reading reading_;
    bool reads_ = false;
    std::uint32_t trial_left_ = 0;   ///< messages to go the other way
    std::uint32_t since_trial_ = 0;  ///< messages
    std::uint32_t interval_ = interval_min;
    std::uint32_t offered_ = 0;  ///< number of the last one
    ReadingTold heard_;          ///< the last one
    bool is_by_one_rank_ = false;    ///< a message of the last trial, both halves
    std::uint32_t dear_reads_ = 0;   ///< dear_read for each, one less for each other one
    std::uint32_t reading_cost_ = 0;  ///< of the last one told
    std::uint32_t first_read_ = 0;    ///< number of the first one of a trial
    std::uint64_t first_cost_ = 0;    ///< of the first one heard of, 0 before
    std::uint64_t later_cost_ = 0;    ///< the least of those after it, 0 before
    std::uint64_t chosen_cost_ = 0;   ///< of the one that decided for reading, or less since
    std::uint64_t writing_cost_ = 0;  ///< where messages are read: that of the lane before
    std::uint64_t least_cost_ = 0;    ///< of the lane, in the trial that goes on
};

}  // namespace headway::transport::shm

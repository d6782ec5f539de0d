// SPDX-License-Identifier: Apache-2.0
//
// Whether the sender of a lane writes a long message into it, or leaves it where it is for its
// receiver to read by the system (docs/design/036).
//
// Through the lane each byte changes cores once and is copied twice. Whoever reads by the system
// copies once, but waits for each line that the sender has written since; where the sender has not,
// the reader's own cache may hold it still, from the time before. Which of the two it is depends on
// the program, so it is measured: the receiver tells what a read has cost it, and now and then
// whether the same read made again at once costs about as much, as what its own cache holds does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace headway::transport::shm {

/// Ticks that a read took.
struct ReadingTicks {
    std::uint64_t first = 0;
    std::uint64_t again = 0;  ///< the same read made at once again; 0: it was not
};

/// Kinds of messages, for each of which the choice is made apart.
enum class Readable : std::uint8_t {
    whole,   ///< of a frame's length: in the lane, or read by the receiver alone
    halves,  ///< longer ones: through slots, or half of it read by the receiver, half of it written
             ///< by the sender, at the same time
    alone,   ///< the same, one after the other, where halves do not pay: through slots, or read by
             ///< the receiver alone
};
inline constexpr std::size_t readable_kinds = 3;

/// What the sender wants to know of a message that it leaves to be read.
struct ReadingAsked {
    std::uint32_t number = 0;  ///< 0: nothing
    bool is_checked = false;   ///< whether it came from the reader's own cache: read it twice
    Readable kind = Readable::whole;
};

/// Where a message was read from, as far as its receiver knows.
enum class ReadFrom : std::uint8_t {
    unknown,
    own_cache,    ///< read again, it cost about as much
    other_cache,  ///< read again, it cost far less
    both_halves,  ///< wherever it was: the receiver copied the sender's half, too
};

/// What the receiver tells of a message that it has read, in one word.
struct ReadingTold {
    static constexpr std::uint32_t cost_max = (1U << 30U) - 1;

    std::uint32_t number = 0;  ///< as offer() gave it; 0: nothing told yet
    std::uint32_t cost = 0;    ///< ticks for ReadingChoice::cost_bytes, at least 1
    ReadFrom from = ReadFrom::unknown;

    static ReadingTold of_word(std::uint64_t word) noexcept
    {
        const auto low = static_cast<std::uint32_t>(word);
        return {static_cast<std::uint32_t>(word >> 32U), low & cost_max,
                static_cast<ReadFrom>(low >> 30U)};
    }
    std::uint64_t word() const noexcept
    {
        return std::uint64_t{number} << 32U | static_cast<std::uint32_t>(from) << 30U | cost;
    }
    bool operator==(const ReadingTold&) const = default;
};

/// Who decides (the knob inside_way).
enum class Reading : std::uint8_t { measured, never, always };

/// Plain data. Thread rule: the sender's executor; static members: any thread.
class ReadingChoice {
  public:
    /// How much dearer than writing, in halves of it, a read is that still pays, by what becomes of
    /// a written message: its receiver copies each part while the next one is written, or takes as
    /// long again for its lines, for which he has to ask the sender's core.
    static constexpr std::uint32_t halves_in_steps = 3;
    static constexpr std::uint32_t halves_by_asking = 4;

    explicit ReadingChoice(Reading reading = Reading::measured,
                           std::uint32_t pays_up_to_halves = halves_by_asking) noexcept
        : reading_(reading), pays_up_to_halves_(pays_up_to_halves)
    {
    }

    /// Shorter messages go through the lane: a call of the system is dear for them.
    static constexpr std::uint64_t bytes_min = 32 * 1024;
    /// Costs are ticks for so many bytes.
    static constexpr std::uint64_t cost_bytes = 4096;

    /// What it has cost to move `bytes` in so many ticks.
    static std::uint32_t cost_of(std::uint64_t bytes, std::uint64_t ticks) noexcept
    {
        const std::uint64_t cost = ticks * cost_bytes / bytes + 1;
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(cost, ReadingTold::cost_max));
    }
    /// What is to be told of a message of which `bytes` were read.
    static ReadingTold told(std::uint32_t number, std::uint64_t bytes, ReadingTicks ticks) noexcept
    {
        // From the own cache it takes up to 1.15 times as long as made again, from another core's
        // cache twice as long and more.
        const ReadFrom from = ticks.again == 0                    ? ReadFrom::unknown
                              : 2 * ticks.first < 3 * ticks.again ? ReadFrom::own_cache
                                                                  : ReadFrom::other_cache;
        return {number, cost_of(bytes, ticks.first), from};
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
            hear(writing_cost);
        }
        return reads_next();
    }

    /// Whether the last message that was offered has been read, as far as is known: some others
    /// have gone the other way since, or the receiver has told of it. Requires: is_next_read().
    bool is_last_over() const noexcept
    {
        return heard_.number == offered_ || written_since_ >= written_until_over;
    }

    /// Whether note_written() is to be told what the next message costs.
    bool is_measuring() const noexcept { return reads_ && trial_left_ != 0; }

    /// A message goes through the lane, and costs its sender so much; 0 where that is not known.
    void note_written(std::uint64_t cost) noexcept
    {
        if (is_measuring() && cost != 0) {
            least_cost_ = least_cost_ != 0 ? std::min(least_cost_, cost) : cost;
        }
        ++written_since_;
        count(false);
    }

    /// Whether is_next_read() said so for the next message.
    bool reads_next() const noexcept
    {
        return reading_ == Reading::always || (trial_left_ != 0) != reads_;
    }

    /// The next message is offered for reading; what the receiver is to tell.
    ReadingAsked offer() noexcept
    {
        count(true);
        return offer_beside();
    }
    /// Likewise for a reason of its own: it counts neither as a trial nor towards the next one.
    ReadingAsked offer_beside() noexcept
    {
        written_since_ = 0;
        offered_ = offered_ != UINT32_MAX ? offered_ + 1 : 1;
        const bool is_checked = checks_left_ != 0;
        if (is_checked && --checks_left_ == 0) {
            last_checked_ = offered_;
        }
        return {.number = offered_, .is_checked = is_checked};
    }

    /// The sender copied the receiver's half of a message, too, as the receiver was not there.
    void note_both_halves() noexcept { hear_both_halves(); }

  private:
    // The first read of a buffer takes its lines from the sender's cache in any case.
    static constexpr std::uint32_t reads_a_trial = 4;
    // As many as it takes until the lane is as quick as in a stream.
    static constexpr std::uint32_t writes_a_trial = 16;
    // Messages before the first trial, and between two trials of the other way: twice as many each
    // time the choice stood. Reads that have become dear are noticed without a trial.
    static constexpr std::uint32_t interval_first = 15;
    static constexpr std::uint32_t interval_min = 63;
    static constexpr std::uint32_t interval_min_of_reads = 255;
    static constexpr std::uint32_t interval_max = 1023;
    // One read during which the core was taken away says little.
    static constexpr std::uint32_t dear_reads_max = 3;
    // Messages of which one rank copies both halves end the choice where there are more than one in
    // three for a while.
    static constexpr std::uint32_t both_halves_weight = 2;
    static constexpr std::uint32_t both_halves_max = 3 * both_halves_weight;
    // Not every message that is offered is told of: who shares it among others does not.
    static constexpr std::uint32_t written_until_over = 8;

    bool pays(std::uint64_t reading_cost, std::uint64_t writing_cost) const noexcept
    {
        return 2 * reading_cost < pays_up_to_halves_ * writing_cost;
    }

    /// Whether a read may tell that the messages are others now.
    bool is_dear(std::uint64_t reading_cost) const noexcept
    {
        return 2 * reading_cost > 3 * chosen_cost_ || !pays(reading_cost, writing_cost_);
    }

    /// Whether it is being found out where reads find their bytes.
    bool is_checking() const noexcept { return checks_left_ != 0 || last_checked_ != 0; }

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
            interval_ = std::min(2 * interval_ + 1, interval_max);
            if (!reads_) {
                check_reads();
            }
        }
    }

    /// The next reads are to tell where they found their bytes.
    void check_reads() noexcept
    {
        checks_left_ = reads_a_trial;
        last_checked_ = 0;
        own_cost_ = 0;
        has_both_halves_ = false;
    }

    void hear(std::uint64_t writing_cost) noexcept
    {
        if (heard_.from == ReadFrom::both_halves) {
            hear_both_halves();
        } else {
            reading_cost_ = heard_.cost;
            if (heard_.from == ReadFrom::own_cache) {
                own_cost_ =
                    own_cost_ == 0 ? heard_.cost : std::min<std::uint64_t>(own_cost_, heard_.cost);
            }
            if (reads_) {
                hear_cost(heard_.cost);
            }
        }
        // Of messages in a window the last one is heard of.
        if (last_checked_ != 0 && heard_.number - last_checked_ <= INT32_MAX) {
            last_checked_ = 0;
            judge_reads(writing_cost);
        }
    }

    /// Where one rank copies both halves, no cache holds what it copies the next time.
    void hear_both_halves() noexcept
    {
        if (!reads_) {
            has_both_halves_ = true;
            return;
        }
        both_halves_ += both_halves_weight;
        if (both_halves_ >= both_halves_max) {
            choose(false);
        }
    }

    /// What a message has cost, where they are read. What has become dear and still pays may come
    /// from the own cache as before, which has more to do: that is asked.
    void hear_cost(std::uint64_t cost) noexcept
    {
        both_halves_ -= both_halves_ != 0 ? 1 : 0;
        dear_reads_ = is_dear(cost) ? dear_reads_ + 1 : 0;
        if (dear_reads_ < dear_reads_max) {
            return;
        }
        dear_reads_ = 0;
        if (!pays(cost, writing_cost_)) {
            choose(false);
        } else if (!is_checking()) {
            check_reads();
        }
    }

    /// What the sender has written since is dear for both: his next write takes the lines back.
    void judge_reads(std::uint64_t writing_cost) noexcept
    {
        if (reads_) {
            if (own_cost_ == 0) {
                choose(false);
            } else {
                chosen_cost_ = own_cost_;  // what it costs now
            }
        } else if (own_cost_ != 0 && !has_both_halves_ && pays(own_cost_, writing_cost)) {
            writing_cost_ = writing_cost;
            chosen_cost_ = own_cost_;
            choose(true);
        }
    }

    /// After a trial of the lane. What it cost before was of a time when messages went through it.
    void judge_writing() noexcept
    {
        if (least_cost_ != 0) {
            writing_cost_ = least_cost_;
            if (!pays(reading_cost_, writing_cost_)) {
                choose(false);
                return;
            }
        }
        check_reads();
    }

    void choose(bool reads) noexcept
    {
        reads_ = reads;
        dear_reads_ = 0;
        both_halves_ = 0;
        trial_left_ = 0;
        since_trial_ = 0;
        checks_left_ = 0;
        last_checked_ = 0;
        interval_ = reads ? interval_min_of_reads : interval_min;
    }

    Reading reading_;
    std::uint32_t pays_up_to_halves_;
    bool reads_ = false;
    bool has_both_halves_ = false;   ///< a message of those that are checked
    std::uint32_t trial_left_ = 0;   ///< messages to go the other way
    std::uint32_t since_trial_ = 0;  ///< messages
    std::uint32_t interval_ = interval_first;
    std::uint32_t offered_ = 0;        ///< number of the last one
    std::uint32_t written_since_ = 0;  ///< messages since it
    std::uint32_t checks_left_ = 0;    ///< reads to be checked
    std::uint32_t last_checked_ = 0;   ///< number of the last of them, until it is heard of; or 0
    std::uint32_t dear_reads_ = 0;     ///< in a row
    std::uint32_t both_halves_ = 0;    ///< both_halves_weight for each, one less for each other one
    std::uint32_t reading_cost_ = 0;   ///< of the last one told
    ReadingTold heard_;                ///< the last one
    std::uint64_t own_cost_ = 0;       ///< the least of those checked that came from the own cache
    std::uint64_t chosen_cost_ = 0;    ///< of what was checked last
    std::uint64_t writing_cost_ = 0;   ///< where messages are read: that of the lane before
    std::uint64_t least_cost_ = 0;     ///< of the lane, in the trial that goes on
};

}  // namespace headway::transport::shm

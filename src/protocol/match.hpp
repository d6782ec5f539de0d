// SPDX-License-Identifier: Apache-2.0
//
// Matching of arrived messages and posted receives, in the order the standard demands
// (MPI-5.0 section 3.5): messages of one sender on one communicator in order of sending, receives
// in order of posting.
//
// A context is one communicator's table in a rank. Receives and messages with the same exact name
// meet in a bin of a hash table; receives with a wildcard stand apart in posting order. A message
// takes the earlier of the first fit of its bin and the first fit among the wildcards. Messages
// hang in their bin and in one list of arrivals, which receives with a wildcard walk. There are
// more bins where many wait: a search that misses is as short with ten thousand messages as with
// ten.
//
// Everything is plain data in the node heap and belongs to the rank's executor.
#pragma once

#include <cstdint>

#include "engine/op.hpp"
#include "engine/rank_state.hpp"
#include "memory/allocator.hpp"
#include "transport/frame.hpp"

namespace headway::protocol {

/// Wildcards, as the ABI spells them.
inline constexpr std::int32_t any_source = -1;
inline constexpr std::int32_t any_tag = -2;

using engine::Unexpected;

/// Contexts of collective steps, whose messages have numbers and whose receives no wildcards.
inline bool is_collective(std::uint32_t context) noexcept
{
    return (context & 1U) != 0;
}

/// Names of one context. `wanted` may hold wildcards, `message` not.
inline bool fits(const transport::FrameHeader& wanted,
                 const transport::FrameHeader& message) noexcept
{
    if (is_collective(wanted.context)) {
        return wanted.source == message.source && wanted.tag == message.tag &&
               wanted.sequence == message.sequence;
    }
    return (wanted.source == any_source || wanted.source == message.source) &&
           (wanted.tag == any_tag || wanted.tag == message.tag);
}

class MatchContext {
  public:
    /// `counters` of the rank, which outlive the context. `has_bins`: else all exact names share
    /// one list, as in older matchers.
    MatchContext(std::uint32_t context, engine::RankCounters& counters, bool has_bins = true)
        : context_(context),
          bin_mask_(has_bins ? first_bin_count - 1 : 0),
          may_grow_(has_bins),
          counters_(&counters)
    {
    }
    MatchContext(const MatchContext&) = delete;
    MatchContext& operator=(const MatchContext&) = delete;

    std::uint32_t context() const noexcept { return context_; }

    /// The posted receive that takes this message, removed; null if none does.
    engine::Op* take_posted(const transport::FrameHeader& message) noexcept
    {
        return posted_ != 0 ? find_posted(message) : nullptr;
    }
    /// Whether any receive is posted.
    bool has_posted() const noexcept { return posted_ != 0; }
    /// Whether no receive is posted that could take a message of this name. May say no too often.
    bool has_none_posted(const transport::FrameHeader& message) noexcept
    {
        return posted_ == 0 || (wild_.is_empty() && bin(message).posted.is_empty());
    }
    /// Whether any message is kept for later.
    bool keeps_messages() const noexcept { return first_arrival_ != nullptr; }
    /// Posts a receive, whose name may hold wildcards.
    void post(engine::Op* receive) noexcept;
    /// Leaves the posted receives of a run of a graph without room for what they wait for; how many
    /// there are.
    std::uint32_t withdraw(const engine::GraphInstance* run) noexcept;
    /// Takes a posted receive back that names its message and is alone with it: no other posted one
    /// could take that. False: it is none, or has been matched. May say no too often.
    bool take_back_alone(engine::Op* receive) noexcept;
    /// Takes a posted receive back. False: it has been matched.
    bool cancel(engine::Op* receive) noexcept;

    /// Keeps a message for later.
    void keep(Unexpected* message) noexcept;
    /// The earliest message that `wanted` fits, still kept; null if none does.
    Unexpected* find(const transport::FrameHeader& wanted) noexcept
    {
        return first_arrival_ != nullptr ? find_kept(wanted) : nullptr;
    }
    void remove(Unexpected* message) noexcept;

    /// After keep() or post(): takes more bins from `allocator` where those there are crowded.
    void make_room(memory::Allocator& allocator) noexcept
    {
        if (kept_ + posted_ > crowd * (bin_mask_ + 1ULL) && may_grow_) [[unlikely]] {
            grow(allocator);
        }
    }

    /// No receive is posted in it, and no message kept.
    bool is_empty() const noexcept { return posted_ == 0 && kept_ == 0; }
    /// Gives added bins back. Requires: is_empty(), and it is not used any more.
    void free_bins(memory::Allocator& allocator) noexcept;

    MatchContext* next = nullptr;  ///< in the rank's table of contexts

  private:
    struct Bin {
        engine::OpList posted;
        Unexpected* first = nullptr;
        Unexpected* last = nullptr;
    };
    static constexpr std::uint32_t first_bin_count = 64;
    static constexpr std::uint32_t growth = 8;
    static constexpr unsigned hash_bits = 12;  ///< so many say the bin
    static constexpr std::uint32_t bin_count_max = 1U << hash_bits;
    static constexpr std::uint64_t crowd = 2;  ///< for each bin
    class Timer;

    void grow(memory::Allocator& allocator) noexcept;
    static void push_back(Bin& home, Unexpected* message) noexcept;

    void count_posted(std::uint64_t change) noexcept;
    engine::Op* find_posted(const transport::FrameHeader& message) noexcept;
    Unexpected* find_kept(const transport::FrameHeader& wanted) noexcept;
    Bin& bin(const transport::FrameHeader& name) noexcept;
    bool is_same(const transport::FrameHeader& a, const transport::FrameHeader& b) const noexcept;
    bool is_collective() const noexcept { return (context_ & 1U) != 0; }

    std::uint32_t context_;
    std::uint32_t bin_mask_;
    bool may_grow_;
    std::uint64_t kept_ = 0;    ///< messages, now
    std::uint64_t posts_ = 0;   ///< so far
    std::uint64_t posted_ = 0;  ///< now
    engine::OpList wild_;
    Unexpected* first_arrival_ = nullptr;
    Unexpected* last_arrival_ = nullptr;
    engine::RankCounters* counters_;
    Bin* bins_ = first_bins_;
    Bin first_bins_[first_bin_count];
};

/// All contexts of a rank.
class MatchTable {
  public:
    /// `counters` of the rank, which outlive the table. `has_bins`: see MatchContext.
    explicit MatchTable(engine::RankCounters& counters, bool has_bins = true)
        : counters_(&counters), has_bins_(has_bins)
    {
    }

    /// The context, made if this is the first that is heard of it (a peer may use a new
    /// communicator before this rank has finished making it). Null: the heap is exhausted.
    MatchContext* context(memory::Allocator& allocator, std::uint32_t id) noexcept;
    /// Gives a context back where no receive is posted in it and no message kept. Nobody holds it.
    void forget(memory::Allocator& allocator, std::uint32_t id) noexcept;
    /// The last one that was asked for; null: none was.
    MatchContext* recent() const noexcept { return recent_; }

  private:
    static constexpr std::size_t bucket_count = 64;
    MatchContext*& bucket_of(std::uint32_t id) noexcept
    {
        return buckets_[(id * 0x9E37'79B1U >> 16) % bucket_count];
    }

    MatchContext* recent_ = nullptr;
    MatchContext* buckets_[bucket_count] = {};
    engine::RankCounters* counters_;
    bool has_bins_;
};

}  // namespace headway::protocol

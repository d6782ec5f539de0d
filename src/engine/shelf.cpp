// SPDX-License-Identifier: Apache-2.0
#include "engine/shelf.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "engine/wait.hpp"
#include "platform/atomic.hpp"
#include "sync/growing_mark.hpp"

namespace headway::engine {

struct Shelf {
    static constexpr std::uint64_t compartments = 256;
    static constexpr std::uint64_t half = compartments / 2;
    static constexpr std::size_t line_data_bytes = 48;

    /// What one member gives in a call, or its beginning. Written by that member, read by those who
    /// get it.
    struct alignas(platform::cache_line_bytes) Line {
        sync::GrowingMark calls;  ///< the call whose it is, plus 1
        std::uint64_t bytes = 0;  ///< of one block
        std::byte data[line_data_bytes];
    };

    /// Of one member: how many calls it has ended, told at the end of each half. Written by it,
    /// read by who is about to lay something down in the next half.
    struct alignas(platform::cache_line_bytes) Progress {
        sync::GrowingMark ended;
    };

    // Written when it is made.
    std::uint32_t size = 0;  ///< members

    /// Members that have not left for good. Counted down by each when its communicator ends.
    std::atomic<std::uint32_t> users{0};

    /// Members that wait here and may sleep. Written by them, read by those who give or end a half.
    alignas(platform::cache_line_bytes) sync::SleeperCount sleepers;

    // A member's lines, and what the compartments hold beside, lie at odd distances: at powers of
    // two they would share few sets of a cache.
    static constexpr std::uint64_t lines_apart = compartments + 1;
    static std::uint64_t places_apart(std::uint64_t members) noexcept
    {
        return shelf_call_bytes(members) + platform::cache_line_bytes;
    }
    static std::uint64_t size_bytes(std::uint64_t members) noexcept
    {
        return sizeof(Shelf) + members * (sizeof(Progress) + lines_apart * sizeof(Line)) +
               compartments * places_apart(members);
    }

    Progress* progress() noexcept { return reinterpret_cast<Progress*>(this + 1); }
    Line* lines() noexcept { return reinterpret_cast<Line*>(progress() + size); }
    Line& line(std::uint64_t call, std::uint32_t member) noexcept
    {
        return lines()[member * lines_apart + call % compartments];
    }
    std::byte* place(std::uint64_t call) noexcept
    {
        auto* const places = reinterpret_cast<std::byte*>(lines() + size * lines_apart);
        return places + call % compartments * places_apart(size);
    }
};

namespace {

using Kind = RootedCall::Kind;

/// Of no bytes there may be no place.
void put(std::byte* to, const std::byte* from, std::uint64_t bytes)
{
    if (bytes != 0) [[likely]] {
        std::memcpy(to, from, bytes);
    }
}

/// One member at the shelf.
class Visit {
  public:
    Visit(Driver& driver, Seat& seat, const Scope& scope)
        : driver_(driver), shelf_(*seat.shelf), seat_(seat), scope_(scope), call_(seat.shelf_calls)
    {
    }

    OpError run(const RootedCall& call)
    {
        platform::scheduling_point();
        if (!do_part(call)) [[unlikely]] {
            return OpError::truncated;
        }
        end();
        return OpError::none;
    }

    void end()
    {
        const std::uint64_t ended = ++seat_.shelf_calls;
        if (ended % Shelf::half == 0) {
            shelf_.progress()[scope_.rank].ended.set(ended);
            // (2) sequentially consistent, as (1).
            platform::RealAtomics::fence_full();
            platform::scheduling_point();
            wake_all();
        }
    }

  private:
    bool do_part(const RootedCall& call)
    {
        const bool is_root = scope_.rank == call.root;
        if (call.kind == Kind::gather) {
            if (is_root) {
                return collect(call);
            }
            give(call.bytes, call.send, call.bytes, share(scope_.rank));
            wake(call.root);
            return true;
        }
        if (!is_root) {
            return take(call);
        }
        deal(call);
        return true;
    }

    void deal(const RootedCall& call)
    {
        if (call.kind == Kind::bcast) {
            give(call.bytes, call.receive, call.bytes, shelf_.place(call_));
        } else {
            give(call.bytes, call.send, call.bytes * scope_.size, shelf_.place(call_));
            if (!call.keeps_own) {
                put(call.receive, call.send + scope_.rank * call.bytes, call.bytes);
            }
        }
        wake_all();
    }

    /// Lays down `bytes`, in blocks of `block_bytes`: in the line, or else in `place`. The caller
    /// wakes who waits for them.
    void give(std::uint64_t block_bytes, const std::byte* from, std::uint64_t bytes,
              std::byte* place)
    {
        if (call_ >= seat_.shelf_room_end) [[unlikely]] {
            wait_for_room();
        }
        Shelf::Line& line = shelf_.line(call_, scope_.rank);
        put(bytes <= Shelf::line_data_bytes ? line.data : place, from, bytes);
        line.bytes = block_bytes;
        line.calls.set(call_ + 1);
        // (1) sequentially consistent, pairs with (3) of growing_mark.hpp and with (10) of
        // ownership_word.hpp.
        platform::RealAtomics::fence_full();
        platform::scheduling_point();
    }

    bool take(const RootedCall& call)
    {
        const Shelf::Line& line = wait_for_line(call.root);
        const bool is_dealt = call.kind == Kind::scatter;
        const std::uint64_t all = is_dealt ? line.bytes * scope_.size : line.bytes;
        const std::byte* const from =
            all <= Shelf::line_data_bytes ? line.data : shelf_.place(call_);
        return copy(call, call.receive, from + (is_dealt ? scope_.rank * line.bytes : 0),
                    line.bytes);
    }

    bool collect(const RootedCall& call)
    {
        bool have_room = true;
        for (std::uint32_t member = 0; member < scope_.size; ++member) {
            std::byte* const to = call.receive + member * call.bytes;
            if (member != scope_.rank) {
                const Shelf::Line& line = wait_for_line(member);
                have_room &=
                    copy(call, to, line.bytes <= Shelf::line_data_bytes ? line.data : share(member),
                         line.bytes);
            } else if (!call.keeps_own) {
                put(to, call.send, call.bytes);
            }
        }
        return have_room;
    }

    static bool copy(const RootedCall& call, std::byte* to, const std::byte* from,
                     std::uint64_t given)
    {
        put(to, from, std::min(given, call.bytes));
        return given <= call.bytes;
    }

    /// Where bytes of `member` lie that it has for the root.
    std::byte* share(std::uint32_t member)
    {
        return shelf_.place(call_) + member * shelf_share_bytes(scope_.size);
    }

    const Shelf::Line& wait_for_line(std::uint32_t member)
    {
        const Shelf::Line& line = shelf_.line(call_, member);
        wait(line.calls, call_ + 1);
        return line;
    }

    /// All have ended the calls that this half served before.
    void wait_for_room()
    {
        const std::uint64_t first = call_ / Shelf::half * Shelf::half;
        const std::uint64_t needed = first < Shelf::compartments ? 0 : first - Shelf::half;
        for (std::uint32_t member = 0; member < scope_.size; ++member) {
            if (member != scope_.rank) {
                wait(shelf_.progress()[member].ended, needed);
            }
        }
        seat_.shelf_room_end = first + Shelf::half;
    }

    void wait(const sync::GrowingMark& mark, std::uint64_t number)
    {
        constexpr unsigned looks = 100;  // about as long as it takes to lie down and get up
        const auto has_reached = [&mark, number] { return mark.has_reached(number); };
        if (!holds_soon(has_reached, driver_.node().is_oversubscribed ? 1 : looks)) {
            shelf_.sleepers.come();
            wait_until(driver_, has_reached, {}, 0, WaitReason::meeting);
            shelf_.sleepers.go();
        }
    }

    void wake_all()
    {
        if (!shelf_.sleepers.is_any_after_fence()) [[likely]] {
            return;
        }
        for (std::uint32_t member = 0; member < scope_.size; ++member) {
            if (member != scope_.rank) {
                wake(member);
            }
        }
    }
    void wake(std::uint32_t member)
    {
        driver_.node().rank_state(scope_.peer(member)).ownership.notify_parked_after_fence();
    }

    Driver& driver_;
    Shelf& shelf_;
    Seat& seat_;
    const Scope& scope_;
    const std::uint64_t call_;
};

}  // namespace

Shelf* create_shelf(memory::Allocator& allocator, std::uint32_t size)
{
    void* const made = allocator.allocate_zeroed(Shelf::size_bytes(size));
    if (made == nullptr) {
        return nullptr;
    }
    // Lines and progress are as the heap gives them: all zero.
    auto* const shelf = new (made) Shelf;
    shelf->size = size;
    // Relaxed: the others get to know it by a message.
    shelf->users.store(size, std::memory_order_relaxed);
    return shelf;
}

void leave_shelf(memory::Allocator& allocator, Shelf& shelf)
{
    // (3) acquire and release, pairs with itself: who frees it comes after all that was done there.
    if (shelf.users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        allocator.free(&shelf);
    }
}

bool can_have_shelf(const Node& node, const Scope& scope)
{
    return node.directory.lets_meet && node.rank_count == node.job_rank_count && scope.size >= 2 &&
           scope.size <= shelf_members_max;
}

OpError use_shelf(Driver& driver, Seat& seat, const Scope& scope, const RootedCall& call)
{
    return Visit(driver, seat, scope).run(call);
}

void skip_on_shelf(Driver& driver, Seat& seat, const Scope& scope)
{
    Visit(driver, seat, scope).end();
}

}  // namespace headway::engine

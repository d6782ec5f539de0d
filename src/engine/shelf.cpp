// SPDX-License-Identifier: Apache-2.0
#include "engine/shelf.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "data/reduce.hpp"
#include "engine/graph_engine.hpp"
#include "engine/shelf_layout.hpp"
#include "engine/wait.hpp"
#include "platform/atomic.hpp"
#include "platform/memory_copy.hpp"

namespace headway::engine {

namespace {

using Kind = ShelfCall::Kind;

/// Of a sum that stays in a core's first cache while what is combined goes by.
constexpr std::uint64_t sum_bytes = 4 * 1024;

/// Of no bytes there may be no place.
void put(std::byte* to, const std::byte* from, std::uint64_t bytes)
{
    if (bytes != 0) [[likely]] {
        platform::copy_memory(to, from, bytes);
    }
}

/// One member at the shelf.
class Visit {
  public:
    Visit(Driver& driver, ShelfSeat& seat, const Scope& scope)
        : driver_(driver), shelf_(*seat.shelf), seat_(seat), scope_(scope)
    {
    }

    OpError run(const ShelfCall& call)
    {
        platform::scheduling_point();
        set_stretch(call);
        std::uint64_t given = 0;
        std::uint64_t offset = 0;
        do {
            given = do_part(call, offset);
            if (offset == 0 && given > call.bytes) [[unlikely]] {
                return OpError::truncated;
            }
            end();
            offset += stretch_max_;
        } while (offset < given);
        return OpError::none;
    }

    /// All stretches of what is given, the first of which has been looked at.
    void skip(const ShelfCall& call)
    {
        set_stretch(call);
        const bool is_from_root = call.kind == Kind::bcast || call.kind == Kind::scatter;
        const std::uint64_t given =
            is_from_root ? shelf_.line(seat_.calls, call.root).bytes : given_by_others();
        std::uint64_t offset = 0;
        do {
            end();
            offset += stretch_max_;
        } while (offset < given);
    }

  private:
    static bool goes_to_root(const ShelfCall& call)
    {
        return call.kind == Kind::gather || call.kind == Kind::reduce;
    }

    void set_stretch(const ShelfCall& call)
    {
        if (call.element_bytes != 1) {
            stretch_max_ = shelf_stretch_bytes_max / call.element_bytes * call.element_bytes;
        }
    }
    /// What a call has in one compartment of a block of `bytes`, from `offset` on.
    std::uint64_t stretch(std::uint64_t bytes, std::uint64_t offset) const
    {
        return std::min(bytes - std::min(offset, bytes), stretch_max_);
    }

    void end()
    {
        const std::uint64_t ended = ++seat_.calls;
        if ((ended & (shelf_.half() - 1)) == 0) {
            shelf_.progress()[scope_.rank].ended.set(ended);
            platform::scheduling_point();
            wake_all();
        }
    }

    /// A stretch of the call; the bytes of a block, as who gives it names them.
    std::uint64_t do_part(const ShelfCall& call, std::uint64_t offset)
    {
        if (!ShelfCall::has_root(call.kind)) {
            return exchange(call);
        }
        const bool is_root = scope_.rank == call.root;
        if (goes_to_root(call)) {
            if (is_root) {
                return call.kind == Kind::gather ? collect(call, offset) : combine(call, offset);
            }
            if (call.kind == Kind::reduce && shelf_.form.has_sums) {
                give_sum(call, offset);
                return call.bytes;
            }
            const std::uint64_t bytes = stretch(call.bytes, offset);
            put(begin_giving(bytes, share(scope_.rank)), call.send + offset, bytes);
            end_giving(call.bytes);
            wake(call.root);
            return call.bytes;
        }
        if (!is_root) {
            return take(call, offset);
        }
        deal(call, offset);
        return call.bytes;
    }

    void deal(const ShelfCall& call, std::uint64_t offset)
    {
        const std::uint64_t bytes = stretch(call.bytes, offset);
        if (call.kind == Kind::bcast) {
            put(begin_giving(bytes, place()), call.receive, bytes);
        } else {
            std::byte* const to = begin_giving(bytes * scope_.size, place());
            if (call.bytes * scope_.size <= shelf_call_bytes(scope_.size)) [[likely]] {
                put(to, call.send, bytes * scope_.size);
            } else {
                deal_blocks(call, offset, to);
            }
            if (!call.keeps_own) {
                put(call.receive + offset, call.send + scope_.rank * call.bytes + offset, bytes);
            }
        }
        end_giving(call.bytes);
        wake_all();
    }

    /// Its own stays where it is.
    void deal_blocks(const ShelfCall& call, std::uint64_t offset, std::byte* to)
    {
        const std::uint64_t bytes = stretch(call.bytes, offset);
        for (std::uint32_t member = 0; member < scope_.size; ++member) {
            if (member != scope_.rank) {
                put(to + member * bytes, call.send + member * call.bytes + offset, bytes);
            }
        }
    }

    /// Where to lay down `bytes`, once there is room: in the line, or else in `beside`.
    std::byte* begin_giving(std::uint64_t bytes, std::byte* beside)
    {
        if (seat_.calls >= seat_.room_end) [[unlikely]] {
            wait_for_room();
        }
        return bytes <= Shelf::line_data_bytes ? own_line().data : beside;
    }

    /// They lie there. The caller wakes who waits for them.
    void end_giving(std::uint64_t block_bytes)
    {
        Shelf::Line& line = own_line();
        line.bytes = block_bytes;
        line.calls.set(seat_.calls + 1);
        platform::scheduling_point();
    }

    std::uint64_t take(const ShelfCall& call, std::uint64_t offset)
    {
        const Shelf::Line& line = wait_for_line(call.root);
        const bool is_dealt = call.kind == Kind::scatter;
        const std::uint64_t bytes = stretch(line.bytes, offset);
        const std::uint64_t all = is_dealt ? bytes * scope_.size : bytes;
        const std::byte* const from = all <= Shelf::line_data_bytes ? line.data : place();
        copy(call, offset, call.receive, from + (is_dealt ? scope_.rank * bytes : 0), bytes);
        return line.bytes;
    }

    /// Each gives and gets, in one stretch.
    std::uint64_t exchange(const ShelfCall& call)
    {
        give_to_all(call);
        switch (call.kind) {
            case Kind::barrier:
                wait_for_others();
                return 0;
            case Kind::allreduce:
                return combine_for_itself(call);
            case Kind::alltoall:
                return collect_dealt(call);
            default:
                return collect(call, 0);
        }
    }

    void give_to_all(const ShelfCall& call)
    {
        if (own_line().calls.has_reached(seat_.calls + 1)) [[unlikely]] {
            return;  // the call is repeated, and others may be reading
        }
        const std::uint64_t bytes = given_by_each(call.kind, call.bytes);
        put(begin_giving(bytes, share(scope_.rank)), call.send, bytes);
        end_giving(call.bytes);
        wake_all();
    }
    std::uint64_t given_by_each(Kind kind, std::uint64_t block_bytes) const
    {
        return kind == Kind::alltoall ? block_bytes * scope_.size : block_bytes;
    }

    std::uint64_t collect_dealt(const ShelfCall& call)
    {
        std::uint64_t given = 0;
        for (std::uint32_t member = 0; member < scope_.size; ++member) {
            std::byte* const to = call.receive + member * call.bytes;
            if (member != scope_.rank) {
                const std::uint64_t bytes = wait_for_line(member).bytes;
                given = std::max(given, bytes);
                copy(call, 0, to, part(member, bytes * scope_.size) + scope_.rank * bytes, bytes);
            } else if (!call.keeps_own) {
                put(to, call.send + member * call.bytes, call.bytes);
            }
        }
        return given;
    }

    std::uint64_t combine_for_itself(const ShelfCall& call)
    {
        wait_for_others();
        const std::uint64_t given = given_by_others();
        if (given > call.bytes) [[unlikely]] {
            return given;  // before anything is combined, so that the call can be repeated
        }
        const std::byte* const own =
            call.send != call.receive ? call.send : part(scope_.rank, call.bytes);
        combine_span(call, {.own = own, .bytes = call.bytes}, {0, scope_.size}, call.receive);
        return given;
    }

    std::uint64_t collect(const ShelfCall& call, std::uint64_t offset)
    {
        std::uint64_t given = 0;
        for (std::uint32_t member = 0; member < scope_.size; ++member) {
            std::byte* const to = call.receive + member * call.bytes;
            if (member != scope_.rank) {
                const Shelf::Line& line = wait_for_line(member);
                given = std::max(given, line.bytes);
                const std::uint64_t bytes = stretch(line.bytes, offset);
                copy(call, offset, to, bytes <= Shelf::line_data_bytes ? line.data : share(member),
                     bytes);
            } else if (!call.keeps_own) {
                put(to + offset, call.send + offset, stretch(call.bytes, offset));
            }
        }
        return given;
    }

    /// Neighbours whose vectors are combined first, as the tree with rank 0 at its top and two
    /// branches a step does (protocol/coll/reduce_knomial), with the same result to the bit.
    struct Span {
        std::uint32_t first;
        std::uint32_t size;

        Span lower() const noexcept { return {first, std::bit_ceil(size) / 2}; }
        Span upper() const noexcept { return {first + lower().size, size - lower().size}; }
        std::uint32_t last() const noexcept { return first + size - 1; }
        bool holds(std::uint32_t member) const noexcept { return member - first < size; }
    };

    /// What a member combines of a stretch: `count` elements from `offset` on.
    struct Operands {
        const std::byte* own = nullptr;
        std::uint64_t bytes = 0;  ///< of the stretch
        data::ReduceKernel kernel = nullptr;
        std::uint64_t offset = 0;
        std::uint64_t count = 0;
    };

    /// Combines what members have given, which is only read: who lays down the next there still has
    /// the lines.
    std::uint64_t combine(const ShelfCall& call, std::uint64_t offset)
    {
        const std::uint64_t bytes = stretch(call.bytes, offset);
        Operands operands{.own = call.send + offset, .bytes = bytes};
        if (call.send == call.receive && scope_.rank != 0) {
            // What comes before it in rank order would be written over it.
            std::byte* const kept = begin_giving(bytes, share(scope_.rank));
            put(kept, operands.own, bytes);
            operands.own = kept;
        }
        wait_for_operands({0, scope_.size});
        const std::uint64_t given = given_by_others();
        if (given > call.bytes) [[unlikely]] {
            return given;  // before anything is combined, so that the call can be repeated
        }
        combine_span(call, operands, {0, scope_.size}, call.receive + offset);
        return given;
    }

    /// Of the longest span that ends with this member and that the root is not in. Of the others in
    /// it those who end its parts have given their sums; so the root does not combine all by itself
    /// while the others only copy, and each vector is read by who has it.
    void give_sum(const ShelfCall& call, std::uint64_t offset)
    {
        const std::uint64_t bytes = stretch(call.bytes, offset);
        Span around{0, scope_.size};
        Span span = around;
        while (span.holds(call.root) || span.last() != scope_.rank) {
            around = span;
            span = span.lower().holds(scope_.rank) ? span.lower() : span.upper();
        }
        std::byte* const sum = begin_giving(bytes, share(scope_.rank));
        if (span.size == 1) {
            put(sum, call.send + offset, bytes);
        } else {
            wait_for_operands(span);
            combine_span(call, {.own = call.send + offset, .bytes = bytes}, span, sum);
        }
        end_giving(call.bytes);
        wake(around.holds(call.root) ? call.root : around.last());
    }

    /// Those who end the parts of `span` that this member, which is in it, is not in; or all, who
    /// have given what is their own.
    void wait_for_operands(Span span)
    {
        if (!shelf_.form.has_sums) {
            wait_for_others();
            return;
        }
        while (span.size > 1) {
            const bool is_lower = span.lower().holds(scope_.rank);
            (void)wait_for_line(is_lower ? span.last() : span.lower().last());
            span = is_lower ? span.lower() : span.upper();
        }
    }

    void combine_span(const ShelfCall& call, Operands operands, Span span, std::byte* to)
    {
        operands.kernel = data::reduce_kernel(call.reduction->op, call.reduction->kind);
        const std::uint64_t step = sum_bytes / call.element_bytes;
        const std::uint64_t count = operands.bytes / call.element_bytes;
        for (std::uint64_t at = 0; at < count; at += step) {
            operands.offset = at * call.element_bytes;
            operands.count = std::min(step, count - at);
            (void)sum_of(operands, span, to + operands.offset);
        }
    }

    /// In `room` unless it lies somewhere already. Each part has its sum in a first cache.
    const std::byte* sum_of(const Operands& operands, Span span, std::byte* room)
    {
        if (span.size == 1 && span.first == scope_.rank) {
            return operands.own + operands.offset;
        }
        if (span.size == 1 || (shelf_.form.has_sums && !span.holds(scope_.rank))) {
            return part(span.last(), operands.bytes) + operands.offset;
        }
        alignas(platform::cache_line_bytes) std::byte beside[sum_bytes];
        const std::byte* const lower = sum_of(operands, span.lower(), room);
        const std::byte* const upper = sum_of(operands, span.upper(), beside);
        operands.kernel(lower, upper, room, operands.count);
        return room;
    }

    /// Where `member` has given `bytes`.
    std::byte* part(std::uint32_t member, std::uint64_t bytes)
    {
        return bytes <= Shelf::line_data_bytes ? shelf_.line(seat_.calls, member).data
                                               : share(member);
    }

    /// Bytes of the longest block. Requires: all members' lines are there.
    std::uint64_t given_by_others()
    {
        std::uint64_t given = 0;
        for (std::uint32_t member = 0; member < scope_.size; ++member) {
            if (member != scope_.rank) {
                given = std::max(given, shelf_.line(seat_.calls, member).bytes);
            }
        }
        return given;
    }

    /// What this member has room for, of a stretch of a block that goes to `block`.
    static void copy(const ShelfCall& call, std::uint64_t offset, std::byte* block,
                     const std::byte* from, std::uint64_t bytes)
    {
        put(block + offset, from, std::min(bytes, call.bytes - std::min(offset, call.bytes)));
    }

    std::byte* place() { return shelf_.place(seat_.calls); }
    Shelf::Line& own_line() { return shelf_.line(seat_.calls, scope_.rank); }

    /// Where bytes of `member` lie that it has for the root.
    std::byte* share(std::uint32_t member) { return place() + member * shelf_.form.share_bytes; }

    void wait_for_others()
    {
        for (std::uint32_t member = 0; member < scope_.size; ++member) {
            if (member != scope_.rank) {
                (void)wait_for_line(member);
            }
        }
    }

    const Shelf::Line& wait_for_line(std::uint32_t member)
    {
        const Shelf::Line& line = shelf_.line(seat_.calls, member);
        wait(line.calls, seat_.calls + 1);
        return line;
    }

    /// All have ended the calls that this half served before.
    void wait_for_room()
    {
        const std::uint64_t half = shelf_.half();
        const std::uint64_t first = seat_.calls & ~(half - 1);
        const std::uint64_t needed = first < 2 * half ? 0 : first - half;
        for (std::uint32_t member = 0; member < scope_.size; ++member) {
            if (member != scope_.rank) {
                wait(shelf_.progress()[member].ended, needed);
            }
        }
        seat_.room_end = first + half;
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

    /// Who sleeps until this member has set the mark that it has set now.
    void wake_all()
    {
        if (!is_any_asleep()) [[likely]] {
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
        Node& node = driver_.node();
        node.wake_parked(node.rank_state(scope_.peer(member)));
    }
    bool is_any_asleep() const
    {
        if (driver_.node().parks_with_barrier) {
            return shelf_.sleepers.is_any_without_fence();
        }
        // (1) sequentially consistent, pairs with (3) of growing_mark.hpp and with (10) of
        // ownership_word.hpp.
        platform::RealAtomics::fence_full();
        return shelf_.sleepers.is_any_after_fence();
    }

    Driver& driver_;
    Shelf& shelf_;
    ShelfSeat& seat_;
    const Scope& scope_;
    std::uint64_t stretch_max_ = shelf_stretch_bytes_max;
};

}  // namespace

Shelf* create_shelf(memory::Allocator& allocator, ShelfSize size, std::uint32_t members)
{
    const Shelf::Form form = Shelf::form_of(size, members);
    void* const made = allocator.allocate_zeroed(Shelf::size_bytes(form, members));
    // Lines and progress are as the heap gives them: all zero.
    return made != nullptr ? new (made) Shelf(form, members) : nullptr;
}

void leave_shelf(memory::Allocator& allocator, Shelf& shelf)
{
    // (2) acquire and release, pairs with itself: who frees it comes after all that was done there.
    if (shelf.users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        allocator.free(&shelf);
    }
}

bool can_have_shelf(const Node& node, ShelfSize size, const Scope& scope)
{
    constexpr std::uint64_t shelves_a_heap = 64;  // many communicators may each have some
    if (!node.directory.lets_meet || node.rank_count != node.job_rank_count || scope.size < 2) {
        return false;
    }
    if (size == ShelfSize::lines) {
        return scope.size <= shelf_members_max;
    }
    // Ranks that have a core each copy blocks in halves, those of one process where they lie.
    const std::uint64_t bytes = Shelf::size_bytes(Shelf::form_of(size, scope.size), scope.size);
    return scope.size <= shelf_block_members_max && node.is_oversubscribed &&
           node.directory.process_count > 1 && bytes <= node.heap->size_bytes() / shelves_a_heap;
}

OpError use_shelf(Driver& driver, ShelfSeat& seat, const Scope& scope, const ShelfCall& call)
{
    return Visit(driver, seat, scope).run(call);
}

void skip_on_shelf(Driver& driver, ShelfSeat& seat, const Scope& scope, const ShelfCall& call)
{
    Visit(driver, seat, scope).skip(call);
}

}  // namespace headway::engine

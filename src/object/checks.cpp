// SPDX-License-Identifier: Apache-2.0
#include "object/checks.hpp"

#include <string>

#include "object/call_order.hpp"
#include "object/distant_note.hpp"
#include "object/note_board.hpp"

namespace headway::object {

namespace {

constexpr unsigned checks_root = 1;

bool compares_calls(config::CheckChoice asked)
{
    return asked == config::CheckChoice::collectives || asked == config::CheckChoice::all;
}

bool compares_messages(config::CheckChoice asked)
{
    return asked == config::CheckChoice::messages || asked == config::CheckChoice::all;
}

}  // namespace

base::Outcome make_checks(memory::NodeHeap& heap, config::CheckChoice asked)
{
    if (asked == config::CheckChoice::none) {
        return base::Done{};
    }
    memory::Allocator& allocator = heap.for_rank(0);
    auto* const checks = allocator.make<Checks>();
    const bool is_made =
        checks != nullptr && (checks->parts = allocator.make<NoteParts>()) != nullptr &&
        (!compares_calls(asked) || ((checks->calls = allocator.make<CallOrder>()) != nullptr &&
                                    (checks->blocks = allocator.make<NoteBoard>()) != nullptr)) &&
        (!compares_messages(asked) || (checks->messages = allocator.make<NoteBoard>()) != nullptr);
    if (!is_made) {
        return base::Failure{
            "the node heap is too small for HEADWAY_CHECK; raise HEADWAY_HEAP_SIZE, or the size of "
            "/dev/shm"};
    }
    heap.set_root(checks_root, checks);
    return base::Done{};
}

const Checks* made_checks(const memory::NodeHeap& heap) noexcept
{
    return static_cast<const Checks*>(heap.root(checks_root));
}

base::Result<Checks> find_checks(const memory::NodeHeap& heap, config::CheckChoice asked)
{
    const Checks* const made = made_checks(heap);
    const Checks found = made != nullptr ? *made : Checks{};
    const char* const missing = compares_calls(asked) && found.calls == nullptr ? "collectives"
                                : compares_messages(asked) && found.messages == nullptr ? "messages"
                                                                                        : nullptr;
    if (missing != nullptr) {
        return base::Failure{std::string("HEADWAY_CHECK=") + missing +
                             " is set for this rank but not for rank 0; set it for all ranks"};
    }
    return found;
}

}  // namespace headway::object

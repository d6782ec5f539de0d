// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.hpp"
#include "config/knobs.hpp"
#include "memory/node_heap.hpp"

namespace headway::object {

class CallOrder;
class NoteBoard;
class NoteParts;

/// What ranks compare with each other (HEADWAY_CHECK), each in the node heap; null: they do not.
struct Checks {
    CallOrder* calls = nullptr;
    NoteBoard* blocks = nullptr;  ///< of collective calls, where these are compared
    NoteBoard* messages = nullptr;
    NoteParts* parts = nullptr;  ///< of what other nodes say, if anything is compared
};

/// Makes what is asked for and its entry in the heap; once a node. Failure: no room.
base::Outcome make_checks(memory::NodeHeap& heap, config::CheckChoice asked);

/// What the maker of the heap has asked for; null: nothing.
const Checks* made_checks(const memory::NodeHeap& heap) noexcept;

/// The same. Failure: this process asks for other things.
base::Result<Checks> find_checks(const memory::NodeHeap& heap, config::CheckChoice asked);

}  // namespace headway::object

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.hpp"
#include "config/knobs.hpp"
#include "memory/node_heap.hpp"

namespace headway::object {

class CallOrder;
class SentTypes;

/// What ranks compare with each other (HEADWAY_CHECK), each in the node heap; null: they do not.
struct Checks {
    CallOrder* calls = nullptr;
    SentTypes* messages = nullptr;
};

/// Makes what is asked for and its entry in the heap; once a node. Failure: no room.
base::Outcome make_checks(memory::NodeHeap& heap, config::CheckChoice asked);

/// What the maker of the heap has asked for. Failure: this process asks for other things.
base::Result<Checks> find_checks(const memory::NodeHeap& heap, config::CheckChoice asked);

}  // namespace headway::object

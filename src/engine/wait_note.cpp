// SPDX-License-Identifier: Apache-2.0
#include "engine/wait_note.hpp"

namespace headway::engine {

namespace {

/// Ops that are named; the others are counted.
constexpr int ops_named_max = 4;

std::string describe_name(std::int32_t number, const char* what)
{
    return number < 0 ? std::string("any ") + what
                      : std::string(what) + " " + std::to_string(number);
}

std::string describe(const Op& op)
{
    switch (op.kind) {
        case OpKind::receive:
            return "a message from " + describe_name(op.header.source, "rank") + " with " +
                   describe_name(op.header.tag, "tag");
        case OpKind::send:
            return "the receiver of its message to rank " + std::to_string(op.peer) + " with " +
                   describe_name(op.header.tag, "tag");
        case OpKind::graph:
            return "a collective";
        case OpKind::sync_object:
            return "the requests of a sync object";
        case OpKind::exchange:
            return "a message that it exchanges for another one";
        case OpKind::control:
            break;
    }
    return "room for a frame";
}

}  // namespace

std::string WaitNote::describe_wait(const platform::WaitNote& note)
{
    std::string text;
    int pending = 0;
    const auto& own = static_cast<const WaitNote&>(note);
    if (own.reason != WaitReason::events) {
        return "a collective";
    }
    for (const Op* op : own.ops) {
        if (op != nullptr && !op->word.is_complete()) {
            if (pending < ops_named_max) {
                text += (pending == 0 ? "" : " and ") + describe(*op);
            }
            ++pending;
        }
    }
    if (pending > ops_named_max) {
        text += " and " + std::to_string(pending - ops_named_max) + " more";
    }
    return pending == 0 ? "something to happen" : text;
}

}  // namespace headway::engine

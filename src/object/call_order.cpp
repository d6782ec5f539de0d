// SPDX-License-Identifier: Apache-2.0
#include "object/call_order.hpp"

#include <cstring>

#include "object/communicator.hpp"

namespace headway::object {

struct CallOrder::Record {
    Turn turn;  ///< of the first one who said as much as is known now, and his call
    CallSignature signature;
    std::uint32_t arrived;
    Record* next;
};

CallSignature::CallSignature(std::string_view function) noexcept
{
    function.copy(name, name_bytes - 1);
}

bool CallSignature::agrees_with(const CallSignature& other) const noexcept
{
    const auto is_same = [](auto own, auto others, auto unsaid) {
        return own == others || own == unsaid || others == unsaid;
    };
    return std::strcmp(name, other.name) == 0 && is_same(root, other.root, nothing) &&
           is_same(bytes, other.bytes, nothing) &&
           is_same(operation, other.operation, std::uint64_t{0}) &&
           (elements.text[0] == '\0' || other.elements.text[0] == '\0' ||
            elements.agrees_with(other.elements));
}

int CallSignature::facts() const noexcept
{
    return (root != nothing ? 1 : 0) + (bytes != nothing ? 1 : 0) + (operation != 0 ? 1 : 0);
}

std::string describe(const CallSignature& signature)
{
    std::string text = signature.name;
    if (signature.root != CallSignature::nothing) {
        text += " with root " + std::to_string(signature.root);
    }
    if (signature.bytes != CallSignature::nothing) {
        text += signature.root != CallSignature::nothing ? " and " : " with ";
        text += std::to_string(signature.bytes) + " bytes";
    }
    if (signature.elements.text[0] != '\0') {
        text += std::string(" (") + signature.elements.text + ")";
    }
    return text;
}

CallOrder::Turn CallOrder::take_turn(Communicator& communicator) noexcept
{
    const engine::Scope& scope = communicator.joint_scope();
    return {.context = scope.context,
            .leader = scope.job_rank(0),
            .number = static_cast<std::uint32_t>(communicator.count_collective()),
            .size = scope.size,
            .rank = scope.job_rank(scope.rank)};
}

CallOrder::Answer CallOrder::compare(memory::Allocator& allocator, const Turn& turn,
                                     const CallSignature& own, CallSignature* other,
                                     int* other_rank) noexcept
{
    if (!lock_.lock(allocator.rank())) {
        return Answer::no_memory;
    }
    Record** place = &buckets_[(turn.context + turn.leader * 31 + turn.number * 7) % bucket_count];
    while (*place != nullptr &&
           ((*place)->turn.context != turn.context || (*place)->turn.leader != turn.leader ||
            (*place)->turn.number != turn.number || (*place)->turn.size != turn.size)) {
        place = &(*place)->next;
    }
    if (*place == nullptr) {
        *place = allocator.make<Record>(Record{turn, own, 0, nullptr});
    }
    Record* const record = *place;
    Answer answer = Answer::no_memory;
    if (record != nullptr) {
        answer = record->signature.agrees_with(own) ? Answer::agrees : Answer::differs;
        *other = record->signature;
        *other_rank = static_cast<int>(record->turn.rank);
        if (own.facts() > record->signature.facts()) {
            record->signature = own;
            record->turn = turn;
        }
        if (++record->arrived == turn.size) {
            *place = record->next;
            allocator.free(record);
        }
    }
    lock_.unlock();
    return answer;
}

}  // namespace headway::object

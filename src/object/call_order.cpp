// SPDX-License-Identifier: Apache-2.0
#include "object/call_order.hpp"

#include <cstring>

#include "object/communicator.hpp"

namespace headway::object {

struct CallOrder::Record {
    // Together the name: a context may serve several communicators without a common member.
    std::uint32_t context;
    std::uint32_t leader;  ///< member 0, as a rank of MPI_COMM_WORLD
    std::uint64_t number;
    std::uint32_t arrived;
    std::uint32_t first_rank;  ///< whose call the signature is
    CallSignature signature;
    Record* next;
};

CallSignature::CallSignature(std::string_view function) noexcept
{
    function.copy(name, name_bytes - 1);
}

bool CallSignature::operator==(const CallSignature& other) const noexcept
{
    return std::strcmp(name, other.name) == 0 && root == other.root && bytes == other.bytes &&
           operation == other.operation && elements.agrees_with(other.elements);
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

CallOrder::Answer CallOrder::compare(memory::Allocator& allocator, Communicator& communicator,
                                     const CallSignature& own, CallSignature* other,
                                     int* other_rank, std::uint64_t* number) noexcept
{
    const engine::Scope& scope = communicator.joint_scope();
    const std::uint32_t leader = scope.peer(0);
    *number = communicator.count_collective();
    if (!lock_.lock(allocator.rank())) {
        return Answer::no_memory;
    }
    Record** place = &buckets_[(scope.context + leader * 31 + *number * 7) % bucket_count];
    while (*place != nullptr && ((*place)->context != scope.context || (*place)->leader != leader ||
                                 (*place)->number != *number)) {
        place = &(*place)->next;
    }
    if (*place == nullptr) {
        *place = allocator.make<Record>(
            Record{scope.context, leader, *number, 0, allocator.rank(), own, nullptr});
    }
    Record* const record = *place;
    Answer answer = Answer::no_memory;
    if (record != nullptr) {
        answer = record->signature == own ? Answer::agrees : Answer::differs;
        *other = record->signature;
        *other_rank = static_cast<int>(record->first_rank);
        if (++record->arrived == scope.size) {
            *place = record->next;
            allocator.free(record);
        }
    }
    lock_.unlock();
    return answer;
}

}  // namespace headway::object

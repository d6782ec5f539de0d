// SPDX-License-Identifier: Apache-2.0
#include "abi/type_check.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/observation.hpp"
#include "object/distant_note.hpp"
#include "object/note_board.hpp"
#include "object/process.hpp"

namespace headway::abi {
namespace {

using data::Signature;
using engine::Op;
using object::ElementNote;

/// Elements that hold the same numbers in the same form are of one class.
std::uint32_t class_of(data::BasicType basic)
{
    constexpr std::uint32_t first_without_arithmetic = 0x100;  // characters, packed bytes
    const auto* const type =
        object::find_predefined_datatype(object::handle_from<MPI_Datatype>(basic.id));
    return type != nullptr && type->kind != data::ElementKind::none
               ? static_cast<std::uint32_t>(type->kind)
               : first_without_arithmetic + basic.size_bytes;
}

bool is_untyped(const Signature& signature)
{
    const auto parts = signature.parts();
    if (parts.size() != 1 || parts.front().inner != nullptr) {
        return false;
    }
    const std::uintptr_t bits = parts.front().basic.id;
    return bits == object::bits_of(MPI_BYTE) || bits == object::bits_of(MPI_PACKED);
}

const char* name_of(data::BasicType basic)
{
    const char* const name = datatype_name(basic.id);
    return name != nullptr ? name : "?";
}

std::string counted(std::uint64_t count, std::string_view what)
{
    return std::to_string(count).append(" ").append(what);
}

std::string in_parentheses(std::string_view text)
{
    return std::string(1, '(').append(text).append(1, ')');
}

/// "2 MPI_INT, 3 (MPI_DOUBLE, MPI_CHAR)"; long ones end with dots.
std::string list_of(const Signature& signature, int depth)
{
    constexpr std::size_t parts_shown = 4;
    constexpr int depth_max = 3;
    std::string text;
    for (const Signature::Part& part :
         signature.parts().first(std::min(parts_shown, signature.parts().size()))) {
        std::string unit = name_of(part.basic);
        if (part.inner != nullptr) {
            unit = in_parentheses(depth < depth_max ? list_of(*part.inner, depth + 1) : "...");
        }
        text += text.empty() ? "" : ", ";
        text +=
            part.repeat == 1 && signature.parts().size() > 1 ? unit : counted(part.repeat, unit);
    }
    return signature.parts().size() > parts_shown ? text + ", ..." : text;
}

std::string describe(const Signature& signature, std::uint64_t count)
{
    const auto parts = signature.parts();
    if (count == 0 || parts.empty()) {
        return "no elements";
    }
    if (parts.size() == 1 && parts.front().inner == nullptr) {
        return counted(count * parts.front().repeat, name_of(parts.front().basic));
    }
    return counted(count, in_parentheses(list_of(signature, 0)));
}

/// What a receive says, until it ends.
class ComparedReceive final : public object::OpKeep {
  public:
    ComparedReceive(object::Communicator& comm, const Transfer& transfer,
                    std::unique_ptr<OpKeep> inner)
        : comm_(comm),
          layout_(transfer.type->layout),
          count_(transfer.count),
          inner_(std::move(inner))
    {
        comm_.add_reference();
    }
    ~ComparedReceive() override { comm_.drop_reference(); }

    void finish(object::Rank& rank, Op& op) override
    {
        if (inner_ != nullptr) {
            inner_->finish(rank, op);
        }
        if (op.is_cancelled || op.header.sequence == 0) {
            return;
        }
        engine::Driver& driver = rank.driver();
        ElementNote sent;
        const bool is_known = rank.process().sent_types()->take(
            driver.allocator(),
            {.sender = driver.node().job_rank(peer_of(comm_, op.status_source)),
             .receiver = driver.rank().job_rank,
             .number = op.header.sequence},
            &sent);
        if (!is_known || op.error != engine::OpError::none || is_same(sent, op.status_bytes)) {
            return;
        }
        op.error = engine::OpError::types_differ;
        rank.complain(sentence(sent, op));
    }

  private:
    bool is_same(const ElementNote& sent, std::uint64_t bytes) const
    {
        const Signature& own = *layout_->signature;
        if (sent.is_untyped || is_untyped(own)) {
            return true;
        }
        // A message may be shorter than its receive, but ends with a whole element.
        const std::optional<std::uint64_t> elements = own.elements_in(bytes);
        return elements && data::digest_of(own, *elements, class_of) == sent.digest;
    }

    std::string sentence(const ElementNote& sent, const Op& op) const
    {
        std::string text = "the message of rank ";
        text += std::to_string(op.status_source) + " (tag " + std::to_string(op.status_tag);
        text += ", communicator '" + comm_.name().substr(0, 64) + "') was sent as ";
        text.append(sent.text).append(", but is received as ");
        text.append(note_of(*layout_, count_).text);
        return text + "; give both sides the same types";
    }

    object::Communicator& comm_;
    data::Layout::Pointer layout_;
    std::uint64_t count_;
    std::unique_ptr<OpKeep> inner_;
};

}  // namespace

ElementNote note_of(const data::Layout& layout, std::uint64_t count)
{
    const Signature& signature = *layout.signature;
    ElementNote note;
    std::snprintf(note.text, sizeof note.text, "%s", describe(signature, count).c_str());
    note.is_untyped = is_untyped(signature);
    note.digest = data::digest_of(signature, count * signature.elements(), class_of);
    note.bytes = count * layout.size_bytes();
    return note;
}

std::uint32_t leave_note(object::Rank& rank, std::uint32_t peer, const Transfer& transfer)
{
    engine::Driver& driver = rank.driver();
    const std::uint32_t number = engine::take_message_number(driver, peer);
    const object::NoteBoard::Name name{.sender = driver.rank().job_rank,
                                       .receiver = driver.node().job_rank(peer),
                                       .number = number};
    const ElementNote note = note_of(*transfer.type->layout, transfer.count);
    if (driver.node().is_distant(peer)) {
        object::DistantNote told;
        told.name = name;
        told.elements = note;
        return object::send_note(driver, peer, told) ? number : 0;
    }
    return rank.process().sent_types()->leave(driver.allocator(), name, note) ? number : 0;
}

void compare_at_end(object::Communicator& comm, Op* receive, const Transfer& transfer)
{
    std::unique_ptr<object::OpKeep> inner(object::keep_of(*receive));
    object::set_keep(*receive, new ComparedReceive(comm, transfer, std::move(inner)));
}

}  // namespace headway::abi

// SPDX-License-Identifier: Apache-2.0
// What a started collective keeps for its owner: the user's operator, and private copies of buffers
// whose elements have gaps. Elements with gaps travel and are reduced packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "object/operator.hpp"
#include "object/packed.hpp"

namespace headway::object {

/// A user-defined operator on a datatype, for the graph engine, which hands it back for every
/// step. Holds references on the operator and on a derived datatype: both may be freed while a
/// collective uses them. The function gets the handle that the call named (MPI-5.0 section 6.9.5).
class UserReduction {
  public:
    UserReduction(Rank& rank, UserOperator* op, MPI_Datatype datatype);
    ~UserReduction();
    UserReduction(const UserReduction&) = delete;
    UserReduction& operator=(const UserReduction&) = delete;

    /// inout = in (op) inout, on packed elements.
    void apply(const void* in, void* inout, std::uint64_t count) const;

  private:
    void apply_with_gaps(const void* in, void* inout, std::uint64_t count) const;
    void call(const void* in, void* inout, std::uint64_t count) const;

    Rank& rank_;
    UserOperator* op_;
    MPI_Datatype datatype_;
    bool is_derived_;
    data::Layout::Pointer layout_;
};

/// A packed copy of blocks of a user's buffer, one after the other, which takes its place.
class PackedBlocks {
  public:
    explicit PackedBlocks(std::vector<TypedBlock> blocks);

    std::byte* bytes() const noexcept { return packed_.get(); }
    /// Takes the elements again, as they are now.
    void take() const;
    /// Puts the elements back, past the gaps.
    void give_back() const;

  private:
    std::vector<TypedBlock> blocks_;
    std::unique_ptr<std::byte[]> packed_;
};

struct CollectiveKeep final : OpKeep {
    std::unique_ptr<UserReduction> user;
    std::optional<PackedBlocks> sent;
    std::optional<PackedBlocks> received;

    /// Unpacks what has come to where the caller wants it.
    void give_back();

    void finish(Rank& rank, engine::Op& op) override;
};

}  // namespace headway::object

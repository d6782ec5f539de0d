// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "engine/door.hpp"
#include "object/communicator.hpp"
#include "object/group.hpp"
#include "object/handle_table.hpp"
#include "object/instance.hpp"
#include "object/rank_access.hpp"

namespace headway::test {

/// A rank for the abi layer alone: rank 1 of 4, with world, self and handles, and no engine. Its
/// communicators start with MPI_ERRORS_RETURN.
class StandIn {
  public:
    static StandIn& instance();

    /// Running, nothing reached, both communicators with that handler.
    void reset(object::ErrorHandler* handler);
    /// Outside of `running` there is no rank.
    void set_phase(object::Phase phase);

    MPI_Comm make_communicator();
    void free_communicator(MPI_Comm handle);

    object::RankAccess* access() { return &access_; }
    object::Phase phase() const { return access_.phase; }

    /// How many hand-written functions were reached, what they answer, what they write to amounts.
    int reached = 0;
    int answer = MPI_SUCCESS;
    MPI_Count wide_answer = 0;

  private:
    StandIn();

    /// Nobody asks for its rank.
    object::Instance first_{*reinterpret_cast<object::Rank*>(&access_), 0};
    static constexpr std::size_t range_bytes = object::slot_bytes * object::slots_per_block;
    alignas(object::slot_bytes) std::array<std::byte, range_bytes> range_{};
    object::HandleTable table_{range_};
    object::HandlePool pool_{table_, 0, false};
    std::unique_ptr<object::Communicator> world_;
    std::unique_ptr<object::Communicator> self_;
    std::unique_ptr<object::Communicator> made_;
    object::Group empty_{0};
    object::RankAccess access_;
};

}  // namespace headway::test

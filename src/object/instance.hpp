// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/door.hpp"
#include "engine/driver.hpp"
#include "mpi.h"
#include "object/handle_table.hpp"

namespace headway::object {

class Rank;
struct RankAccess;

/// What of one instance of a rank (docs/design/034) is private to its process: an engine with its
/// door, and what belongs to the messages of the communicators that use it.
/// Thread rule: the rank's threads, inside the door; the pool has a lock of its own.
struct alignas(64) Instance {
    Instance(Rank& owner, std::uint32_t which) : rank(owner), number(which) {}
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    engine::Door door;  ///< first: who has one address has the other, in every short message
    Rank& rank;
    const std::uint32_t number;
    std::unique_ptr<engine::Worker> worker;
    std::unique_ptr<engine::Driver> driver;  ///< null before the rank first communicates
    std::unique_ptr<HandlePool> pool;        ///< likewise
    /// A completed op that all requests of sends already done share: no op is made for them.
    engine::Op* done_op = nullptr;
    /// Ops whose requests were freed and that need their owner at the end; see free_request.
    std::vector<engine::Op*> orphans;
};

/// Inside another instance for a moment, in a call that is inside the first one. It never waits
/// there.
class Inside {
  public:
    explicit Inside(Instance& instance) : instance_(instance)
    {
        if (instance_.number != 0) {
            instance_.door.enter();
        }
    }
    ~Inside()
    {
        if (instance_.number != 0) {
            instance_.door.leave();
        }
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

  private:
    Instance& instance_;
};

// Where calls go in that are about messages: the instance of what they are given, which was not
// checked; the first one where that is nothing. Asked where communicators are spread.

Instance* instance_of(RankAccess& rank, MPI_Comm comm) noexcept;
Instance* instance_of(RankAccess& rank, MPI_Comm comm, int tag) noexcept;
/// That of the first one that is under way. `requests` may be null.
Instance* instance_of(RankAccess& rank, const MPI_Request* requests, int count) noexcept;
Instance* instance_of(RankAccess& rank, const MPI_Message* message) noexcept;

}  // namespace headway::object

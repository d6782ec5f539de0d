// SPDX-License-Identifier: Apache-2.0
// What the abi layer may know of a rank.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "engine/door.hpp"
#include "object/handle_table.hpp"
#include "platform/current_rank.hpp"
#include "platform/device_memory.hpp"

namespace headway::observe {
class Tracer;
}

namespace headway::object {

class Communicator;
class Group;
struct Instance;
class Session;
struct AnyTimePart;
struct Datatype;

enum class Phase : std::uint8_t {
    before_init,
    running,
    finalized,
    forked,  ///< in a child that a process with ranks made by fork()
};

/// Why calls fail in the last phase.
inline constexpr char forked_text[] =
    "called in a child process that a rank made by fork(); MPI belongs to the rank alone: call MPI "
    "there, or let the child run another program (exec)";

/// The largest tag (attribute MPI_TAG_UB).
inline constexpr int tag_upper_bound = std::numeric_limits<int>::max();

/// The part of a rank that every call reads; object::Rank derives from it. Written by the rank's
/// own threads in MPI_Init and MPI_Finalize, read by them in every call.
struct RankAccess {
    HandleTable* handles = nullptr;
    Communicator* world = nullptr;
    Communicator* self = nullptr;
    Group* empty_group = nullptr;
    const Datatype* predefined_datatypes = nullptr;
    Instance* first_instance = nullptr;  ///< where calls go in that belong to no other one
    engine::Door* door = nullptr;        ///< its door
    /// Buffers from this address on need no look: those below are null or MPI_IN_PLACE. The top of
    /// the addresses where memory of a device has to be told from others.
    std::uintptr_t plain_address_min = 2;
    /// Where buffers have to be looked at for memory of a device, and for nothing else; else null.
    const platform::DeviceMemory* devices = nullptr;
    /// Null unless the job is observed.
    observe::Tracer* tracer = nullptr;
    /// Messages say what their elements are, and receives compare (HEADWAY_CHECK=messages).
    bool compares_types = false;
    // Some communicator's messages belong to another instance than the first. Written when the
    // first such one is made, read by all threads; relaxed, as who uses it has heard of it.
    std::atomic<bool> is_spread{false};
    int world_rank = -1;
    Phase phase = Phase::before_init;
};

/// Whether a buffer is a usual one: memory of the host. False: one has to look.
inline bool is_plain_buffer(const RankAccess& rank, const void* buffer) noexcept
{
    return reinterpret_cast<std::uintptr_t>(buffer) >= rank.plain_address_min ||
           (rank.devices != nullptr && rank.devices->is_known_host(buffer));
}

/// The rank whose call this is: that of the calling thread; in a process with one rank, that rank,
/// also for threads Headway never saw. Null where no rank exists (before MPI_Init or after
/// MPI_Finalize of a process).
inline RankAccess* current_rank() noexcept
{
    return static_cast<RankAccess*>(platform::current_rank());
}

/// Where the calling thread's rank, or the process that has none, stands.
Phase current_phase() noexcept;

/// What calls need that are allowed at any time: the rank's, or what the process has without one.
AnyTimePart& any_time_part(RankAccess* rank);

/// The process's table; null where there are no addresses for it.
HandleTable* current_handles() noexcept;

/// The driver of a device ("CUDA") whose memory lies at `address`; null: memory of the host, or
/// nobody looks.
const char* device_driver_of(RankAccess& rank, const void* address) noexcept;

/// Ends the job with exit status `code`. The sentence was printed. `rank` may be null.
[[noreturn]] void abort_job(RankAccess* rank, int code) noexcept;

/// The communicator behind a handle of this rank, or null.
inline Communicator* find_communicator(const RankAccess& rank, MPI_Comm handle) noexcept
{
    const HandleBits bits = bits_of(handle);
    if (bits == bits_of(MPI_COMM_WORLD)) {
        return rank.world;
    }
    if (bits == bits_of(MPI_COMM_SELF)) {
        return rank.self;
    }
    return rank.handles->find<Communicator>(handle);
}

inline Group* find_group(const RankAccess& rank, MPI_Group handle) noexcept
{
    if (bits_of(handle) == bits_of(MPI_GROUP_EMPTY)) {
        return rank.empty_group;
    }
    return rank.handles->find<Group>(handle);
}

}  // namespace headway::object

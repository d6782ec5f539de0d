// SPDX-License-Identifier: Apache-2.0
// Partitioned messages (MPI-5.0 chapter 4). The two sides may cut a message into different numbers
// of partitions, and neither knows the other's. So it travels in chunks whose places follow from
// its length alone, which both know: a chunk leaves when all sender's partitions that it touches
// are ready, and a receiver's partition has arrived when all chunks that touch it have.
//
// Chunks are messages of the library's own, named by (source, tag, number of the initialization
// among those with the same peer and tag, chunk): initializations match in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "object/op_keep.hpp"
#include "object/packed.hpp"
#include "object/persistent.hpp"

namespace headway::object {

class Partitioned final : public Persistent {
  public:
    struct Description {
        engine::OpKind kind = engine::OpKind::send;  ///< or receive
        int partitions = 1;
        TypedBlock partition;  ///< the first one; the others follow it
        bool is_one_run = true;
        std::byte* first_byte = nullptr;  ///< of the data, where it is one run
        int peer = 0;                     ///< or MPI_PROC_NULL
        int tag = 0;
    };

    Partitioned(Rank& rank, Communicator& communicator, const Description& description);

    Partitioned* as_partitioned() noexcept override { return this; }

    bool is_send() const noexcept { return facts().kind == engine::OpKind::send; }
    /// How many like it there were before: by that and its tag both sides know each other.
    std::uint32_t number() const noexcept { return number_; }
    int partitions() const noexcept { return description_.partitions; }
    /// Requires: active send, partition < partitions().
    bool is_ready(int partition) const noexcept
    {
        return ready_in_[static_cast<std::size_t>(partition)] == runs_;
    }
    /// Requires besides: not ready yet.
    void make_ready(int partition);
    /// Requires: active receive, partition < partitions().
    bool has_arrived(int partition);

  protected:
    engine::Op* start() override;

  private:
    /// Kept with the op of an active operation; belongs to the request.
    class Run final : public OpKeep {
      public:
        explicit Run(Partitioned& request) : request_(request) {}

        void finish(Rank& /*rank*/, engine::Op& op) override { request_.finish(op); }
        void let_go() noexcept override {}

      private:
        Partitioned& request_;
    };

    std::uint64_t partition_bytes() const noexcept { return description_.partition.packed_bytes(); }
    std::uint64_t chunk_begin(std::uint64_t chunk) const noexcept;
    std::uint64_t chunk_of(std::uint64_t byte) const noexcept;
    TypedBlock block_of(int partition) const;
    std::byte* bytes() noexcept;
    transport::FrameHeader name_of(std::uint64_t chunk) const noexcept;
    engine::Op* make_chunk(std::uint64_t chunk);
    /// Names the message of the own op, where it travels as one.
    void describe_one() noexcept;
    engine::Op* start_one();
    void make_one_ready();
    bool make_chunks();
    /// The op of the request: the only chunk's, or one that all chunks' are part of.
    engine::Op* make_whole();
    /// How many partitions each chunk of a send waits for.
    void count_wanted();
    void unpack_once(int partition);
    void finish(engine::Op& op);

    Description description_;
    Run run_{*this};
    std::uint64_t total_bytes_;
    std::uint32_t chunks_;
    std::uint32_t number_;
    std::unique_ptr<std::byte[]> packed_;  ///< where elements have gaps
    std::uint32_t peer_;                   ///< as the driver knows it, unless it is MPI_PROC_NULL
    /// Its bytes travel as one short message, from and to where they lie, by the own op: which
    /// stands for the operation, and is over when the message is.
    bool is_one_message_;
    bool is_short_ = false;           ///< such a message, which comes without being asked for
    int unready_ = 0;                 ///< partitions of such a send that are not ready
    std::uint64_t runs_ = 0;          ///< started so far
    std::vector<engine::Op*> parts_;  ///< of the active operation, by chunk; none: all is there
    // Of sends: partitions that a chunk waits for, when the operation starts and now; the run in
    // which a partition was made ready last.
    std::vector<std::uint32_t> wanted_;
    std::vector<std::uint32_t> missing_;
    std::vector<std::uint64_t> ready_in_;
    std::vector<bool> is_unpacked_;  ///< receives
};

/// The active partitioned send behind a handle, or null.
inline Partitioned* find_active_send(const RankAccess& rank, MPI_Request request) noexcept
{
    const auto* const op = rank.handles->find<engine::Op>(request);
    Persistent* const starter = op != nullptr ? starter_of(*op) : nullptr;
    Partitioned* const found = starter != nullptr ? starter->as_partitioned() : nullptr;
    return found != nullptr && found->is_send() ? found : nullptr;
}

}  // namespace headway::object

// SPDX-License-Identifier: Apache-2.0
#include "object/partitioned.hpp"

#include <algorithm>
#include <bit>

#include "engine/joint.hpp"
#include "engine/post.hpp"
#include "object/communicator.hpp"
#include "object/rank.hpp"
#include "protocol/point_to_point.hpp"

namespace headway::object {

namespace {

constexpr std::uint64_t chunk_bytes_min = 4096;
constexpr std::uint32_t chunks_max = 64;
// Context ids stay below it; the odd one names messages with their numbers, as those of
// collectives.
constexpr std::uint32_t partitioned_context = 0x4000'0001U;

/// A power of two, as numbers of partitions often are: then no chunk touches two of them.
std::uint32_t chunks_for(std::uint64_t bytes)
{
    const std::uint64_t wanted = std::clamp<std::uint64_t>(bytes / chunk_bytes_min, 1, chunks_max);
    return static_cast<std::uint32_t>(std::bit_floor(wanted));
}

}  // namespace

Partitioned::Partitioned(Rank& rank, Communicator& communicator, const Description& description)
    : Persistent(rank, communicator, {.kind = description.kind}),
      description_(description),
      total_bytes_(static_cast<std::uint64_t>(description.partitions) * partition_bytes()),
      chunks_(chunks_for(total_bytes_)),
      number_(description.peer != MPI_PROC_NULL
                  ? communicator.count_partitioned(is_send(), description.peer, description.tag)
                  : 0),
      peer_(description.peer != MPI_PROC_NULL
                ? communicator.scope().peer(static_cast<std::uint32_t>(description.peer))
                : engine::any_peer),
      is_one_message_(description.peer != MPI_PROC_NULL && chunks_ == 1 && description.is_one_run &&
                      total_bytes_ <= rank.driver().node().whole_bytes_max && own_op() != nullptr)
{
    if (is_one_message_) {
        describe_one();
        is_short_ = total_bytes_ <= rank.driver().node().knobs.eager_limit;
    }
    if (!description_.is_one_run) {
        packed_ = std::make_unique_for_overwrite<std::byte[]>(total_bytes_);
    }
    if (is_send()) {
        count_wanted();
        ready_in_.assign(static_cast<std::size_t>(description_.partitions), runs_);
    }
}

std::uint64_t Partitioned::chunk_begin(std::uint64_t chunk) const noexcept
{
    // Without overflow: chunks are few.
    return total_bytes_ / chunks_ * chunk + total_bytes_ % chunks_ * chunk / chunks_;
}

std::uint64_t Partitioned::chunk_of(std::uint64_t byte) const noexcept
{
    std::uint64_t chunk = 0;
    while (chunk + 1 < chunks_ && chunk_begin(chunk + 1) <= byte) {
        ++chunk;
    }
    return chunk;
}

TypedBlock Partitioned::block_of(int partition) const
{
    TypedBlock block = description_.partition;
    const std::int64_t offset =
        static_cast<std::int64_t>(block.count) * block.layout->extent * partition;
    block.elements = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(block.elements) +
                                             static_cast<std::uintptr_t>(offset));
    return block;
}

std::byte* Partitioned::bytes() noexcept
{
    return packed_ != nullptr ? packed_.get() : description_.first_byte;
}

transport::FrameHeader Partitioned::name_of(std::uint64_t chunk) const noexcept
{
    const Communicator& comm = *communicator();
    return {.context = comm.context() | partitioned_context,
            .source = is_send() ? comm.rank() : description_.peer,
            .tag = description_.tag,
            .sequence = number_ * chunks_max + static_cast<std::uint32_t>(chunk)};
}

engine::Op* Partitioned::make_chunk(std::uint64_t chunk)
{
    engine::Op* const op = rank().driver().create_op(facts().kind);
    if (op == nullptr) {
        return nullptr;
    }
    op->header = name_of(chunk);
    op->peer = peer_;
    const std::uint64_t begin = chunk_begin(chunk);
    op->address = bytes() + begin;
    op->size_bytes = chunk_begin(chunk + 1) - begin;
    return op;
}

bool Partitioned::make_chunks()
{
    for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) {
        engine::Op* const op = make_chunk(chunk);
        if (op == nullptr) {
            for (engine::Op* made : parts_) {
                rank().driver().destroy_op(made);
            }
            parts_.clear();
            return false;
        }
        parts_.push_back(op);
    }
    return true;
}

engine::Op* Partitioned::make_whole()
{
    if (chunks_ == 1) {
        return make_chunks() ? parts_.front() : nullptr;
    }
    engine::Driver& driver = rank().driver();
    engine::Op* const joint = engine::create_joint(driver, facts().kind, chunks_);
    if (joint == nullptr) {
        return nullptr;
    }
    if (!make_chunks()) {
        driver.destroy_op(joint);
        return nullptr;
    }
    for (engine::Op* part : parts_) {
        engine::add_part(joint, part);
    }
    return joint;
}

void Partitioned::count_wanted()
{
    wanted_.assign(chunks_, 0);
    for (int partition = 0; partition < description_.partitions; ++partition) {
        const std::uint64_t begin = partition_bytes() * static_cast<std::uint64_t>(partition);
        const std::uint64_t last = begin + std::max<std::uint64_t>(partition_bytes(), 1) - 1;
        for (std::uint64_t chunk = chunk_of(begin); chunk <= chunk_of(last); ++chunk) {
            ++wanted_[chunk];
        }
    }
}

void Partitioned::describe_one() noexcept
{
    engine::Op& op = *own_op();
    op.header = name_of(0);
    op.peer = peer_;
    op.address = description_.first_byte;
    op.size_bytes = total_bytes_;
}

engine::Op* Partitioned::start_one()
{
    engine::Op* const op = own_op();
    op->start_again();
    if (is_send()) {
        unready_ = description_.partitions;
    } else if (is_short_) [[likely]] {
        protocol::start_receive_later(rank().driver(), op);
    } else {
        protocol::start_receive(rank().driver(), op);
    }
    return op;
}

[[gnu::always_inline]] inline void Partitioned::make_one_ready()
{
    if (--unready_ != 0) {
        return;
    }
    engine::Driver& driver = rank().driver();
    engine::Op* const op = own_op();
    const bool goes_whole = is_short_ || protocol::goes_whole(driver, op->peer, op->size_bytes,
                                                              engine::Sender::goes_on);
    if (goes_whole && driver.try_post_whole(op->peer, op->header, op->address, op->size_bytes))
        [[likely]] {
        driver.complete(op);
    } else {
        protocol::start_send(driver, op, false);
    }
}

engine::Op* Partitioned::start()
{
    ++runs_;
    if (is_one_message_) [[likely]] {
        return start_one();
    }
    if (is_send()) {
        missing_ = wanted_;
    } else if (packed_ != nullptr) {
        is_unpacked_.assign(static_cast<std::size_t>(description_.partitions), false);
    }
    engine::Driver& driver = rank().driver();
    if (description_.peer == MPI_PROC_NULL) {
        engine::Op* const op = driver.create_op(facts().kind);
        if (op != nullptr) {
            op->status_source = MPI_PROC_NULL;
            op->status_tag = MPI_ANY_TAG;
            driver.complete(op);
        }
        return op;
    }
    engine::Op* const whole = make_whole();
    if (whole == nullptr) {
        return nullptr;
    }
    set_keep(*whole, &run_);
    if (!is_send()) {
        for (engine::Op* part : parts_) {
            protocol::start_receive(driver, part);
        }
    }
    if (chunks_ > 1) {
        engine::seal_joint(driver, whole);
    }
    return whole;
}

[[gnu::flatten]] void Partitioned::make_ready(int partition)
{
    ready_in_[static_cast<std::size_t>(partition)] = runs_;
    if (is_one_message_) [[likely]] {
        make_one_ready();
        return;
    }
    if (description_.peer == MPI_PROC_NULL) {
        return;
    }
    const std::uint64_t begin = partition_bytes() * static_cast<std::uint64_t>(partition);
    if (packed_ != nullptr) {
        pack(block_of(partition), packed_.get() + begin);
    }
    const std::uint64_t last = begin + std::max<std::uint64_t>(partition_bytes(), 1) - 1;
    for (std::uint64_t chunk = chunk_of(begin); chunk <= chunk_of(last); ++chunk) {
        if (--missing_[chunk] == 0) {
            protocol::start_send(rank().driver(), parts_[chunk], false);
        }
    }
}

void Partitioned::unpack_once(int partition)
{
    const auto place = static_cast<std::size_t>(partition);
    if (packed_ != nullptr && !is_unpacked_[place]) {
        is_unpacked_[place] = true;
        unpack(block_of(partition), packed_.get() + partition_bytes() * place, partition_bytes());
    }
}

bool Partitioned::has_arrived(int partition)
{
    if (is_one_message_) {
        return own_op()->word.is_complete();
    }
    if (parts_.empty()) {
        return true;
    }
    const std::uint64_t begin = partition_bytes() * static_cast<std::uint64_t>(partition);
    const std::uint64_t last = begin + std::max<std::uint64_t>(partition_bytes(), 1) - 1;
    for (std::uint64_t chunk = chunk_of(begin); chunk <= chunk_of(last); ++chunk) {
        if (!parts_[chunk]->word.is_complete()) {
            return false;
        }
    }
    unpack_once(partition);
    return true;
}

void Partitioned::finish(engine::Op& op)
{
    for (engine::Op* part : parts_) {
        if (part->error != engine::OpError::none) {
            op.error = part->error;
        }
        if (part != &op) {
            rank().driver().destroy_op(part);
        }
    }
    parts_.clear();
    op.status_source = description_.peer;
    op.status_tag = description_.tag;
    op.status_bytes = total_bytes_;
    if (packed_ != nullptr && !is_send()) {
        for (int partition = 0; partition < description_.partitions; ++partition) {
            unpack_once(partition);
        }
    }
}

}  // namespace headway::object

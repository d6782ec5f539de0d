// SPDX-License-Identifier: Apache-2.0
#include "data/type_program.hpp"

#include <algorithm>
#include <type_traits>

#include "data/record_moves.hpp"
#include "data/run_copies.hpp"

namespace headway::data {

namespace {

/// What is done with the runs, in the order of the stream.
enum class Purpose { pack, unpack, list };

/// A list of runs as it grows.
class RunList {
  public:
    explicit RunList(std::span<std::span<std::byte>> room) : room_(room) {}

    std::size_t size() const noexcept { return size_; }

    void add(std::uintptr_t address, std::size_t bytes)
    {
        auto* const begin = reinterpret_cast<std::byte*>(address);
        if (is_full_) {
            return;
        }
        if (size_ > 0 && room_[size_ - 1].data() + room_[size_ - 1].size() == begin) {
            room_[size_ - 1] = {room_[size_ - 1].data(), room_[size_ - 1].size() + bytes};
        } else if (size_ < room_.size()) {
            room_[size_++] = {begin, bytes};
        } else {
            is_full_ = true;
        }
    }

  private:
    std::span<std::span<std::byte>> room_;
    std::size_t size_ = 0;
    bool is_full_ = false;  ///< what follows may not grow the last run either
};

template <Purpose purpose>
struct StreamOf {
    using Type = std::byte*;
};
template <>
struct StreamOf<Purpose::unpack> {
    using Type = const std::byte*;
};
template <>
struct StreamOf<Purpose::list> {
    using Type = RunList*;
};

/// Walks over a program and copies between memory and a stream; every step takes the place in the
/// stream and gives back the one behind it. Addresses are integers: an element with absolute
/// addresses has none of its own to count from.
template <Purpose purpose>
class Walk {
  public:
    using Stream = typename StreamOf<purpose>::Type;

    explicit Walk(const ProgramView& program) : program_(program) {}

    void copy_elements(const TypedElements& elements, std::uint64_t from, std::uint64_t to,
                       Stream stream) const;

  private:
    static Stream behind(Stream stream, std::uint64_t bytes)
    {
        if constexpr (purpose == Purpose::list) {
            return stream;
        } else {
            return stream + bytes;
        }
    }

    static Stream copy_bytes(std::uintptr_t address, std::size_t bytes, Stream stream)
    {
        if constexpr (purpose == Purpose::pack) {
            copy_run(stream, reinterpret_cast<const std::byte*>(address), bytes);
        } else if constexpr (purpose == Purpose::unpack) {
            copy_run(reinterpret_cast<std::byte*>(address), stream, bytes);
        } else {
            stream->add(address, bytes);
        }
        return behind(stream, bytes);
    }

    static void copy_runs(const RunLoop& loop, Stream stream)
    {
        if constexpr (purpose == Purpose::pack) {
            pack_runs(loop, stream);
        } else if constexpr (purpose == Purpose::unpack) {
            unpack_runs(loop, stream);
        } else {
            for (std::uint64_t i = 0; i < loop.count; ++i) {
                stream->add(loop.address + i * static_cast<std::uintptr_t>(loop.stride),
                            loop.bytes);
            }
        }
    }

    /// Whether elements of this sequence are copied member by member.
    bool is_record(const TypeNode& node) const;
    Stream copy_records(const TypeNode& record, std::int64_t stride, std::uint64_t count,
                        std::uintptr_t address, Stream stream) const;
    Stream copy_node(const TypeNode& node, std::uintptr_t address, Stream stream) const;
    Stream copy_sequence(const TypeNode& sequence, std::uintptr_t address, Stream stream) const;
    Stream copy_blocks(const TypeNode& list, std::uintptr_t address, Stream stream) const;
    Stream copy_loop(const TypeNode& loop, std::uint64_t first, std::uint64_t last,
                     std::uintptr_t address, Stream stream) const;
    Stream copy_range(const TypeNode& node, std::uintptr_t address, std::uint64_t from,
                      std::uint64_t to, Stream stream) const;
    Stream copy_loop_range(const TypeNode& loop, std::uintptr_t address, std::uint64_t from,
                           std::uint64_t to, Stream stream) const;
    Stream copy_sequence_range(const TypeNode& sequence, std::uintptr_t address, std::uint64_t from,
                               std::uint64_t to, Stream stream) const;

    Stream copy_blocks_range(const TypeNode& list, std::uintptr_t address, std::uint64_t from,
                             std::uint64_t to, Stream stream) const;

    std::span<const TypePart> parts_of(const TypeNode& sequence) const
    {
        return program_.parts.subspan(sequence.first, sequence.count);
    }

    std::span<const TypeBlock> blocks_of(const TypeNode& list) const
    {
        return program_.blocks.subspan(list.first, list.count);
    }

    const ProgramView& program_;
};

/// More parts than a struct has members by rule are better walked one element after the other.
template <Purpose purpose>
bool Walk<purpose>::is_record(const TypeNode& node) const
{
    constexpr std::uint64_t members_max = 16;
    const auto is_run = [&](const TypePart& part) {
        return program_.nodes[part.node].kind == NodeKind::run;
    };
    return node.kind == NodeKind::sequence && node.count <= members_max &&
           std::ranges::all_of(parts_of(node), is_run);
}

/// `count` elements, each a sequence of runs, where it can be by moves of all members in one pass.
/// Else a member of all of them, then the next one, so that the size of the copies is a constant.
/// So many elements at a time that they stay in the cache nearest to the core until their last
/// member was copied.
template <Purpose purpose>
auto Walk<purpose>::copy_records(const TypeNode& record, std::int64_t stride, std::uint64_t count,
                                 std::uintptr_t address, Stream stream) const -> Stream
{
    constexpr std::uint64_t count_worth_moves = 8;
    if (count >= count_worth_moves) {
        if (const auto moves = RecordMoves::find(program_, parts_of(record))) {
            if constexpr (purpose == Purpose::pack) {
                moves->pack(address, stride, stream, record.packed_bytes, count);
            } else {
                moves->unpack(address, stride, stream, record.packed_bytes, count);
            }
            return stream + record.packed_bytes * count;
        }
    }
    constexpr std::uint64_t bytes_at_a_time = 4096;
    const std::uint64_t at_a_time = bytes_at_a_time / record.packed_bytes + 1;
    while (count > 0) {
        const std::uint64_t now = std::min(count, at_a_time);
        for (const TypePart& part : parts_of(record)) {
            copy_runs(
                {program_.nodes[part.node].packed_bytes, now,
                 address + static_cast<std::uintptr_t>(part.offset), stride, record.packed_bytes},
                stream + part.packed_before);
        }
        address += now * static_cast<std::uintptr_t>(stride);
        stream += record.packed_bytes * now;
        count -= now;
    }
    return stream;
}

template <Purpose purpose>
auto Walk<purpose>::copy_node(const TypeNode& node, std::uintptr_t address, Stream stream) const
    -> Stream
{
    if (node.kind == NodeKind::run) {
        return copy_bytes(address, node.packed_bytes, stream);
    }
    if (node.kind == NodeKind::blocks) {
        return copy_blocks(node, address, stream);
    }
    return node.kind == NodeKind::loop ? copy_loop(node, 0, node.count, address, stream)
                                       : copy_sequence(node, address, stream);
}

template <Purpose purpose>
auto Walk<purpose>::copy_blocks(const TypeNode& list, std::uintptr_t address, Stream stream) const
    -> Stream
{
    for (const TypeBlock block : blocks_of(list)) {
        stream = copy_bytes(address + static_cast<std::uintptr_t>(std::int64_t{block.offset}),
                            block.bytes, stream);
    }
    return stream;
}

template <Purpose purpose>
auto Walk<purpose>::copy_sequence(const TypeNode& sequence, std::uintptr_t address,
                                  Stream stream) const -> Stream
{
    for (const TypePart& part : parts_of(sequence)) {
        const TypeNode& node = program_.nodes[part.node];
        const std::uintptr_t place = address + static_cast<std::uintptr_t>(part.offset);
        stream = node.kind == NodeKind::run ? copy_bytes(place, node.packed_bytes, stream)
                                            : copy_node(node, place, stream);
    }
    return stream;
}

/// Repetitions [first, last) of a loop.
template <Purpose purpose>
auto Walk<purpose>::copy_loop(const TypeNode& loop, std::uint64_t first, std::uint64_t last,
                              std::uintptr_t address, Stream stream) const -> Stream
{
    const TypeNode& child = program_.nodes[loop.first];
    const std::uint64_t count = last - first;
    address += first * static_cast<std::uintptr_t>(loop.stride);
    if (child.kind == NodeKind::run) {
        copy_runs({child.packed_bytes, count, address, loop.stride, child.packed_bytes}, stream);
        return behind(stream, child.packed_bytes * count);
    }
    if constexpr (purpose != Purpose::list) {  // members after elements: not the stream's order
        if (is_record(child)) {
            return copy_records(child, loop.stride, count, address, stream);
        }
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        stream = copy_node(child, address, stream);
        address += static_cast<std::uintptr_t>(loop.stride);
    }
    return stream;
}

/// Bytes [from, to) of a node; requires from < to.
template <Purpose purpose>
auto Walk<purpose>::copy_range(const TypeNode& node, std::uintptr_t address, std::uint64_t from,
                               std::uint64_t to, Stream stream) const -> Stream
{
    if (from == 0 && to == node.packed_bytes) {
        return copy_node(node, address, stream);
    }
    if (node.kind == NodeKind::run) {
        return copy_bytes(address + from, to - from, stream);
    }
    if (node.kind == NodeKind::blocks) {
        return copy_blocks_range(node, address, from, to, stream);
    }
    return node.kind == NodeKind::loop ? copy_loop_range(node, address, from, to, stream)
                                       : copy_sequence_range(node, address, from, to, stream);
}

template <Purpose purpose>
auto Walk<purpose>::copy_loop_range(const TypeNode& loop, std::uintptr_t address,
                                    std::uint64_t from, std::uint64_t to, Stream stream) const
    -> Stream
{
    const TypeNode& child = program_.nodes[loop.first];
    const std::uint64_t unit = child.packed_bytes;
    std::uint64_t index = from / unit;
    const std::uint64_t last = to / unit;
    const auto at = [&](std::uint64_t i) {
        return address + i * static_cast<std::uintptr_t>(loop.stride);
    };
    if (const std::uint64_t begin = from % unit; begin != 0) {
        stream = copy_range(child, at(index), begin, index == last ? to % unit : unit, stream);
        if (index == last) {
            return stream;
        }
        ++index;
    }
    stream = copy_loop(loop, index, last, address, stream);
    const std::uint64_t end = to % unit;
    return end != 0 ? copy_range(child, at(last), 0, end, stream) : stream;
}

template <Purpose purpose>
auto Walk<purpose>::copy_sequence_range(const TypeNode& sequence, std::uintptr_t address,
                                        std::uint64_t from, std::uint64_t to, Stream stream) const
    -> Stream
{
    const auto parts = parts_of(sequence);
    // The last part that begins at or before `from`; the first part begins at 0.
    auto part = std::upper_bound(parts.begin(), parts.end(), from,
                                 [](std::uint64_t offset, const TypePart& each) {
                                     return offset < each.packed_before;
                                 }) -
                1;
    for (; part != parts.end() && part->packed_before < to; ++part) {
        const TypeNode& node = program_.nodes[part->node];
        const std::uint64_t begin = std::max(from, part->packed_before) - part->packed_before;
        const std::uint64_t end = std::min(to - part->packed_before, node.packed_bytes);
        stream = copy_range(node, address + static_cast<std::uintptr_t>(part->offset), begin, end,
                            stream);
    }
    return stream;
}

template <Purpose purpose>
auto Walk<purpose>::copy_blocks_range(const TypeNode& list, std::uintptr_t address,
                                      std::uint64_t from, std::uint64_t to, Stream stream) const
    -> Stream
{
    const auto blocks = blocks_of(list);
    const auto marks = program_.marks.subspan(list.first / blocks_per_mark,
                                              (list.count - 1) / blocks_per_mark + 1);
    // The last mark at or before `from`; the first one is 0.
    const auto mark = std::upper_bound(marks.begin(), marks.end(), from) - 1;
    std::uint64_t before = *mark;
    auto index = static_cast<std::size_t>(mark - marks.begin()) * blocks_per_mark;
    for (; before < to; before += blocks[index].bytes, ++index) {
        const TypeBlock block = blocks[index];
        const std::uint64_t begin = std::max(from, before) - before;
        const std::uint64_t end = std::min<std::uint64_t>(to - before, block.bytes);
        if (begin < end) {
            stream = copy_bytes(
                address + static_cast<std::uintptr_t>(std::int64_t{block.offset}) + begin,
                end - begin, stream);
        }
    }
    return stream;
}

/// The elements are one more loop around the root, which no program holds: its count is the call's.
template <Purpose purpose>
void Walk<purpose>::copy_elements(const TypedElements& elements, std::uint64_t from,
                                  std::uint64_t to, Stream stream) const
{
    const TypeNode& root = program_.root();
    const auto address = reinterpret_cast<std::uintptr_t>(elements.address) +
                         static_cast<std::uintptr_t>(program_.origin);
    const bool is_dense = root.kind == NodeKind::run &&
                          elements.extent == static_cast<std::int64_t>(root.packed_bytes);
    if (is_dense) {
        copy_bytes(address + from, to - from, stream);
        return;
    }
    const std::uint64_t count = (to - 1) / root.packed_bytes + 1;
    const auto index = static_cast<std::uint32_t>(program_.nodes.size() - 1);
    const TypeNode all{root.packed_bytes * count, count, elements.extent, NodeKind::loop, index};
    copy_range(all, address, from, to, stream);
}

}  // namespace

void pack(const TypedElements& elements, std::uint64_t from, std::uint64_t to, std::byte* packed)
{
    if (from < to) {
        Walk<Purpose::pack>(elements.program).copy_elements(elements, from, to, packed);
    }
}

void unpack(const TypedElements& elements, std::uint64_t from, std::uint64_t to,
            const std::byte* packed)
{
    if (from < to) {
        Walk<Purpose::unpack>(elements.program).copy_elements(elements, from, to, packed);
    }
}

std::size_t list_runs(const TypedElements& elements, std::uint64_t from, std::uint64_t to,
                      std::span<std::span<std::byte>> room)
{
    RunList list(room);
    if (from < to) {
        Walk<Purpose::list>(elements.program).copy_elements(elements, from, to, &list);
    }
    return list.size();
}

}  // namespace headway::data

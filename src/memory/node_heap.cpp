// SPDX-License-Identifier: Apache-2.0
//
// Layout of the region: Header | a RankHeap for each rank | a UnitInfo for each unit | (rounded up
// to a unit) units. The unit table covers the whole region, so that a unit's index is its place.
#include "memory/node_heap.hpp"

#include <cstring>
#include <new>
#include <utility>

extern "C" {
// Defined where the process runs under ThreadSanitizer, whether or not we are instrumented.
[[gnu::weak]] void __tsan_init();
}

namespace headway::memory {
namespace {

constexpr std::uint64_t heap_magic = 0x4865'6164'7761'7931;

// The first fits ThreadSanitizer, the second AddressSanitizer; the others are for processes in
// which something else lies there, and for several heaps in one process.
constexpr std::uintptr_t candidates[NodeHeap::candidate_count] = {
    0x10'0000'0000, 0x2000'0000'0000, 0x20'0000'0000, 0x2800'0000'0000,
    0x30'0000'0000, 0x3000'0000'0000, 0x40'0000'0000, 0x4000'0000'0000,
};

// ThreadSanitizer ends the process if it maps memory at an address that it does not watch; it
// watches the first 512 GiB.
constexpr std::uintptr_t thread_sanitizer_end = 0x80'0000'0000;

bool may_be_tried(std::uintptr_t address, std::uint64_t size_bytes) noexcept
{
    return &__tsan_init == nullptr || address + size_bytes <= thread_sanitizer_end;
}

constexpr std::uint64_t hash_of(std::string_view text, std::uint64_t seed) noexcept
{
    std::uint64_t hash = seed;
    for (const char letter : text) {
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100'0000'01B3;
    }
    return hash;
}

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t granule) noexcept
{
    return (value + granule - 1) / granule * granule;
}

}  // namespace

struct NodeHeap::Header {
    static constexpr std::size_t version_bytes = 112;

    // Written by the creator before the path is published, read by all. The first three have the
    // same place in all versions.
    std::uint64_t magic;
    std::uint64_t version_hash;
    char version[version_bytes];  ///< for messages; cut where it is longer
    std::uint64_t address;
    std::uint64_t size_bytes;
    std::uint32_t rank_count;
    HeapKind kind;
    // Written by the creator before announce_ready(), read by all after it.
    std::uint64_t roots[root_count];
    // Written once by the creator; a futex.
    std::atomic<std::uint32_t> ready;
    PageRuns runs;

    /// The version and the shapes that both sides must agree on.
    static std::uint64_t hash(std::string_view version) noexcept
    {
        return hash_of(version, 0xCBF2'9CE4'8422'2325 ^ (sizeof(Header) << 40) ^
                                    (sizeof(RankHeap) << 20) ^ sizeof(UnitInfo));
    }
    static constexpr std::uint64_t ranks_offset() noexcept
    {
        return round_up(sizeof(Header), platform::cache_line_bytes);
    }
    static constexpr std::uint64_t table_offset(std::uint32_t ranks) noexcept
    {
        return ranks_offset() + std::uint64_t{ranks} * sizeof(RankHeap);
    }
    static constexpr std::uint64_t first_unit(std::uint32_t ranks, std::uint64_t bytes) noexcept
    {
        const std::uint64_t table_bytes = (bytes >> unit_shift) * sizeof(UnitInfo);
        return (table_offset(ranks) + table_bytes + unit_bytes - 1) >> unit_shift;
    }
};

std::uintptr_t NodeHeap::candidate_address(unsigned candidate) noexcept
{
    return candidate < candidate_count ? candidates[candidate] : 0;
}

std::uint32_t NodeHeap::candidate_mask(std::uint64_t size_bytes) noexcept
{
    std::uint32_t mask = 0;
    for (unsigned each = 0; each < candidate_count; ++each) {
        if (may_be_tried(candidates[each], size_bytes) &&
            platform::Mapping::is_free_at(candidates[each], size_bytes)) {
            mask |= 1U << each;
        }
    }
    return mask;
}

NodeHeap::NodeHeap(platform::SharedFile file, platform::Mapping mapping) noexcept
    : file_(std::move(file)), mapping_(std::move(mapping))
{
}

NodeHeap::Header* NodeHeap::header() const noexcept
{
    return static_cast<Header*>(mapping_.base());
}

void NodeHeap::make_allocators()
{
    Header* const head = header();
    auto* const ranks = reinterpret_cast<RankHeap*>(static_cast<std::byte*>(mapping_.base()) +
                                                    Header::ranks_offset());
    const CommitRule rule{file_.fd(), head->kind == HeapKind::shm};
    allocators_.reserve(head->rank_count);
    for (std::uint32_t rank = 0; rank < head->rank_count; ++rank) {
        allocators_.emplace_back(ranks, rank, &head->runs, rule);
    }
    stranger_ = std::make_unique<Allocator>(Allocator::for_stranger(ranks, &head->runs, rule));
}

base::Result<std::unique_ptr<NodeHeap>> NodeHeap::create(const HeapOptions& options)
{
    const std::uint64_t size_bytes = round_up(options.size_bytes, unit_bytes);
    const std::uint64_t first_unit = Header::first_unit(options.rank_count, size_bytes);
    const std::uint64_t unit_count = size_bytes >> unit_shift;
    const std::uintptr_t address = candidate_address(options.candidate);
    if (address == 0 || !may_be_tried(address, size_bytes)) {
        return base::Failure{
            "none of the addresses for the shared memory of the node is free in "
            "all its processes; ask for less shared memory"};
    }
    if (options.rank_count == 0 || first_unit >= unit_count || unit_count > UINT32_MAX) {
        return base::Failure{"a node heap of " + std::to_string(options.size_bytes) +
                             " bytes cannot serve " + std::to_string(options.rank_count) +
                             " ranks; ask for 64 MiB to 16 GiB"};
    }
    const std::string name(options.name);
    auto file = options.kind == HeapKind::memfd
                    ? platform::SharedFile::create_memfd(name, size_bytes)
                    : platform::SharedFile::create_shm(name, options.family, size_bytes);
    if (!file) {
        return base::Failure{file.sentence()};
    }
    const std::uint64_t table_offset = Header::table_offset(options.rank_count);
    const std::uint64_t start_bytes = table_offset + first_unit * sizeof(UnitInfo);
    if (options.kind == HeapKind::shm &&
        !platform::commit_range(file.value().fd(), 0, start_bytes)) {
        return base::Failure{
            "/dev/shm is full; free some of it, give the container more "
            "(docker: --shm-size), or leave HEADWAY_NODE_HEAP unset to do without it"};
    }
    auto mapping = platform::Mapping::map_at(file.value(), address);
    if (!mapping) {
        return base::Failure{mapping.sentence()};
    }
    std::unique_ptr<NodeHeap> heap(
        new NodeHeap(std::move(file.value()), std::move(mapping.value())));
    auto* const base = reinterpret_cast<std::byte*>(address);
    Header* const head = heap->header();
    head->address = address;
    head->size_bytes = size_bytes;
    head->rank_count = options.rank_count;
    head->kind = options.kind;
    head->version_hash = Header::hash(options.version);
    options.version.copy(head->version, sizeof head->version);
    head->runs.open(base, reinterpret_cast<UnitInfo*>(base + table_offset),
                    static_cast<std::uint32_t>(first_unit), static_cast<std::uint32_t>(unit_count));
    head->magic = heap_magic;
    heap->make_allocators();
    return heap;
}

base::Result<std::unique_ptr<NodeHeap>> NodeHeap::attach(const std::string& path,
                                                         std::uintptr_t address,
                                                         std::string_view version)
{
    auto file = platform::SharedFile::open(path);
    if (!file) {
        return base::Failure{file.sentence()};
    }
    return attach_file(std::move(file.value()), address, version);
}

base::Result<std::unique_ptr<NodeHeap>> NodeHeap::attach_descriptor(int fd, std::uintptr_t address,
                                                                    std::string_view version)
{
    auto file = platform::SharedFile::adopt(fd, "the descriptor " + std::to_string(fd));
    if (!file) {
        return base::Failure{file.sentence()};
    }
    return attach_file(std::move(file.value()), address, version);
}

base::Result<std::unique_ptr<NodeHeap>> NodeHeap::attach_file(platform::SharedFile file,
                                                              std::uintptr_t address,
                                                              std::string_view version)
{
    const std::string no_heap =
        file.path() + " is not the shared memory of a node; the launcher's data are damaged";
    if (file.size_bytes() < unit_bytes) {
        return base::Failure{no_heap};
    }
    auto mapping = platform::Mapping::map_at(file, address);
    if (!mapping) {
        return base::Failure{mapping.sentence()};
    }
    std::unique_ptr<NodeHeap> heap(new NodeHeap(std::move(file), std::move(mapping.value())));
    const Header* const head = heap->header();
    if (head->magic != heap_magic) {
        return base::Failure{no_heap};
    }
    if (head->version_hash != Header::hash(version)) {
        const std::string theirs(head->version, ::strnlen(head->version, sizeof head->version));
        return base::Failure{"this rank runs with the library '" + std::string(version) +
                             "', the rank that made the shared memory of the node with another "
                             "build, '" +
                             theirs +
                             "'; set the library path (LD_LIBRARY_PATH) to one of them for all "
                             "ranks"};
    }
    if (head->address != address || head->size_bytes != heap->size_bytes()) {
        return base::Failure{no_heap};
    }
    heap->make_allocators();
    return heap;
}

HeapKind NodeHeap::kind() const noexcept
{
    return header()->kind;
}

void NodeHeap::announce_ready() noexcept
{
    // (1) release, pairs with (2): roots and everything behind them.
    header()->ready.store(1, std::memory_order_release);
    platform::futex_wake(header()->ready);
}

bool NodeHeap::wait_ready(platform::Deadline deadline) const noexcept
{
    const std::atomic<std::uint32_t>& ready = header()->ready;
    // (2) acquire, pairs with (1).
    while (ready.load(std::memory_order_acquire) == 0) {
        if (platform::futex_wait(ready, 0, deadline) == platform::FutexWait::timed_out) {
            return ready.load(std::memory_order_acquire) != 0;  // as (2)
        }
    }
    return true;
}

void NodeHeap::set_root(unsigned index, void* address) noexcept
{
    header()->roots[index] = reinterpret_cast<std::uintptr_t>(address);
}

void* NodeHeap::root(unsigned index) const noexcept
{
    return reinterpret_cast<void*>(header()->roots[index]);
}

HeapStatistics NodeHeap::statistics() const noexcept
{
    HeapStatistics statistics{};
    for (const Allocator& each : allocators_) {
        statistics.slab_bytes_in_use += each.slab_bytes_in_use();
    }
    statistics.bytes_reserved = header()->runs.bytes_in_use();
    statistics.bytes_reserved_high = header()->runs.bytes_in_use_high();
    return statistics;
}

PageRuns& NodeHeap::runs() noexcept
{
    return header()->runs;
}

std::int32_t NodeHeap::lock_holder() const noexcept
{
    return header()->runs.lock_holder();
}

}  // namespace headway::memory

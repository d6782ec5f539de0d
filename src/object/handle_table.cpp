// SPDX-License-Identifier: Apache-2.0
#include "object/handle_table.hpp"

#include <cassert>
#include <complex>
#include <initializer_list>

namespace headway::object {

namespace {

struct TypeSize {
    HandleBits bits;
    std::size_t size_bytes;
};

/// Types named after C, C++ and Fortran types: their size is the platform's.
constexpr std::initializer_list<TypeSize> platform_types = {
    {0x201, sizeof(MPI_Aint)},                   // MPI_AINT
    {0x202, sizeof(MPI_Count)},                  // MPI_COUNT
    {0x203, sizeof(MPI_Offset)},                 // MPI_OFFSET
    {0x207, 1},                                  // MPI_PACKED
    {0x208, sizeof(short)},                      // MPI_SHORT
    {0x209, sizeof(int)},                        // MPI_INT
    {0x20a, sizeof(long)},                       // MPI_LONG
    {0x20b, sizeof(long long)},                  // MPI_LONG_LONG_INT
    {0x20c, sizeof(short)},                      // MPI_UNSIGNED_SHORT
    {0x20d, sizeof(int)},                        // MPI_UNSIGNED
    {0x20e, sizeof(long)},                       // MPI_UNSIGNED_LONG
    {0x20f, sizeof(long long)},                  // MPI_UNSIGNED_LONG_LONG
    {0x210, sizeof(float)},                      // MPI_FLOAT
    {0x212, 2 * sizeof(float)},                  // MPI_C_COMPLEX
    {0x213, sizeof(std::complex<float>)},        // MPI_CXX_FLOAT_COMPLEX
    {0x214, sizeof(double)},                     // MPI_DOUBLE
    {0x216, 2 * sizeof(double)},                 // MPI_C_DOUBLE_COMPLEX
    {0x217, sizeof(std::complex<double>)},       // MPI_CXX_DOUBLE_COMPLEX
    {0x218, 4},                                  // MPI_LOGICAL
    {0x219, 4},                                  // MPI_INTEGER
    {0x21a, 4},                                  // MPI_REAL
    {0x21b, 8},                                  // MPI_COMPLEX
    {0x21c, 8},                                  // MPI_DOUBLE_PRECISION
    {0x21d, 16},                                 // MPI_DOUBLE_COMPLEX
    {0x21e, 1},                                  // MPI_CHARACTER
    {0x220, sizeof(long double)},                // MPI_LONG_DOUBLE
    {0x224, 2 * sizeof(long double)},            // MPI_C_LONG_DOUBLE_COMPLEX
    {0x225, sizeof(std::complex<long double>)},  // MPI_CXX_LONG_DOUBLE_COMPLEX
    // Pairs: bytes of data, not the extent of the struct.
    {0x228, sizeof(float) + sizeof(int)},        // MPI_FLOAT_INT
    {0x229, sizeof(double) + sizeof(int)},       // MPI_DOUBLE_INT
    {0x22a, sizeof(long) + sizeof(int)},         // MPI_LONG_INT
    {0x22b, 2 * sizeof(int)},                    // MPI_2INT
    {0x22c, sizeof(short) + sizeof(int)},        // MPI_SHORT_INT
    {0x22d, sizeof(long double) + sizeof(int)},  // MPI_LONG_DOUBLE_INT
    {0x230, 8},                                  // MPI_2REAL
    {0x231, 16},                                 // MPI_2DOUBLE_PRECISION
    {0x232, 8},                                  // MPI_2INTEGER
    {0x238, sizeof(bool)},                       // MPI_C_BOOL
    {0x239, sizeof(bool)},                       // MPI_CXX_BOOL
    {0x23c, sizeof(wchar_t)},                    // MPI_WCHAR
};

/// Fixed-size handles of the standard; the size is in their bits.
constexpr std::initializer_list<HandleBits> fixed_types = {
    0x240, 0x241, 0x243, 0x244, 0x245, 0x247,  // one byte
    0x248, 0x249,                              // two
    0x250, 0x251,                              // four
    0x258, 0x259,                              // eight
    0x2c0, 0x2c1,                              // LOGICAL1, INTEGER1
    0x2c8, 0x2c9,                              // LOGICAL2, INTEGER2
    0x2d0, 0x2d1, 0x2d2,                       // LOGICAL4, INTEGER4, REAL4
    0x2d8, 0x2d9, 0x2da, 0x2db,                // LOGICAL8, INTEGER8, REAL8, COMPLEX8
    0x2e1, 0x2e2, 0x2e3,                       // INTEGER16, REAL16, COMPLEX16
    0x2e0, 0x2eb,                              // LOGICAL16, COMPLEX32
};

/// Of those, the ones this platform's compilers have no type for.
constexpr std::initializer_list<HandleBits> missing_types = {
    0x2ca,  // MPI_REAL2
    0x2d3,  // MPI_COMPLEX4
};

constexpr DatatypeSizes make_sizes()
{
    DatatypeSizes sizes{};
    for (const TypeSize& type : platform_types) {
        sizes[type.bits - datatype_first] = static_cast<std::int16_t>(type.size_bytes);
    }
    for (const HandleBits bits : fixed_types) {
        sizes[bits - datatype_first] = static_cast<std::int16_t>(1U << ((bits >> 3U) & 7U));
    }
    for (const HandleBits bits : missing_types) {
        sizes[bits - datatype_first] = datatype_not_here;
    }
    return sizes;
}

}  // namespace

constexpr DatatypeSizes predefined_sizes = make_sizes();

HandleTable::HandleTable(std::span<std::byte> range) noexcept
    : slots_(reinterpret_cast<Slot*>(range.data())),
      base_(reinterpret_cast<HandleBits>(range.data())),
      size_bytes_(range.size() / (slot_bytes * slots_per_block) * slot_bytes * slots_per_block)
{
    assert(base_ % slot_bytes == 0 && base_ >= predefined_limit);
    assert(size_bytes_ <= (std::size_t{1} << 31U) - predefined_limit);
}

std::uint32_t HandleTable::take_block() noexcept
{
    const auto block_count =
        static_cast<std::uint32_t>(size_bytes_ / (slot_bytes * slots_per_block));
    // relaxed: only the number is shared; a block's memory belongs to its taker from the start.
    std::uint32_t taken = blocks_taken_.load(std::memory_order_relaxed);
    do {
        if (taken >= block_count) {
            return no_block;
        }
        // relaxed: as above.
    } while (!blocks_taken_.compare_exchange_weak(taken, taken + 1, std::memory_order_relaxed));
    return taken * static_cast<std::uint32_t>(slots_per_block);
}

HandlePool::HandlePool(HandleTable& table, std::uint32_t quarantine, bool is_shared) noexcept
    : table_(table), mode_(is_shared ? shared : 0), quarantine_(quarantine)
{
}

namespace {

constexpr int looks_at_lock = 200;

}  // namespace

void HandlePool::share() noexcept
{
    if ((mode_ & shared) == 0) {
        lock_.belong_to(platform::RealAtomics::self(), 0, platform::join_thread_barriers());
        mode_ |= shared;
    }
}

void HandlePool::wait_for_turn() noexcept
{
    // It is held for the time of a few loads and stores: to sleep costs both threads far more.
    for (int look = 0; look < looks_at_lock; ++look) {
        if (lock_.try_lock()) {
            return;
        }
    }
    lock_.wait_and_lock();
}

std::uint32_t HandlePool::take_oldest_freed() noexcept
{
    const std::uint32_t index = oldest_freed_;
    oldest_freed_ = table_.slots_[index].next_freed;
    --freed_count_;
    return index;
}

std::uint32_t HandlePool::take_slot() noexcept
{
    if (freed_count_ > quarantine_) {
        return take_oldest_freed();
    }
    if (fresh_ == fresh_end_) {
        const std::uint32_t first = table_.take_block();
        if (first == HandleTable::no_block) {
            // The range is full: a shorter quarantine is better than a refusal.
            return freed_count_ > 0 ? take_oldest_freed() : HandleTable::no_block;
        }
        fresh_ = first;
        fresh_end_ = first + static_cast<std::uint32_t>(slots_per_block);
    }
    return fresh_++;
}

HandleBits HandlePool::make_guarded(Kind kind, void* object) noexcept
{
    const Guard guard(*this);
    const HandleBits bits = make(kind, object);
    if ((mode_ & tracked) != 0 && bits != 0) [[unlikely]] {
        note_origin(bits);
    }
    return bits;
}

void HandlePool::note_origin(HandleBits bits) noexcept
{
    made_by_[static_cast<std::uint32_t>((bits - table_.base_) / slot_bytes)] =
        platform::capture_frames();
}

std::vector<HandlePool::Origin> HandlePool::origins() const
{
    std::vector<Origin> found;
    for (const auto& [index, frames] : made_by_) {
        const Slot& slot = table_.slots_[index];
        // Relaxed, as in release(): the pool's own threads.
        const std::uint32_t key = slot.key.load(std::memory_order_relaxed);
        if (key != 0) {
            found.push_back({static_cast<Kind>(key >> 8U),
                             reinterpret_cast<HandleBits>(&slot) | (key & generation_mask),
                             &frames});
        }
    }
    return found;
}

HandleBits HandlePool::make(Kind kind, void* object) noexcept
{
    assert(object != nullptr && kind != Kind::none);
    const std::uint32_t index = take_slot();
    if (index == HandleTable::no_block) {
        return 0;
    }
    Slot& slot = table_.slots_[index];
    const HandleBits bits =
        reinterpret_cast<HandleBits>(&slot) | (slot.generation & generation_mask);
    // relaxed: the key publishes it.
    slot.object.store(object, std::memory_order_relaxed);
    // (2) release, pairs with (1).
    slot.key.store(HandleTable::key_of(kind, bits), std::memory_order_release);
    ++live_count_;
    return bits;
}

inline bool HandlePool::take_back(Kind kind, HandleBits bits) noexcept
{
    if (table_.find(kind, bits) == nullptr) {
        return false;
    }
    const auto index = static_cast<std::uint32_t>((bits - table_.base_) / slot_bytes);
    Slot& slot = table_.slots_[index];
    // relaxed: nothing is published. A thread that uses the handle at this moment breaks the rules
    // of MPI; it finds the old object or null, for the quarantine keeps other objects out.
    slot.key.store(0, std::memory_order_relaxed);
    // relaxed: as above.
    slot.object.store(nullptr, std::memory_order_relaxed);
    ++slot.generation;
    if (freed_count_++ == 0) {
        oldest_freed_ = index;
    } else {
        table_.slots_[newest_freed_].next_freed = index;
    }
    newest_freed_ = index;
    --live_count_;
    return true;
}

bool HandlePool::release(Kind kind, HandleBits bits) noexcept
{
    if (mode_ == 0) [[likely]] {
        return take_back(kind, bits);
    }
    const Guard guard(*this);
    return take_back(kind, bits);
}

void HandlePool::release_all(Kind kind, std::span<const HandleBits> all) noexcept
{
    const Guard guard(*this);
    for (const HandleBits bits : all) {
        (void)take_back(kind, bits);
    }
}

}  // namespace headway::object

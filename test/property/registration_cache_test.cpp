// SPDX-License-Identifier: Apache-2.0
//
// Random programs that register and change memory, beside a simple model of the cache. What stands
// for a network's hardware is a pipe that holds the pages themselves (vmsplice): it goes on to show
// them when other pages have taken their place, so a region that was kept too long shows.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "platform/cpu.hpp"
#include "transport/ofi/registration_cache.hpp"

namespace headway::transport::ofi {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t pages = 24;

/// Pages that stay what they are; 15 of them fit, wherever they begin.
class PinnedPages {
  public:
    PinnedPages(const void* address, std::size_t bytes) : bytes_(bytes)
    {
        // As hardware does that may write to them: each page is the process's own.
        auto* const first = static_cast<volatile char*>(const_cast<void*>(address));
        for (std::size_t i = 0; i < bytes; i += page) {
            first[i] = first[i];
        }
        first[bytes - 1] = first[bytes - 1];
        iovec all{const_cast<void*>(address), bytes};
        const bool is_held =
            ::pipe(ends_.data()) == 0 &&
            ::vmsplice(ends_[1], &all, 1, SPLICE_F_NONBLOCK) == static_cast<ssize_t>(bytes);
        EXPECT_TRUE(is_held);
    }
    ~PinnedPages()
    {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    PinnedPages(const PinnedPages&) = delete;
    PinnedPages& operator=(const PinnedPages&) = delete;

    std::vector<char> bytes() const
    {
        std::array<int, 2> copy{};
        std::vector<char> found(bytes_);
        const bool is_copied =
            ::pipe(copy.data()) == 0 &&
            ::tee(ends_[0], copy[1], bytes_, SPLICE_F_NONBLOCK) == static_cast<ssize_t>(bytes_) &&
            ::read(copy[0], found.data(), bytes_) == static_cast<ssize_t>(bytes_);
        EXPECT_TRUE(is_copied);
        ::close(copy[0]);
        ::close(copy[1]);
        return found;
    }

  private:
    std::size_t bytes_;
    std::array<int, 2> ends_{};
};

class PinningRegistrar final : public Registrar {
  public:
    void* open(const void* address, std::size_t bytes, std::uint64_t access) noexcept override
    {
        (void)access;
        if (refusals != 0) {
            --refusals;
            return nullptr;
        }
        ++opened;
        return new PinnedPages(address, bytes);
    }
    void close(void* memory) noexcept override
    {
        --opened;
        delete static_cast<PinnedPages*>(memory);
    }

    std::size_t opened = 0;
    std::uint32_t refusals = 0;  ///< of what is asked for next
};

/// Memory between pages that may not be touched, so that its mappings are its own.
class Area {
  public:
    Area()
    {
        base_ = static_cast<char*>(
            ::mmap(nullptr, (pages + 2) * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        EXPECT_NE(base_, MAP_FAILED);
        map(0, pages);
    }
    ~Area() { ::munmap(base_, (pages + 2) * page); }
    Area(const Area&) = delete;
    Area& operator=(const Area&) = delete;

    char* at(std::size_t offset) const { return base_ + page + offset; }
    /// New pages, with new contents.
    void map(std::size_t first, std::size_t count)
    {
        EXPECT_NE(::mmap(at(first * page), count * page, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                  MAP_FAILED);
        fill(first, count);
    }
    void fill(std::size_t first, std::size_t count)
    {
        for (std::size_t i = first; i < first + count; ++i) {
            std::memset(at(i * page), ++contents_, page);
        }
    }

  private:
    char* base_;
    unsigned char contents_ = 0;
};

enum class Kind : std::uint8_t { acquire, release, unmap, replace, move, empty, write, refuse };

struct Step {
    Kind kind;
    std::size_t first;   ///< byte of a region, or page of a change
    std::size_t length;  ///< likewise
    std::size_t pick;    ///< which region is released, how much is refused, which access
};

struct Program {
    std::vector<Step> steps;
    RegistrationCache::Limits limits;
    bool is_watched;
};

rc::Gen<Program> any_program()
{
    const auto kind = rc::gen::weightedElement<Kind>({{10, Kind::acquire},
                                                      {8, Kind::release},
                                                      {1, Kind::unmap},
                                                      {1, Kind::replace},
                                                      {1, Kind::move},
                                                      {1, Kind::empty},
                                                      {2, Kind::write},
                                                      {1, Kind::refuse}});
    // Few places, so that the same memory is used again.
    const auto place = rc::gen::element<std::size_t>(0, 1, 100, 1 * page, 3 * page - 1, 5 * page,
                                                     8 * page + 7, 9 * page);
    const auto length = rc::gen::element<std::size_t>(1, 50, page - 1, 1 * page, page + 1, 4 * page,
                                                      7 * page + 5, 15 * page);
    const auto step =
        rc::gen::construct<Step>(kind, place, length, rc::gen::arbitrary<std::size_t>());
    const auto limits = rc::gen::construct<RegistrationCache::Limits>(
        rc::gen::element<std::uint64_t>(0, 1, 2, 5, 40),
        rc::gen::element<std::uint64_t>(1 * page, 10 * page, 40 * page, 1000 * page));
    // Not shrunk by size: a program of some hundred steps is the point.
    return rc::gen::construct<Program>(rc::gen::container<std::vector<Step>>(300, step), limits,
                                       rc::gen::weightedElement<bool>({{4, true}, {1, false}}));
}

/// What the cache must have, by lists.
class Model {
  public:
    struct Region {
        platform::MemoryRange range;
        std::uint64_t access = 0;
        int uses = 0;
        bool is_kept = false;
    };
    using Name = std::list<Region>::iterator;

    Model(const RegistrationCache::Limits& limits, bool keeps)
        : limits_(limits), keeps_(keeps && limits.entries != 0)
    {
    }

    /// False: refused.
    bool acquire(const platform::MemoryRange& range, std::uint64_t access, std::uint32_t refusals,
                 Name* name)
    {
        for (auto region = regions.rbegin(); region != regions.rend(); ++region) {
            if (region->is_kept && region->access == access && region->range.covers(range)) {
                ++counts.hits;
                ++region->uses;
                regions.splice(regions.end(), regions, std::prev(region.base()));
                *name = std::prev(regions.end());
                return true;
            }
        }
        ++counts.misses;
        const std::uint64_t bytes = range.end - range.begin;
        if (refusals != 0) {
            const std::size_t dropped =
                drop_unused([](const Region&) { return true; }, regions.size());
            counts.evictions += dropped;
            if (dropped == 0 || refusals > 1) {
                return false;
            }
        }
        bool is_kept = keeps_ && bytes <= limits_.bytes;
        if (is_kept) {
            drop_unused(
                [&](const Region& other) {
                    return other.access == access && range.covers(other.range);
                },
                regions.size());
            while (!has_room(bytes) && drop_unused([](const Region&) { return true; }, 1) != 0) {
                ++counts.evictions;
            }
            is_kept = has_room(bytes);
        }
        regions.push_back({range, access, 1, is_kept});
        *name = std::prev(regions.end());
        return true;
    }
    void release(Name name)
    {
        if (--name->uses == 0 && !name->is_kept) {
            regions.erase(name);
        }
    }
    void change(const platform::MemoryRange& changed)
    {
        for (auto region = regions.begin(); region != regions.end();) {
            const bool is_lost = region->is_kept && region->range.overlaps(changed);
            counts.invalidations += is_lost ? 1 : 0;
            region->is_kept = region->is_kept && !is_lost;
            region = is_lost && region->uses == 0 ? regions.erase(region) : std::next(region);
        }
    }

    std::list<Region> regions;  ///< the one used last is the last
    RegionCounts counts;

  private:
    bool has_room(std::uint64_t bytes) const
    {
        std::uint64_t kept = 0;
        std::uint64_t kept_bytes = 0;
        for (const Region& region : regions) {
            kept += region.is_kept ? 1 : 0;
            kept_bytes += region.is_kept ? region.range.end - region.range.begin : 0;
        }
        return kept < limits_.entries && kept_bytes + bytes <= limits_.bytes;
    }
    template <typename Condition>
    std::size_t drop_unused(Condition&& condition, std::size_t most)
    {
        std::size_t dropped = 0;
        for (auto region = regions.begin(); region != regions.end() && dropped < most;) {
            if (region->uses == 0 && condition(*region)) {
                region = regions.erase(region);
                ++dropped;
            } else {
                ++region;
            }
        }
        return dropped;
    }

    RegistrationCache::Limits limits_;
    bool keeps_;
};

/// A cache and its model, and who uses both.
class Bench {
  public:
    Bench(platform::MemoryWatch* watch, const RegistrationCache::Limits& limits)
        : watch_(watch), cache_(registrar_, watch, limits), model_(limits, watch != nullptr)
    {
    }
    ~Bench()
    {
        while (!users_.empty()) {
            release(0);
        }
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    void take(const Step& step)
    {
        switch (step.kind) {
            case Kind::acquire:
                acquire(step);
                break;
            case Kind::release:
                if (!users_.empty()) {
                    release(step.pick % users_.size());
                }
                break;
            case Kind::refuse:
                registrar_.refusals = static_cast<std::uint32_t>(step.pick % 3);
                break;
            default:
                change(step);
        }
    }

  private:
    struct User {
        Registration* registration;
        Model::Name modelled;
        platform::MemoryRange range;
    };

    /// Whoever runs on when its last call has ended may find the listener between two steps.
    void settle() const
    {
        while (watch_ != nullptr && !watch_->is_settled()) {
            platform::yield_core();
        }
    }
    void acquire(const Step& step)
    {
        settle();
        const auto begin = reinterpret_cast<std::uintptr_t>(area_.at(step.first));
        const platform::MemoryRange range{begin, begin + step.length};
        const std::uint64_t access = step.pick % 2;
        const std::uint32_t refusals = registrar_.refusals;
        Registration* const registration =
            cache_.acquire(area_.at(step.first), step.length, access);
        User user{registration, {}, range};
        RC_ASSERT(model_.acquire(range, access, refusals, &user.modelled) ==
                  (registration != nullptr));
        registrar_.refusals = 0;
        const RegionCounts& counts = cache_.counts();
        RC_ASSERT(counts.hits == model_.counts.hits);
        RC_ASSERT(counts.misses == model_.counts.misses);
        RC_ASSERT(counts.evictions == model_.counts.evictions);
        RC_ASSERT(counts.invalidations == model_.counts.invalidations);
        RC_ASSERT(registrar_.opened == model_.regions.size());
        if (registration != nullptr) {
            users_.push_back(user);
            check(user);
        }
    }
    void release(std::size_t which)
    {
        check(users_[which]);
        cache_.release(users_[which].registration);
        model_.release(users_[which].modelled);
        users_.erase(users_.begin() + static_cast<std::ptrdiff_t>(which));
    }
    /// Its region shows what is in its memory.
    void check(const User& user) const
    {
        const Registration& found = *user.registration;
        RC_ASSERT(found.range.covers(user.range));
        const std::vector<char> seen = static_cast<PinnedPages*>(found.memory)->bytes();
        RC_ASSERT(std::memcmp(seen.data() + (user.range.begin - found.range.begin),
                              reinterpret_cast<const void*>(user.range.begin),
                              user.range.end - user.range.begin) == 0);
    }
    /// Of memory that nobody uses.
    void change(const Step& step)
    {
        const std::size_t first = step.first / page;
        const std::size_t count = std::min(step.length / page + 1, pages - first);
        const auto begin = reinterpret_cast<std::uintptr_t>(area_.at(first * page));
        const platform::MemoryRange range{begin, begin + count * page};
        if (step.kind == Kind::write) {
            area_.fill(first, count);
            return;
        }
        for (const User& user : users_) {
            if (user.range.overlaps(range)) {
                return;
            }
        }
        if (step.kind == Kind::unmap) {
            RC_ASSERT(::munmap(area_.at(first * page), count * page) == 0);
        } else if (step.kind == Kind::empty) {
            RC_ASSERT(::madvise(area_.at(first * page), count * page, MADV_DONTNEED) == 0);
        } else if (step.kind == Kind::move) {
            for (std::size_t i = first; i < first + count; ++i) {  // mappings have come apart
                void* const moved =
                    ::mremap(area_.at(i * page), page, page, MREMAP_MAYMOVE | MREMAP_FIXED,
                             elsewhere_.at(i * page));
                const bool is_moved = moved == elsewhere_.at(i * page);
                RC_ASSERT(is_moved);
            }
        }
        if (step.kind == Kind::empty) {
            area_.fill(first, count);
        } else {
            area_.map(first, count);
        }
        model_.change(range);
    }

    Area area_;
    Area elsewhere_;
    platform::MemoryWatch* watch_;
    PinningRegistrar registrar_;
    RegistrationCache cache_;
    Model model_;
    std::vector<User> users_;
};

TEST(RegistrationCacheProperty, KeepsWhatTheModelKeepsAndShowsWhatIsThere)
{
    auto opened = platform::MemoryWatch::open();
    EXPECT_TRUE(rc::check("registration cache", [&] {
        const Program program = *any_program();
        RC_PRE(opened || !program.is_watched);
        Bench bench(program.is_watched ? opened.value().get() : nullptr, program.limits);
        for (const Step& step : program.steps) {
            bench.take(step);
        }
    }));
    if (!opened) {
        GTEST_SKIP() << "only without: " << opened.sentence();
    }
}

TEST(RegistrationCacheProperty, ReusesMemoryOnlyWhereSomebodyWatches)
{
    PinningRegistrar registrar;
    const Area area;
    const RegistrationCache::Limits limits{.entries = 8, .bytes = 1 << 20};
    auto opened = platform::MemoryWatch::open();
    for (platform::MemoryWatch* watch :
         {opened ? opened.value().get() : nullptr, static_cast<platform::MemoryWatch*>(nullptr)}) {
        {
            RegistrationCache cache(registrar, watch, limits);
            for (int i = 0; i < 10; ++i) {
                cache.release(cache.acquire(area.at(0), 3 * page, 1));
            }
            EXPECT_EQ(cache.counts().hits, watch != nullptr ? 9U : 0U);
            EXPECT_EQ(registrar.opened, watch != nullptr ? 1U : 0U);
        }
        EXPECT_EQ(registrar.opened, 0U);
    }
}

TEST(RegistrationCacheProperty, MemoryThatLastsNeedsNobodyWhoWatches)
{
    PinningRegistrar registrar;
    const Area area;
    {
        RegistrationCache cache(registrar, nullptr, {.entries = 8, .bytes = 1 << 20});
        const auto begin = reinterpret_cast<std::uintptr_t>(area.at(page));
        cache.declare_lasting({begin, begin + 4 * page});
        for (int i = 0; i < 10; ++i) {
            cache.release(cache.acquire(area.at(page), 4 * page, 1));
            cache.release(cache.acquire(area.at(page), 4 * page + 1, 1));  // not all of it lasts
        }
        EXPECT_EQ(cache.counts().hits, 9U);
        EXPECT_EQ(registrar.opened, 1U);
    }
    EXPECT_EQ(registrar.opened, 0U);
}

/// Who maps memory where another thread is about to have unmapped some, before that one's call has
/// returned, does not get the region of what was there.
TEST(RegistrationCacheProperty, MemoryTakenWhileItsOldOwnerIsInTheSystemIsNew)
{
    constexpr std::uint64_t rounds = 300;
    auto opened = platform::MemoryWatch::open();
    if (!opened) {
        GTEST_SKIP() << opened.sentence();
    }
    PinningRegistrar registrar;
    RegistrationCache cache(registrar, opened.value().get(), {.entries = 8, .bytes = 1 << 20});
    const Area area;
    char* const memory = area.at(4 * page);
    ASSERT_EQ(::mprotect(area.at(0), 4 * page, PROT_NONE), 0);
    ASSERT_EQ(::mprotect(area.at(5 * page), (pages - 5) * page, PROT_NONE), 0);
    std::atomic<std::uint64_t> used{0};  // rounds; written here, read by the other thread
    std::thread other([&] {
        for (std::uint64_t i = 1; i <= rounds; ++i) {
            while (used.load(std::memory_order_acquire) != i) {
                platform::yield_core();
            }
            ::munmap(memory, page);
        }
    });
    for (std::uint64_t i = 1; i <= rounds; ++i) {
        if (i != 1) {
            while (::mmap(memory, page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != memory) {
            }
        }
        std::memset(memory, static_cast<int>(i), page);
        Registration* const registration = cache.acquire(memory, page, 1);
        EXPECT_NE(registration, nullptr);
        if (registration == nullptr) {
            break;
        }
        EXPECT_EQ(static_cast<PinnedPages*>(registration->memory)->bytes(),
                  std::vector<char>(page, static_cast<char>(i)));
        cache.release(registration);
        used.store(i, std::memory_order_release);
    }
    other.join();
    EXPECT_EQ(cache.counts().hits, 0U);
}

}  // namespace
}  // namespace headway::transport::ofi

// SPDX-License-Identifier: Apache-2.0
#include "memory/page_runs.hpp"

#include <algorithm>
#include <bit>

#include "platform/mapping.hpp"

namespace headway::memory {
namespace {

// Nobody is inside for longer than a few microseconds, or the milliseconds that a file system needs
// to give memory: after this time the holder is taken for dead and the caller is told "not now".
constexpr std::int64_t lock_patience_ns = 2'000'000'000;
// Memory is asked of the file system in pieces of 2 MiB.
constexpr std::uint32_t commit_units = 32;

std::uint32_t bin_of(std::uint32_t units) noexcept
{
    // A run has at least one unit; the mask only tells the compiler so.
    return (static_cast<std::uint32_t>(std::bit_width(units)) - 1) & 31U;
}

}  // namespace

void PageRuns::open(std::byte* base, UnitInfo* table, std::uint32_t first_unit,
                    std::uint32_t unit_count) noexcept
{
    base_ = base;
    table_ = table;
    first_unit_ = first_unit;
    unit_count_ = unit_count;
    frontier_ = first_unit;
    reached_ = first_unit;
    committed_ = first_unit;
}

std::uint32_t PageRuns::allocate(std::uint32_t units, UnitKind kind, std::uint32_t who,
                                 const CommitRule& rule) noexcept
{
    if (units == 0 || units > unit_count_ ||
        !lock_.lock(who, platform::Deadline::after_ns(lock_patience_ns))) {
        return 0;
    }
    std::uint32_t first = take_free_run(units);
    if (first == 0) {
        first = extend(units, rule);
    }
    if (first != 0) {
        for (std::uint32_t unit = first; unit < first + units; ++unit) {
            table_[unit].kind = kind;
            table_[unit].head = first;
        }
        table_[first].run_units = units;
        table_[first].owner = who;
        table_[first].is_new = first >= reached_;
        reached_ = std::max(reached_, frontier_);
        count_use(units);
    }
    lock_.unlock();
    return first;
}

bool PageRuns::free(std::uint32_t first, std::uint32_t who) noexcept
{
    if (!lock_.lock(who, platform::Deadline::after_ns(lock_patience_ns))) {
        return false;
    }
    std::uint32_t units = table_[first].run_units;
    count_use(-std::int64_t{units});
    const std::uint32_t after = first + units;
    if (after < frontier_ && table_[after].kind == UnitKind::free_run) {
        units += table_[after].run_units;
        unlink_free_run(after);
    }
    if (first > first_unit_) {
        const UnitInfo& before = table_[first - 1];
        if (before.kind == UnitKind::free_run || before.kind == UnitKind::free_tail) {
            const std::uint32_t head = before.head;
            units += table_[head].run_units;
            unlink_free_run(head);
            first = head;
        }
    }
    if (first + units == frontier_) {
        frontier_ = first;
        table_[first].kind = UnitKind::untouched;
    } else {
        link_free_run(first, units);
    }
    lock_.unlock();
    return true;
}

/// First fit within the smallest bin that can serve; the rest of the run goes back.
std::uint32_t PageRuns::take_free_run(std::uint32_t units) noexcept
{
    for (std::uint32_t bin = bin_of(units); bin < bin_count; ++bin) {
        for (std::uint32_t first = bins_[bin]; first != 0; first = table_[first].next) {
            const std::uint32_t found = table_[first].run_units;
            if (found < units) {
                continue;
            }
            unlink_free_run(first);
            if (found > units) {
                link_free_run(first + units, found - units);
            }
            return first;
        }
    }
    return 0;
}

std::uint32_t PageRuns::extend(std::uint32_t units, const CommitRule& rule) noexcept
{
    if (units > unit_count_ - frontier_ || !commit_up_to(frontier_ + units, rule)) {
        return 0;
    }
    const std::uint32_t first = frontier_;
    frontier_ += units;
    return first;
}

bool PageRuns::commit_up_to(std::uint32_t unit, const CommitRule& rule) noexcept
{
    if (!rule.must_commit || unit <= committed_) {
        return true;
    }
    const auto commit = [&](std::uint32_t upto) {
        const auto table_offset =
            static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(table_ + committed_) - base_);
        const std::uint64_t count = upto - committed_;
        return platform::commit_range(rule.fd, table_offset, count * sizeof(UnitInfo)) &&
               platform::commit_range(rule.fd, std::uint64_t{committed_} << unit_shift,
                                      count << unit_shift);
    };
    const std::uint32_t generous = std::min(unit_count_, std::max(unit, committed_ + commit_units));
    for (const std::uint32_t upto : {generous, unit}) {
        if (commit(upto)) {
            committed_ = upto;
            return true;
        }
    }
    return false;
}

void PageRuns::link_free_run(std::uint32_t first, std::uint32_t units) noexcept
{
    UnitInfo& last = table_[first + units - 1];
    last.kind = UnitKind::free_tail;
    last.head = first;
    UnitInfo& head = table_[first];
    head.kind = UnitKind::free_run;
    head.head = first;
    head.run_units = units;
    head.previous = 0;
    head.next = bins_[bin_of(units)];
    if (head.next != 0) {
        table_[head.next].previous = first;
    }
    bins_[bin_of(units)] = first;
}

void PageRuns::unlink_free_run(std::uint32_t first) noexcept
{
    const UnitInfo& head = table_[first];
    if (head.previous != 0) {
        table_[head.previous].next = head.next;
    } else {
        bins_[bin_of(head.run_units)] = head.next;
    }
    if (head.next != 0) {
        table_[head.next].previous = head.previous;
    }
}

void PageRuns::count_use(std::int64_t units) noexcept
{
    // Relaxed: written under the lock only, read for statistics.
    const std::uint64_t now =
        units_in_use_.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(units);
    units_in_use_.store(now, std::memory_order_relaxed);
    if (now > units_in_use_high_.load(std::memory_order_relaxed)) {
        units_in_use_high_.store(now, std::memory_order_relaxed);
    }
}

std::uint64_t PageRuns::bytes_in_use() const noexcept
{
    return units_in_use_.load(std::memory_order_relaxed) << unit_shift;
}

std::uint64_t PageRuns::bytes_in_use_high() const noexcept
{
    return units_in_use_high_.load(std::memory_order_relaxed) << unit_shift;
}

}  // namespace headway::memory

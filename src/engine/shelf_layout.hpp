// SPDX-License-Identifier: Apache-2.0
//
// What a shelf (engine/shelf.hpp) is in the node heap: for each member a line in each compartment
// and a mark of how far it is; for each compartment a place for what a line does not hold.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/shelf.hpp"
#include "platform/cpu.hpp"
#include "sync/growing_mark.hpp"

namespace headway::engine {

struct Shelf {
    static constexpr std::size_t line_data_bytes = 48;

    /// How many compartments there are, and what each has room for.
    struct Form {
        std::uint32_t compartments;  ///< a power of two
        std::uint64_t share_bytes;   ///< for one of several members that give
        std::uint64_t call_bytes;    ///< for one that gives
        bool has_sums;               ///< members combine what they give with what others gave
    };

    /// What one member gives in a call, or its beginning. Written by that member, read by those who
    /// get it.
    struct alignas(platform::cache_line_bytes) Line {
        sync::GrowingMark calls;  ///< the call whose it is, plus 1
        std::uint64_t bytes = 0;  ///< of one block
        std::byte data[line_data_bytes];
    };

    /// Of one member: how many calls it has ended, told at the end of each half. Written by it,
    /// read by who is about to lay something down in the next half.
    struct alignas(platform::cache_line_bytes) Progress {
        sync::GrowingMark ended;
    };

    static Form form_of(ShelfSize size, std::uint64_t members) noexcept
    {
        switch (size) {
            case ShelfSize::lines:
                return {.compartments = 512,
                        .share_bytes = shelf_share_bytes(members),
                        .call_bytes = shelf_call_bytes(members),
                        .has_sums = false};
            case ShelfSize::pages:
                return {.compartments = 64,
                        .share_bytes = shelf_page_bytes_max,
                        .call_bytes = shelf_page_bytes_max * members,
                        .has_sums = false};
            default:
                return {.compartments = 8,
                        .share_bytes = shelf_stretch_bytes_max,
                        .call_bytes = shelf_stretch_bytes_max * members,
                        .has_sums = true};
        }
    }

    Shelf(const Form& its_form, std::uint32_t its_members) noexcept
        : form(its_form), members(its_members), users(its_members)
    {
    }

    // Written when it is made.
    const Form form;
    const std::uint32_t members;

    /// Members that have not left for good. Counted down by each when its communicator ends.
    std::atomic<std::uint32_t> users;

    /// Members that wait here and may sleep. Written by them, read by those who give or end a half.
    alignas(platform::cache_line_bytes) sync::SleeperCount sleepers;

    // A member's lines, and what the compartments hold beside, lie at odd distances: at powers of
    // two they would share few sets of a cache.
    static std::uint64_t lines_apart(const Form& form) noexcept { return form.compartments + 1; }
    static std::uint64_t places_apart(const Form& form) noexcept
    {
        return form.call_bytes + platform::cache_line_bytes;
    }
    static std::uint64_t lines_end(const Form& form, std::uint64_t members) noexcept
    {
        return sizeof(Shelf) + members * (sizeof(Progress) + lines_apart(form) * sizeof(Line));
    }
    static std::uint64_t size_bytes(const Form& form, std::uint64_t members) noexcept
    {
        return lines_end(form, members) + form.compartments * places_apart(form);
    }

    std::uint64_t half() const noexcept { return form.compartments / 2; }
    Progress* progress() noexcept { return reinterpret_cast<Progress*>(this + 1); }
    Line* lines() noexcept { return reinterpret_cast<Line*>(progress() + members); }
    std::uint64_t compartment(std::uint64_t call) const noexcept
    {
        return call & (form.compartments - 1);
    }
    Line& line(std::uint64_t call, std::uint32_t member) noexcept
    {
        return lines()[member * lines_apart(form) + compartment(call)];
    }
    std::byte* place(std::uint64_t call) noexcept
    {
        auto* const places = reinterpret_cast<std::byte*>(this) + lines_end(form, members);
        return places + compartment(call) * places_apart(form);
    }
};

}  // namespace headway::engine

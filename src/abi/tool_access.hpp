// SPDX-License-Identifier: Apache-2.0
// What the calls of the tool information interface share (MPI-5.0 chapter 15). They may come at any
// time from any thread and have no error handlers.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "object/any_time.hpp"
#include "object/rank.hpp"
#include "object/rank_access.hpp"

namespace headway::abi {

/// The calling rank's tools, locked.
struct ToolAccess {
    ToolAccess()
        : rank(object::current_rank()), part(object::any_time_part(rank)), guard(part.mutex)
    {
    }

    /// MPI_T_init_thread was called, and not as many MPI_T_finalize.
    bool is_open() const noexcept { return part.tools.users > 0; }
    object::ToolPart& tools() noexcept { return part.tools; }

    object::RankAccess* rank;
    object::AnyTimePart& part;
    std::lock_guard<std::mutex> guard;
};

/// The calling rank is observed from now on, or from when it begins to communicate. Requires that
/// the caller has no ToolAccess.
inline void observe_for_tools()
{
    {
        ToolAccess access;
        access.tools().wants_observation = true;
    }
    if (object::RankAccess* const rank = object::current_rank(); rank != nullptr) {
        rank->door->enter();
        object::as_rank(*rank).observe_for_tools();
        rank->door->leave();
    }
}

/// Writes a string as these calls do (MPI-5.0 section 15.3.3): nothing where `length` is null, its
/// needed length alone where there is no room.
inline void put_text(std::string_view text, char* to, int* length) noexcept
{
    if (length == nullptr) {
        return;
    }
    if (to != nullptr && *length > 0) {
        const std::size_t copied = std::min(text.size(), static_cast<std::size_t>(*length) - 1);
        std::memcpy(to, text.data(), copied);
        to[copied] = '\0';
    }
    *length = static_cast<int>(text.size()) + 1;
}

/// Writes a fact that the caller may not want to know.
template <typename Value>
void put(Value value, Value* to) noexcept
{
    if (to != nullptr) {
        *to = value;
    }
}

/// Whether an index of the application is one of `count`.
inline bool is_index(int index, std::size_t count) noexcept
{
    return index >= 0 && static_cast<std::size_t>(index) < count;
}

/// The object behind a handle that the application holds; null: it is none, or was freed.
template <typename Object, typename Handle>
Object* find_owned(const std::vector<std::unique_ptr<Object>>& owned, Handle handle) noexcept
{
    for (const auto& each : owned) {
        if (each.get() == reinterpret_cast<Object*>(handle)) {
            return each.get();
        }
    }
    return nullptr;
}

template <typename Object>
void erase_owned(std::vector<std::unique_ptr<Object>>& owned, const Object* object)
{
    std::erase_if(owned, [&](const auto& each) { return each.get() == object; });
}

/// Index of the row of that name, or -1.
template <typename Rows>
int find_named(const Rows& rows, std::string_view name) noexcept
{
    int index = 0;
    for (const auto& row : rows) {
        if (row.name == name) {
            return index;
        }
        ++index;
    }
    return -1;
}

}  // namespace headway::abi

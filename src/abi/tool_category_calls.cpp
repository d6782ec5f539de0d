// SPDX-License-Identifier: Apache-2.0
// Categories of what tools can see (MPI-5.0 section 15.3.9): one over all, and below it one for
// each group of settings, counts and events.
#include <array>
#include <span>
#include <vector>

#include "abi/tool_access.hpp"
#include "abi_calls.hpp"
#include "config/knobs.hpp"
#include "object/tool.hpp"

namespace headway::abi {
namespace {

struct Category {
    std::string_view name;
    std::string_view about;
};

/// The first holds the others, which stand in the order of KnobGroup.
constexpr std::array<Category, 5> categories = {{
    {"headway", "All of Headway."},
    {"messages", "Messages and how they travel."},
    {"progress", "Who moves messages, and how waits spend their time."},
    {"memory", "Memory for messages and handles."},
    {"diagnostics", "Traces, checks and simulations."},
}};

template <typename Rows>
std::vector<int> members_of(const Rows& rows, int category)
{
    std::vector<int> members;
    int index = 0;
    for (const auto& row : rows) {
        if (static_cast<int>(row.group) + 1 == category) {
            members.push_back(index);
        }
        ++index;
    }
    return members;
}

std::vector<int> below(int category)
{
    std::vector<int> members;
    for (int index = 1; category == 0 && index < static_cast<int>(categories.size()); ++index) {
        members.push_back(index);
    }
    return members;
}

/// MPI_SUCCESS where the interface is open and there is such a category.
int check_category(int index)
{
    const ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    return is_index(index, categories.size()) ? MPI_SUCCESS : MPI_T_ERR_INVALID_INDEX;
}

/// As many as there is room for.
int put_indices(int category, const std::vector<int>& members, int length, int indices[])
{
    if (const int error = check_category(category); error != MPI_SUCCESS) {
        return error;
    }
    if (length < 0 || (length > 0 && indices == nullptr)) {
        return MPI_T_ERR_INVALID;
    }
    std::copy_n(members.begin(), std::min(members.size(), static_cast<std::size_t>(length)),
                indices);
    return MPI_SUCCESS;
}

constexpr std::span<const config::KnobRow> knobs = config::knob_table;

}  // namespace

namespace call {

int T_category_get_num(int* num_cat)
{
    const int error = check_category(0);
    if (error == MPI_SUCCESS && num_cat == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    if (error == MPI_SUCCESS) {
        *num_cat = static_cast<int>(categories.size());
    }
    return error;
}

int T_category_get_info(int cat_index, char* name, int* name_len, char* desc, int* desc_len,
                        int* num_cvars, int* num_pvars, int* num_categories)
{
    if (const int error = check_category(cat_index); error != MPI_SUCCESS) {
        return error;
    }
    const Category& category = categories[static_cast<std::size_t>(cat_index)];
    put_text(category.name, name, name_len);
    put_text(category.about, desc, desc_len);
    put(static_cast<int>(members_of(knobs, cat_index).size()), num_cvars);
    put(static_cast<int>(members_of(object::performance_variables(), cat_index).size()), num_pvars);
    put(static_cast<int>(below(cat_index).size()), num_categories);
    return MPI_SUCCESS;
}

int T_category_get_index(const char* name, int* cat_index)
{
    if (const int error = check_category(0); error != MPI_SUCCESS) {
        return error;
    }
    if (name == nullptr || cat_index == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    const int index = find_named(categories, name);
    if (index < 0) {
        return MPI_T_ERR_INVALID_NAME;
    }
    *cat_index = index;
    return MPI_SUCCESS;
}

int T_category_get_num_events(int cat_index, int* num_events)
{
    if (const int error = check_category(cat_index); error != MPI_SUCCESS) {
        return error;
    }
    put(static_cast<int>(members_of(object::tool_events(), cat_index).size()), num_events);
    return num_events != nullptr ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

int T_category_get_cvars(int cat_index, int len, int indices[])
{
    return put_indices(cat_index, members_of(knobs, cat_index), len, indices);
}

int T_category_get_pvars(int cat_index, int len, int indices[])
{
    return put_indices(cat_index, members_of(object::performance_variables(), cat_index), len,
                       indices);
}

int T_category_get_events(int cat_index, int len, int indices[])
{
    return put_indices(cat_index, members_of(object::tool_events(), cat_index), len, indices);
}

int T_category_get_categories(int cat_index, int len, int indices[])
{
    return put_indices(cat_index, below(cat_index), len, indices);
}

int T_category_changed(int* update_number)
{
    const int error = check_category(0);
    if (error == MPI_SUCCESS && update_number == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    if (error == MPI_SUCCESS) {
        // What there is never changes while a program runs.
        *update_number = 0;
    }
    return error;
}

}  // namespace call
}  // namespace headway::abi

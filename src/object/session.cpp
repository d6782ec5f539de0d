// SPDX-License-Identifier: Apache-2.0
#include "object/session.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <utility>

#include "object/process.hpp"

namespace headway::object {

namespace {

constexpr std::array<std::string_view, 2> set_names = {"mpi://WORLD", "mpi://SELF"};

constexpr std::array<std::pair<int, std::string_view>, 4> level_names = {{
    {MPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"},
    {MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"},
    {MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"},
    {MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"},
}};

bool is_same_name(std::string_view left, std::string_view right)
{
    return std::ranges::equal(left, right, [](unsigned char one, unsigned char other) {
        return std::tolower(one) == std::tolower(other);
    });
}

}  // namespace

Session::Session(std::uint32_t number, int thread_level, Info hints, ErrorHandler* error_handler)
    : number_(number),
      thread_level_(thread_level),
      hints_(std::move(hints)),
      error_handler_(error_handler)
{
    error_handler_->add_reference();
}

Session::~Session()
{
    if (error_handler_->drop_reference()) {
        delete error_handler_;
    }
}

void Session::set_error_handler(ErrorHandler* handler) noexcept
{
    handler->add_reference();
    if (error_handler_->drop_reference()) {
        delete error_handler_;
    }
    error_handler_ = handler;
}

std::span<const std::string_view> process_set_names() noexcept
{
    return set_names;
}

std::vector<int> find_process_set(Rank& rank, std::string_view name)
{
    if (is_same_name(name, set_names[1])) {
        return {rank.world_rank};
    }
    std::vector<int> members;
    if (is_same_name(name, set_names[0])) {
        members.resize(static_cast<std::size_t>(rank.process().rank_count()));
        std::iota(members.begin(), members.end(), 0);
    }
    return members;
}

std::string_view name_of_thread_level(int level) noexcept
{
    const auto found =
        std::ranges::find(level_names, level, &std::pair<int, std::string_view>::first);
    return found != level_names.end() ? found->second : level_names.front().second;
}

int find_thread_level(std::string_view name, int fallback) noexcept
{
    const auto found =
        std::ranges::find(level_names, name, &std::pair<int, std::string_view>::second);
    return found != level_names.end() ? found->first : fallback;
}

}  // namespace headway::object

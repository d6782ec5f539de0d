// SPDX-License-Identifier: Apache-2.0
#include "object/error_handler.hpp"

#include <array>

#include "object/process.hpp"

namespace headway::object {

namespace {

constexpr HandleBits first_predefined = 0x141;

}  // namespace

ErrorHandler* predefined_error_handler(HandleBits bits) noexcept
{
    using Action = ErrorHandler::Action;
    // Constants in all but type: nobody counts references of, or writes to, a predefined handler.
    static constinit std::array<ErrorHandler, 3> handlers = {{
        {Action::fatal, first_predefined},
        {Action::abort, first_predefined + 1},
        {Action::give_back, first_predefined + 2},
    }};
    const HandleBits index = bits - first_predefined;
    return index < handlers.size() ? &handlers[index] : nullptr;
}

ErrorHandler* initial_error_handler(RankAccess* rank)
{
    using config::InitialErrhandlerChoice;
    auto choice = InitialErrhandlerChoice::mpi_errors_are_fatal;
    if (rank != nullptr) {
        choice = as_rank(*rank).process().knobs().initial_errhandler;
    } else if (const auto knobs = config::load_knobs(platform::Environment::of_process())) {
        choice = knobs.value().initial_errhandler;
    }
    return predefined_error_handler(
        choice == InitialErrhandlerChoice::mpi_errors_return  ? bits_of(MPI_ERRORS_RETURN)
        : choice == InitialErrhandlerChoice::mpi_errors_abort ? bits_of(MPI_ERRORS_ABORT)
                                                              : bits_of(MPI_ERRORS_ARE_FATAL));
}

std::string_view name_of_handler(config::InitialErrhandlerChoice choice) noexcept
{
    static constexpr std::array<std::string_view, 3> names = {
        "mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"};
    return names[static_cast<std::size_t>(choice)];
}

}  // namespace headway::object

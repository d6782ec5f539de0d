// SPDX-License-Identifier: Apache-2.0
// What calls need that are allowed before MPI_Init and after MPI_Finalize, and from any thread at
// any thread level (MPI-5.0 section 11.6.1): infos, error handlers, error codes, facts of Fortran,
// the tool interface.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>

#include "object/error_code.hpp"
#include "object/handle_table.hpp"
#include "object/info.hpp"
#include "object/tool.hpp"

namespace headway::object {

/// Values of .TRUE. and .FALSE. of a Fortran LOGICAL of 1, 2, 4, 8 or 16 bytes, as bytes.
struct FortranLogical {
    std::array<std::byte, 16> value_true{};
    std::array<std::byte, 16> value_false{};
};

/// One a rank. A process with one rank has it before it has the rank.
/// Thread rule: the handles by any thread; the rest under `mutex`.
struct AnyTimePart {
    explicit AnyTimePart(HandleTable& table) : handles(table), pool(table, quarantine, true) {}

    static constexpr std::uint32_t quarantine = 64;

    HandleTable& handles;
    HandlePool pool;
    std::mutex mutex;
    ErrorCodes error_codes;
    ToolPart tools;
    /// What a Fortran layer said of its types (MPI_Abi_set_fortran_info).
    std::optional<Info> fortran_info;
    /// By log2 of the size.
    std::array<std::optional<FortranLogical>, 5> fortran_logicals;
};

/// The handles of this process: one range that is reserved at first use and stays mapped, so that
/// old handles can be looked at. Null: there are no addresses left. Any thread.
HandleTable* process_handles() noexcept;

/// The part of a process that has no rank yet, and later of its only one. Ends the job where
/// process_handles() is null. Any thread.
AnyTimePart& process_any_time();

}  // namespace headway::object

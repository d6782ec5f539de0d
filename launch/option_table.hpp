// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace headway::launch {

/// What an option does; the table gives every spelling one of these.
enum class Action {
    rank_count,
    per_node,         ///< ranks of a node; of all where it is the only one and no count is given
    set_variable,     ///< NAME=VALUE, or NAME VALUE
    export_variable,  ///< NAME or NAME=VALUE
    set_variable_for_all,
    keep_variables,
    keep_variables_for_all,
    keep_no_variable,
    keep_no_variable_for_all,
    directory,
    bind_to,
    map_by,
    cpus_per_rank,
    report_bindings,
    report,
    progress,
    memory_kinds,
    initial_handler,
    label,
    timeout,
    ranks,
    shared_library,
    processes_per_node,
    workers,
    bind_ranks,
    stack_size,
    sleeps,
    report_workers,
    schedule_seed,
    standard_input,
    hosts,
    host_file,
    help,
    version,
    hydra,   ///< for mpiexec.hydra, where it starts the ranks; else as accept
    accept,  ///< means nothing here, and nothing is lost by that
    refuse,  ///< `note` is the sentence
};

struct Option {
    std::string_view name;  ///< without dashes
    Action action;
    int value_count;
    std::string_view note;
};

/// Every spelling mpiexec knows: ours, and the well-known ones of Hydra and Open MPI.
std::span<const Option> option_table() noexcept;

}  // namespace headway::launch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"

namespace headway::launch {

/// What every rank of a job shares.
struct JobIdentity {
    std::string job;  ///< names the job among all of this machine
    int rank_count = 1;
    std::string library_directory;  ///< put first on the ranks' library path; empty: none
};

/// Arguments or an environment as exec takes them. They point into `texts`.
std::vector<char*> pointers_to(const std::vector<std::string>& texts);

/// The environment mpiexec itself was started with, as NAME=VALUE.
std::vector<std::string> own_environment();

/// Takes the marks of an outer job (this mpiexec may run inside a rank) out of `environment`.
std::vector<std::string> without_outer_job(std::vector<std::string> environment);

/// The environment of `rank`, whose PMI connection is `pmi_descriptor`: `inherited`, as far as
/// `choice` keeps it, then what it sets, then the launcher's own variables.
std::vector<std::string> environment_of_rank(const std::vector<std::string>& inherited,
                                             const EnvironmentChoice& choice,
                                             const JobIdentity& identity, int rank,
                                             int pmi_descriptor);

/// The same for ranks of one process, which speaks for all: without the connection.
std::vector<std::string> environment_of_hosted(const std::vector<std::string>& inherited,
                                               const EnvironmentChoice& choice,
                                               const JobIdentity& identity);

/// The environment of another launcher that starts the ranks: `inherited`, what `choice` sets, and
/// `library_directory` first on the library path unless it is empty.
std::vector<std::string> environment_of_launcher(std::vector<std::string> inherited,
                                                 const EnvironmentChoice& choice,
                                                 const std::string& library_directory);

/// What a variable will be for ranks with that choice; empty where it is not set.
std::string value_in(const std::vector<std::string>& inherited, const EnvironmentChoice& choice,
                     std::string_view name);

/// What the options of all programs and those of one make together; the program's win.
EnvironmentChoice combine(const EnvironmentChoice& for_all, const EnvironmentChoice& of_program);

/// Where the running mpiexec lies.
std::string own_program_directory();

/// ../lib beside the directory of the running mpiexec; empty when there is none.
std::string own_library_directory();

/// A name for a new job, unique on this machine.
std::string new_job_name();

}  // namespace headway::launch

// SPDX-License-Identifier: Apache-2.0
#include "boot/boot.hpp"

#include <array>
#include <cstdlib>

#include "boot/pmi1.hpp"
#include "boot/pmi1_line.hpp"
#include "boot/pmix.hpp"
#include "boot/pmix_library.hpp"
#include "boot/single.hpp"

namespace headway::boot {
namespace {

constexpr std::array pmi1_variables = {"PMI_FD", "PMI_RANK",    "PMI_SIZE",  "PMI_PORT",
                                       "PMI_ID", "PMI_SPAWNED", "PMI_DEBUG", "PMI_TOTALVIEW"};

/// What says that this process is a member of a job; libpmix has read them all when it is open.
constexpr std::array pmix_variables = {"PMIX_NAMESPACE",    "PMIX_RANK",         "PMIX_SERVER_URI",
                                       "PMIX_SERVER_URI2",  "PMIX_SERVER_URI21", "PMIX_SERVER_URI3",
                                       "PMIX_SERVER_URI4",  "PMIX_SERVER_URI41", "PMIX_SERVER_URI5",
                                       "PMIX_SERVER_URI51", "PMIX_SERVER_TMPDIR"};

std::string text_of(const char* name)
{
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool is_set(const char* name)
{
    return std::getenv(name) != nullptr;
}

base::Result<int> number_of(const char* name)
{
    const std::string text = text_of(name);
    const auto value = parse_int(text);
    if (!value || *value < 0) {
        return base::Failure{"the launcher's variable " + std::string(name) + " is " +
                             (is_set(name) ? quote_bytes(text) : "missing") +
                             " where a number is due; start the program with Headway's mpiexec, "
                             "or unset the PMI variables to run it alone"};
    }
    return *value;
}

base::Result<Pmi1Address> read_address()
{
    Pmi1Address address;
    address.headway_job = text_of("HEADWAY_JOB");
    struct Wanted {
        const char* name;
        int* value;
    };
    const std::array by_descriptor = {Wanted{"PMI_FD", &address.descriptor},
                                      Wanted{"PMI_RANK", &address.process_index},
                                      Wanted{"PMI_SIZE", &address.process_count}};
    const std::array by_port = {Wanted{"PMI_ID", &address.process_index}};
    const bool has_descriptor = is_set("PMI_FD");
    const auto read = [](const auto& wanted) -> base::Outcome {
        for (const Wanted& each : wanted) {
            const auto number = number_of(each.name);
            if (!number) {
                return base::Failure{number.sentence()};
            }
            *each.value = number.value();
        }
        return base::Done{};
    };
    if (auto outcome = has_descriptor ? read(by_descriptor) : read(by_port); !outcome) {
        return base::Failure{outcome.sentence()};
    }
    if (!has_descriptor) {
        address.port = text_of("PMI_PORT");
    }
    return address;
}

/// Why a process without PMI must not take itself for a singleton; empty when it may.
std::string foreign_launcher()
{
    const auto tasks = parse_int(text_of("SLURM_STEP_NUM_TASKS"));
    if (is_set("SLURM_STEP_ID") && is_set("SLURM_PROCID") && tasks.value_or(1) > 1) {
        return "this process was started by srun without PMI; use srun --mpi=pmix or srun "
               "--mpi=pmi2, or start the program with Headway's mpiexec";
    }
    return "";
}

base::Result<std::unique_ptr<Boot>> open_pmi1()
{
    const auto address = read_address();
    if (!address) {
        return base::Failure{address.sentence()};
    }
    auto boot = Pmi1Boot::open(address.value());
    for (const char* name : pmi1_variables) {
        ::unsetenv(name);
    }
    return boot;
}

base::Result<std::unique_ptr<Boot>> open_pmix()
{
    const auto functions = pmix::open_library(pmix::library_paths(text_of("PMIX_PREFIX")));
    if (!functions) {
        return base::Failure{functions.sentence()};
    }
    auto boot = PmixBoot::open(functions.value());
    for (const char* name : pmix_variables) {
        ::unsetenv(name);
    }
    return boot;
}

base::Failure not_there(const char* setting, const char* variables, const char* cure)
{
    return {std::string("HEADWAY_BOOT is '") + setting + "', but the launcher has not set " +
            variables + "; start the program " + cure + ", or set HEADWAY_BOOT=auto"};
}

}  // namespace

base::Outcome Boot::share_descriptor(int /*descriptor*/)
{
    return base::Failure{"the launcher (" + std::string(launcher()) +
                         ") cannot hand over descriptors; start the job with Headway's mpiexec"};
}

base::Result<int> Boot::take_descriptor()
{
    return base::Failure{share_descriptor(-1).sentence()};
}

std::optional<int> told_process_count()
{
    if (is_set("PMI_FD")) {
        const auto count = number_of("PMI_SIZE");
        return count ? std::optional(count.value()) : std::nullopt;
    }
    const bool has_other = is_set("PMI_PORT") || is_set("PMIX_NAMESPACE") || is_set("PMIX_RANK") ||
                           !foreign_launcher().empty();
    return has_other ? std::nullopt : std::optional(1);
}

base::Result<std::unique_ptr<Boot>> open_boot(Way way)
{
    const bool has_pmi1 = is_set("PMI_FD") || is_set("PMI_PORT");
    const bool has_pmix = is_set("PMIX_NAMESPACE") || is_set("PMIX_RANK");
    if (way == Way::pmi1 && !has_pmi1) {
        return not_there("pmi1", "PMI_FD or PMI_PORT",
                         "with Headway's mpiexec, mpiexec.hydra or srun --mpi=pmi2");
    }
    if (way == Way::pmix && !has_pmix) {
        return not_there("pmix", "PMIX_NAMESPACE and PMIX_RANK",
                         "with prterun, Open MPI's mpirun or srun --mpi=pmix");
    }
    if (way == Way::pmi1 || (way == Way::automatic && has_pmi1)) {
        return open_pmi1();
    }
    if (way == Way::pmix || (way == Way::automatic && has_pmix)) {
        return open_pmix();
    }
    if (std::string why = foreign_launcher(); way == Way::automatic && !why.empty()) {
        return base::Failure{std::move(why)};
    }
    return open_single();
}

}  // namespace headway::boot

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace headway::boot {

/// What a launcher gives a process: its place among the processes of the job and a small shared
/// dictionary. It counts processes, not ranks (one process may host several ranks).
///
/// Thread rule: one thread at a time. Every call may block on the launcher; a launcher that has
/// gone or talks garbage yields a Failure, never a hang.
class Boot {
  public:
    Boot() = default;
    Boot(const Boot&) = delete;
    Boot& operator=(const Boot&) = delete;
    virtual ~Boot() = default;

    int process_index() const noexcept { return process_index_; }
    int process_count() const noexcept { return process_count_; }
    /// Identifies the job among all jobs of this machine; empty for a singleton.
    const std::string& job() const noexcept { return job_; }
    /// How the launcher is called in messages: "headway mpiexec", "PMI-1 server" (any other one),
    /// "PMIx server", "none (singleton)".
    virtual std::string_view launcher() const noexcept = 0;

    /// Node of every process where the launcher knows it (PMI_process_mapping expanded): one entry
    /// a process; empty where it does not say.
    virtual base::Result<std::vector<int>> node_map() = 0;

    /// Key and value: printable, no blank, not empty; a longer one than the launcher takes is a
    /// Failure that says the limit. A key that is put again takes the new value. A key ends in `-`
    /// and the number of the process that puts it, so that a launcher finds it on another node.
    virtual base::Outcome put(std::string_view key, std::string_view value) = 0;
    /// Collective: after it, get() sees what every process put before it.
    virtual base::Outcome fence() = 0;
    /// Failure for a key that nobody has put.
    virtual base::Result<std::string> get(std::string_view key) = 0;

    /// The launcher can hand an open descriptor from one process to all others.
    virtual bool can_share_descriptor() const noexcept { return false; }
    /// Hands a duplicate of `descriptor` to the launcher, which keeps it for who takes it; one a
    /// job. Requires can_share_descriptor(), as the next.
    virtual base::Outcome share_descriptor(int descriptor);
    /// After a fence: a duplicate of the shared descriptor, for the caller to close. Closed on
    /// exec.
    virtual base::Result<int> take_descriptor();

    /// Tells the launcher that this process leaves in good order; nothing else may be called then.
    virtual base::Outcome finalize() = 0;
    /// Ends the whole job with `code`; the launcher says so to the user. May return, when there is
    /// no launcher to end this process or when that launcher wants it to end by itself: the caller
    /// then exits at once with `code`.
    virtual void abort(int code, std::string_view sentence) = 0;

  protected:
    int process_index_ = 0;
    int process_count_ = 1;
    std::string job_;
};

/// How a process finds its job. Automatic: PMI-1 (PMI_FD, or PMI_PORT with PMI_ID), else PMIx
/// (PMIX_NAMESPACE and PMIX_RANK), else singleton; a launcher that offers neither (srun without
/// PMI) is a Failure with the cure, never N singletons.
enum class Way { automatic, pmi1, pmix, single };

/// Opens the launcher that the environment names; a way that is asked for is the only one tried.
/// Afterwards the variables of PMI and PMIx are gone from the environment and descriptors are
/// closed on exec, so that programs this process starts do not pass for it.
/// Thread rule: changes the environment; call it while no other thread reads that.
base::Result<std::unique_ptr<Boot>> open_boot(Way way = Way::automatic);

/// Processes of the job as far as the environment tells before open_boot(); none: it does not.
/// Thread rule: as getenv().
std::optional<int> told_process_count();

}  // namespace headway::boot

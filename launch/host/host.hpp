// SPDX-License-Identifier: Apache-2.0
// The process that runs a plan.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "host_plan.hpp"
#include "hosted_rank.hpp"
#include "loader.hpp"
#include "mpi_library.hpp"
#include "rank_crew.hpp"

namespace headway::launch {

/// The programs of a plan, read and judged. Failure: a sentence with the cure.
base::Result<std::vector<HostedProgram>> read_programs(const HostPlan& plan);

/// What all ranks together take of the loader's surplus of thread-local memory.
std::uint64_t static_tls_bytes(const HostPlan& plan, const std::vector<HostedProgram>& programs);

class Host {
  public:
    /// Requires what read_programs has found for the plan.
    Host(HostPlan plan, std::vector<HostedProgram> programs, const MpiLibrary& library);
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    /// Runs all ranks; the exit code of the process.
    int run();

    const MpiLibrary& library() const noexcept { return library_; }
    /// Number in the job of the first rank here. Ranks ask.
    int first_rank() const noexcept { return first_rank_; }

    /// A rank has ended, on whatever thread of it: says what is to be said, ends the job if it
    /// must. Returns if the others go on.
    void rank_ended(const HostedRank& rank, int code);
    /// Prints a sentence about a rank of this process and ends the job. Any thread.
    [[noreturn]] void end_job(const HostedRank& rank, int code, std::string_view sentence);

    /// In the child of a fork: what other ranks have written to streams is theirs to flush.
    void drop_output_of_others(const HostedRank& rank) const noexcept;

    /// Says where each rank is: the frames of its stack. A thread that belongs to no rank.
    void show_ranks() const;

    /// This process's pid, else a fork's child is asking.
    bool is_host_process() const noexcept;

    /// The one of the process; null before it is made. Written before the first rank starts.
    static Host* of_process() noexcept;

  private:
    bool start(HostedRank& rank);
    void watch_for_quit();
    void start_crew();
    void start_ranks();
    void report_crew() const;
    std::string name_of(const HostedRank& rank) const;
    void set_names() const;

    const HostPlan plan_;
    const MpiLibrary library_;
    const int process_id_;
    int first_rank_ = 0;  ///< of the job's numbers; written before the ranks start
    const std::vector<HostedProgram> programs_;
    std::unique_ptr<RankCrew> crew_;  ///< null: ranks are the system's threads
    std::vector<std::unique_ptr<HostedRank>> ranks_;
    std::mutex mutex_;  ///< guards the two below
    std::condition_variable changed_;
    std::size_t ended_count_ = 0;
    int exit_code_ = 0;
};

/// Shows the frames of the calling rank, for SIGQUIT.
void show_where_rank_is();

/// Prints to standard error, whatever becomes of it.
void print(std::string_view text);

/// Has fatal signals name the rank they meet before they end the process.
void name_ranks_in_fatal_signals() noexcept;

}  // namespace headway::launch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "child.hpp"
#include "environment.hpp"
#include "host/host_plan.hpp"
#include "leftovers.hpp"
#include "options.hpp"
#include "output.hpp"
#include "placement.hpp"
#include "pmi_server.hpp"
#include "reservation.hpp"

namespace headway::launch {

/// A job from its first process to its last trace: starts the ranks, answers their PMI requests,
/// carries their output, forwards signals, and ends everything when a rank dies.
///
/// One thread, one loop (`run`); nothing in it blocks but the start of a process. Invariants:
/// 1. Output of a rank is taken in before a sentence about its end is printed.
/// 2. PMI bytes of a rank are taken in before its end is judged.
/// 3. The exit code is set by the first cause and never changed by a later one.
class Job {
  public:
    explicit Job(Options options);
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    ~Job();

    /// Runs the job to its end; the exit code of mpiexec.
    int run();

  private:
    using Clock = std::chrono::steady_clock;
    using Deadline = std::optional<Clock::time_point>;

    enum class Source : std::uint32_t { signals, pmi, out, err, destination };
    enum class State {
        running,
        ending,    ///< a cause is known; ranks have been asked to end
        sweeping,  ///< all ranks have ended; what they left running has been asked to end
        flushing,  ///< no process is left; output waits for its reader
        done,
    };

    struct Stream {
        int descriptor = -1;
        LineStream lines;
        bool is_polled = false;
    };
    struct Rank {
        Rank(Destination& out_to, Destination& err_to, const std::string& label, std::size_t index);
        pid_t pid = -1;
        bool is_running = false;
        int pmi = -1;
        bool awaits_pmi_room = false;
        Deadline pmi_closed_until;  ///< the connection has ended; so must the process by then
        std::array<Stream, 2> streams;
    };

    // Start (job.cpp)
    base::Outcome prepare();
    base::Outcome start_ranks();
    base::Outcome reserve();
    void show_map(const std::vector<Place>& places);
    std::vector<std::pair<std::string, std::string>> openmp_of(const Place& place) const;
    base::Outcome start_rank(std::size_t index, const Program& program, const Place& place);
    base::Outcome start_hosts(const std::vector<Place>& places);
    base::Outcome start_host(std::size_t index, const HostPlan& whole, const Place& home);
    base::Outcome start_process(std::size_t index, ChildPlan plan,
                                const std::vector<std::string>& inherited,
                                const EnvironmentChoice& environment, const JobIdentity& identity);
    bool is_hosted() const noexcept { return options_.rank_host != RankHost::process; }
    bool can_give_stdin() const;

    // The loop (job.cpp)
    void poll_once();
    void dispatch(std::uint64_t tag);
    void watch(int descriptor, std::uint32_t events, Source source, std::size_t index);
    void unwatch(int descriptor) const;
    int timeout_ms() const;
    void check_deadlines();

    // Streams and PMI (job_streams.cpp)
    void read_stream(std::size_t rank, Stream& stream, std::size_t reads_max);
    void close_stream(Stream& stream);
    void drain_output(Rank& rank, std::size_t index);
    void update_destinations();
    void read_pmi(std::size_t rank);
    void write_pmi();
    void keep_descriptor(std::size_t rank, int descriptor);
    void close_pmi(Rank& rank);
    void judge_pmi_event(std::size_t rank, const PmiEvent& event);
    void say(const std::string& sentence);
    void say_in_own_words(const std::string& sentence);

    // The end (job_end.cpp)
    void take_signals();
    void take_signal(int signal);
    void end_at_once(int signal);
    void stop_until_continued();
    void reap();
    /// A rank that was killed takes others with it that may speak first: before an abort is
    /// reported as the cause, such a death is.
    void judge_killed_rank();
    void judge_end(std::size_t rank, int status);
    void check_barrier();
    void end_job(int code, const std::string& sentence, int signal = SIGTERM);
    void set_exit_code(int code);
    void signal_ranks(int signal) const;
    void go_on_if_all_ended();
    void sweep();
    std::vector<pid_t> leftovers() const;
    /// Ranks of a process.
    Share ranks_of(std::size_t process) const noexcept;
    std::string name_of(std::size_t rank) const;
    std::string_view and_others() const noexcept;

    Options options_;
    JobIdentity identity_;
    std::vector<std::string> inherited_;
    std::unique_ptr<Watcher> watcher_;
    std::unique_ptr<PmiServer> server_;
    Destination out_;
    Destination err_;
    std::vector<std::unique_ptr<Rank>> ranks_;  ///< one a process that hosts some
    std::size_t running_count_ = 0;
    State state_ = State::running;
    std::optional<int> exit_code_;
    int user_signal_ = 0;  ///< the last deadly signal that was forwarded
    int poll_ = -1;
    int signals_ = -1;
    int shared_descriptor_ = -1;  ///< of the ranks: handed in by one, handed out to the others
    sigset_t signals_before_{};
    std::optional<Reservation> reservation_;  ///< cores that the ranks leave to others
    rlimit descriptors_before_{};
    bool is_out_watched_ = false;
    bool is_err_watched_ = false;
    bool is_prompt_possible_ = false;  ///< rank 0 reads a terminal
    Deadline end_requested_at_;        ///< when the last INT or TERM came
    Deadline timeout_;
    Deadline kill_at_;
    Deadline sweep_at_;
    Deadline prompt_at_;
    int sweep_count_ = 0;
};

}  // namespace headway::launch

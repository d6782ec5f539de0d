// SPDX-License-Identifier: Apache-2.0
// A rank of the host program: what a process would be to it.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "host_plan.hpp"
#include "host_thread.hpp"
#include "loader.hpp"
#include "option_reader.hpp"
#include "rank_environment.hpp"
#include "rank_zone.hpp"
#include "ult/task.hpp"

namespace headway::launch {

class Host;

/// State that libc keeps once a process and a program expects for itself.
struct LibcState {
    std::mutex mutex;  ///< for random numbers, which threads of a rank may draw at once
    random_data random{};
    char random_state[128] = {};
    drand48_data drand48{};
    char* strtok_rest = nullptr;
    std::tm broken_down{};
    char time_text[32] = {};
    OptionReader options;
    RankZone zone;
    // libc's variables, for code that has no copies of its own.
    char** environment = nullptr;
    char* optarg = nullptr;
    int optind = 1;
    int opterr = 1;
    int optopt = '?';
    std::FILE* input = nullptr;
    std::FILE* output = nullptr;
    std::FILE* errors = nullptr;
    char* zone_names[2] = {};
    long seconds_west = 0;
    int has_summer = 0;
};

class HostedRank {
  public:
    HostedRank(Host& host, int number, const HostPlan::Program& plan, const HostedProgram& program,
               std::vector<int> cpus);
    HostedRank(const HostedRank&) = delete;
    HostedRank& operator=(const HostedRank&) = delete;
    ~HostedRank() = default;

    /// Loads the rank's copy of the program. Before its thread is there: what the loader takes of a
    /// stack and of caches is there once, and only one of many threads asks for mappings.
    void load_copy();
    /// Becomes the rank: runs the program. The rank's thread; does not return.
    [[noreturn]] void run();

    /// What __libc_start_main is asked to do, on the rank's thread.
    [[noreturn]] void start_main(int (*main)(int, char**, char**), int argument_count,
                                 char** arguments, int (*old_init)(int, char**, char**));

    /// exit(): what was registered, destructors, streams, then end_now(). Any thread of the rank;
    /// does not return. A second thread that asks waits for the process's end.
    [[noreturn]] void exit(int code);
    /// What exit() has the program's own code do: what was registered, destructors. In the child of
    /// a fork nothing else belongs to the rank.
    void take_down(int code);
    /// _exit().
    [[noreturn]] void end_now(int code);

    /// __cxa_atexit and on_exit. False: there is no memory.
    bool add_exit_call(void (*function)(void*), void* argument, void* owner);
    bool add_exit_call(void (*function)(int, void*), void* argument);
    bool add_quick_exit_call(void (*function)(void*), void* argument);
    [[noreturn]] void quick_exit(int code);
    /// Runs and forgets what `owner` (a dso handle) has registered; null: all.
    void run_exit_calls(const void* owner, int code);

    /// Makes the calling thread, which the rank has started, one of its own.
    void adopt_thread() noexcept;
    void count_thread_started() noexcept;
    void count_thread_ended() noexcept;
    void wait_for_other_threads() noexcept;

    int number() const noexcept { return number_; }  ///< in the job
    bool is_over() const noexcept
    {
        return is_over_.load(std::memory_order_relaxed);  // relaxed: for reports
    }
    /// Sends a signal to the thread that runs main; false: there is none yet.
    bool interrupt(int signal) const noexcept;
    /// As a user-level thread.
    ult::Task& task() noexcept { return task_; }
    /// The most that its stack ever held, by the pages that it has touched.
    std::size_t stack_bytes_used() const;
    const LoadedProgram& image() const noexcept { return image_; }
    const std::string& program_path() const noexcept { return program_.path; }
    RankEnvironment& environment() noexcept { return environment_; }
    LibcState& libc() noexcept { return libc_; }
    std::FILE* input() noexcept { return variable("stdin", libc_.input); }
    std::FILE* output() noexcept { return variable("stdout", libc_.output); }
    /// One of the three streams that the rank was born with.
    bool is_standard(const std::FILE* stream) const noexcept
    {
        return stream == streams_[0] || stream == streams_[1] || stream == streams_[2];
    }
    /// Forgets what waits in standard output; for the child of a fork, where it is another rank's.
    void drop_output() noexcept;
    /// Those beside getopt: in the program where it has copies of them, else here.
    OptionVariables option_variables() noexcept;
    /// Likewise tzname, timezone and daylight.
    ZoneVariables zone_variables() noexcept;

  private:
    struct ExitCall {
        void (*function)(void*);
        void (*function_with_code)(int, void*);
        void* argument;
        const void* owner;
    };

    [[noreturn]] void fail(const std::string& sentence);
    /// Where the program's copy of a variable of libc lies; null: it has none.
    void* copied_variable(std::string_view name) const noexcept;
    RankVariables own_variables() noexcept;
    template <typename Value>
    Value& variable(std::string_view name, Value& own) const noexcept
    {
        auto* const copied = static_cast<Value*>(copied_variable(name));
        return copied != nullptr ? *copied : own;
    }
    void take_place();
    void go_to_directory(bool is_apart);
    void remember_stack() noexcept;
    void name_program();
    [[noreturn]] void enter_program();
    void set_copied_variables(char** arguments);
    void open_streams();
    void run_inits(int argument_count, char** arguments, int (*old_init)(int, char**, char**));
    void run_finis();

    Host& host_;
    const int number_;
    const HostPlan::Program& plan_;
    const HostedProgram& program_;
    const std::vector<int> cpus_;
    std::vector<std::string> arguments_;  ///< of main, which may change them
    ult::Task task_;
    std::atomic<pthread_t> thread_;  ///< where it was born; written by it, read for reports
    char* stack_begin_ = nullptr;    ///< lowest address; written before the program starts
    std::size_t stack_bytes_ = 0;
    LoadedProgram image_;
    RankEnvironment environment_;
    LibcState libc_;
    std::array<std::FILE*, 3> streams_{};  ///< written before the program starts
    std::recursive_mutex exit_mutex_;      ///< guards the two lists
    std::vector<ExitCall> exit_calls_;
    std::vector<ExitCall> quick_exit_calls_;
    std::atomic<bool> is_exiting_{false};  ///< set by the thread that ends the rank
    std::atomic<bool> is_over_{false};
    bool is_initialised_ = false;  ///< constructors have run; written and read by rank's threads
    std::atomic<int> other_threads_{0};
};

/// The rank whose code asks for a function of libc that the host program shows: null where the
/// MPI library asks, or a thread of the host.
HostedRank* asking_rank(const void* caller) noexcept;

/// The rank's; null: what belongs to nobody, for threads of the host.
LibcState& state_of(HostedRank* rank);

}  // namespace headway::launch

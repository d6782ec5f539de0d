// SPDX-License-Identifier: Apache-2.0
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "job.hpp"

namespace headway::launch {
namespace {

constexpr std::chrono::milliseconds end_grace{2000};
/// A debugger gets interrupts again and again; only two in quick succession mean the job.
constexpr std::chrono::milliseconds second_request_time{5000};
constexpr std::chrono::milliseconds sweep_pause{20};
/// Rounds of the sweep that ask politely, and rounds after which it gives up.
constexpr int sweep_polite_rounds = 50;
constexpr int sweep_rounds_max = 500;

std::string describe_signal(int signal)
{
    const char* text = ::sigdescr_np(signal);
    return "signal " + std::to_string(signal) + " (" + (text == nullptr ? "unknown" : text) + ")";
}

}  // namespace

std::string Job::name_of(std::size_t rank) const
{
    const std::string pid = " (pid " + std::to_string(ranks_[rank]->pid) + ")";
    if (!is_hosted()) {
        return "rank " + std::to_string(rank) + pid;
    }
    const Share share = ranks_of(rank);
    return "the process of " +
           (share.count == identity_.rank_count ? "all ranks"
            : share.count == 1 ? "rank " + std::to_string(share.first)
                               : "ranks " + std::to_string(share.first) + " to " +
                                     std::to_string(share.first + share.count - 1)) +
           pid;
}

Share Job::ranks_of(std::size_t process) const noexcept
{
    return is_hosted() ? share_of(identity_.rank_count, options_.processes_per_node,
                                  static_cast<int>(process))
                       : Share{static_cast<int>(process), 1};
}

std::string_view Job::and_others() const noexcept
{
    return ranks_.size() > 1 ? "; the other ranks were ended" : "";
}

void Job::set_exit_code(int code)
{
    if (!exit_code_ && code != 0) {
        exit_code_ = code;
    }
}

void Job::signal_ranks(int signal) const
{
    for (const auto& rank : ranks_) {
        if (rank->is_running) {
            ::kill(-rank->pid, signal);
        }
    }
}

void Job::end_job(int code, const std::string& sentence, int signal)
{
    if (state_ != State::running) {
        return;
    }
    state_ = State::ending;
    set_exit_code(code);
    for (std::size_t index = 0; index < ranks_.size(); ++index) {
        drain_output(*ranks_[index], index);
    }
    if (!sentence.empty()) {
        say(sentence);
    }
    signal_ranks(signal);
    signal_ranks(SIGCONT);
    kill_at_ = Clock::now() + end_grace;
}

void Job::take_signals()
{
    signalfd_siginfo news{};
    bool has_child_ended = false;
    while (::read(signals_, &news, sizeof(news)) == static_cast<ssize_t>(sizeof(news))) {
        const int signal = static_cast<int>(news.ssi_signo);
        if (signal == SIGCHLD) {
            has_child_ended = true;
        } else {
            take_signal(signal);
        }
    }
    if (has_child_ended) {
        reap();
    }
}

void Job::take_signal(int signal)
{
    if (signal == SIGTSTP) {
        stop_until_continued();
        return;
    }
    if (signal == SIGCONT) {
        signal_ranks(SIGCONT);
        return;
    }
    user_signal_ = signal;
    if (signal == SIGINT || signal == SIGTERM) {
        const auto now = Clock::now();
        const bool is_second = end_requested_at_ && now - *end_requested_at_ < second_request_time;
        end_requested_at_ = now;
        if (is_second || state_ != State::running) {
            end_at_once(signal);
            return;
        }
    }
    signal_ranks(signal);
}

void Job::end_at_once(int signal)
{
    end_job(128 + signal, "the ranks were killed by a second " + describe_signal(signal));
    signal_ranks(SIGKILL);
    sweep_count_ = std::max(sweep_count_, sweep_polite_rounds);
    if (state_ == State::flushing) {
        set_exit_code(128 + signal);
        state_ = State::done;
    }
}

void Job::stop_until_continued()
{
    // The ranks' groups are orphaned ones for the kernel, where SIGTSTP has no effect.
    signal_ranks(SIGSTOP);
    const auto stopped_at = Clock::now();
    ::raise(SIGSTOP);
    if (timeout_) {
        *timeout_ += Clock::now() - stopped_at;
    }
    signal_ranks(SIGCONT);
}

void Job::reap()
{
    while (true) {
        int status = 0;
        const pid_t pid = ::waitpid(-1, &status, WNOHANG);
        if (pid <= 0) {
            return;
        }
        const auto rank = std::find_if(ranks_.begin(), ranks_.end(), [pid](const auto& each) {
            return each->is_running && each->pid == pid;
        });
        if (rank != ranks_.end()) {
            judge_end(static_cast<std::size_t>(rank - ranks_.begin()), status);
        }
    }
}

void Job::judge_killed_rank()
{
    for (std::size_t index = 0; index < ranks_.size(); ++index) {
        siginfo_t news{};
        if (!ranks_[index]->is_running ||
            ::waitid(P_PID, static_cast<id_t>(ranks_[index]->pid), &news,
                     WEXITED | WNOHANG | WNOWAIT) != 0 ||
            (news.si_code != CLD_KILLED && news.si_code != CLD_DUMPED)) {
            continue;
        }
        int status = 0;
        if (::waitpid(ranks_[index]->pid, &status, WNOHANG) > 0) {
            judge_end(index, status);
        }
    }
}

void Job::judge_end(std::size_t rank, int status)
{
    Rank& ended = *ranks_[rank];
    read_pmi(rank);
    drain_output(ended, rank);
    ended.is_running = false;
    ended.pmi_closed_until.reset();
    --running_count_;
    if (state_ != State::running) {
        return;
    }
    const bool is_inside = server_->is_inside(rank);
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        const std::string dump = WCOREDUMP(status) ? ", core dumped" : "";
        // Hosts that say where their ranks are end by themselves.
        const bool is_asked = is_hosted() && signal == SIGQUIT && signal == user_signal_;
        end_job(128 + signal,
                signal == user_signal_
                    ? "the job was ended by " + describe_signal(signal)
                    : name_of(rank) + " was killed by " + describe_signal(signal) + dump +
                          std::string(and_others()),
                is_asked ? SIGQUIT : SIGTERM);
        return;
    }
    const int code = WEXITSTATUS(status);
    if (code != 0 && is_hosted()) {
        // The host program has named the rank.
        end_job(code, "");
    } else if (code != 0) {
        const std::string what = name_of(rank) + " exited with code " + std::to_string(code);
        if (server_->has_left(rank) && !is_inside) {
            // It has left MPI in good order, so the others can go on.
            set_exit_code(code);
            say(what);
        } else {
            end_job(code, what + std::string(and_others()));
        }
    } else if (is_inside) {
        end_job(1, name_of(rank) + " exited without calling MPI_Finalize or MPI_Session_finalize" +
                       std::string(and_others()));
    }
    check_barrier();
}

void Job::check_barrier()
{
    if (state_ != State::running || !server_->has_waiter() || running_count_ == ranks_.size()) {
        return;
    }
    const auto gone = std::find_if(ranks_.begin(), ranks_.end(),
                                   [](const auto& rank) { return !rank->is_running; });
    end_job(1, name_of(static_cast<std::size_t>(gone - ranks_.begin())) +
                   " has exited while other ranks wait for it in MPI_Init or MPI_Finalize; the "
                   "other ranks were ended");
}

std::vector<pid_t> Job::leftovers() const
{
    auto processes = descendants_of(::getpid());
    std::erase(processes, watcher_->pid());
    return processes;
}

void Job::go_on_if_all_ended()
{
    if (running_count_ == 0 && (state_ == State::running || state_ == State::ending)) {
        state_ = State::sweeping;
        kill_at_.reset();
        timeout_.reset();
        sweep();
    }
}

void Job::sweep()
{
    const auto processes = leftovers();
    if (!processes.empty() && sweep_count_ < sweep_rounds_max) {
        const bool is_polite = sweep_count_ < sweep_polite_rounds;
        for (const pid_t pid : processes) {
            if (!is_polite || sweep_count_ == 0) {
                ::kill(pid, is_polite ? SIGTERM : SIGKILL);
                ::kill(pid, SIGCONT);
            }
        }
        ++sweep_count_;
        sweep_at_ = Clock::now() + sweep_pause;
        return;
    }
    if (!processes.empty()) {
        say("process " + std::to_string(processes.front()) + " and " +
            std::to_string(processes.size() - 1) +
            " others that the ranks started do not end; end them by hand");
    }
    for (std::size_t index = 0; index < ranks_.size(); ++index) {
        drain_output(*ranks_[index], index);
        for (Stream& stream : ranks_[index]->streams) {
            close_stream(stream);
        }
        close_pmi(*ranks_[index]);
    }
    state_ = State::flushing;
}

}  // namespace headway::launch

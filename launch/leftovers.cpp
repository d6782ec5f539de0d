// SPDX-License-Identifier: Apache-2.0
#include "leftovers.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <iterator>
#include <map>
#include <string_view>

#include "boot/pmi1_line.hpp"
#include "file_bytes.hpp"

namespace headway::launch {
namespace {

std::vector<std::string> names_in(const char* directory)
{
    std::vector<std::string> names;
    DIR* stream = ::opendir(directory);
    if (stream == nullptr) {
        return names;
    }
    while (const dirent* entry = ::readdir(stream)) {
        names.emplace_back(entry->d_name);
    }
    ::closedir(stream);
    return names;
}

std::vector<pid_t> all_processes()
{
    std::vector<pid_t> processes;
    for (const std::string& name : names_in("/proc")) {
        if (const auto pid = boot::parse_int(name)) {
            processes.push_back(*pid);
        }
    }
    return processes;
}

/// A file of the process in /proc; empty when the process is gone. It may go between opening and
/// reading (ESRCH), which a stream buffer answers with an exception.
std::string content_of(pid_t pid, const char* file)
{
    const auto bytes = read_file("/proc/" + std::to_string(pid) + "/" + file);
    if (!bytes) {
        return {};
    }
    return {reinterpret_cast<const char*>(bytes.value().data()), bytes.value().size()};
}

/// Parent of a living process; 0 for a zombie or one that is gone.
pid_t parent_of(pid_t pid)
{
    const std::string status = content_of(pid, "stat");
    // The name in parentheses may hold anything; the last one ends it. Then: blank, state, blank,
    // parent.
    const std::size_t name_end = status.rfind(')');
    if (name_end == std::string::npos || name_end + 4 >= status.size()) {
        return 0;
    }
    const char state = status[name_end + 2];
    const std::string_view rest = std::string_view(status).substr(name_end + 4);
    return state == 'Z' || state == 'X'
               ? 0
               : boot::parse_int(rest.substr(0, rest.find(' '))).value_or(0);
}

/// Kills all of the job until two looks in a row find nothing, or it has looked often enough.
void kill_all_of(const std::string& job)
{
    constexpr int looks_max = 200;
    const timespec pause{0, 10'000'000};
    int clean_looks = 0;
    for (int look = 0; look < looks_max && clean_looks < 2; ++look) {
        const auto processes = processes_of_job(job);
        for (const pid_t pid : processes) {
            ::kill(pid, SIGKILL);
        }
        clean_looks = processes.empty() ? clean_looks + 1 : 0;
        ::nanosleep(&pause, nullptr);
    }
}

[[noreturn]] void watch(int line, const std::string& job)
{
    ::setsid();
    ::prctl(PR_SET_NAME, "headway-watcher");
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    // Whoever reads mpiexec's output must see its end when mpiexec has gone. Standard error has
    // one more sentence to carry.
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO}) {
        ::close(stream);
    }
    char word = 0;
    ssize_t count = 0;
    do {
        count = ::read(line, &word, 1);
    } while (count < 0 && errno == EINTR);
    if (count == 0) {
        kill_all_of(job);
        remove_shared_memory(job);
        constexpr std::string_view sentence =
            "headway mpiexec: mpiexec was killed; its ranks were ended and their shared memory was "
            "removed\n";
        [[maybe_unused]] const ssize_t written =
            ::write(STDERR_FILENO, sentence.data(), sentence.size());
    }
    ::_exit(0);
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t ancestor)
{
    std::multimap<pid_t, pid_t> children;
    for (const pid_t pid : all_processes()) {
        children.emplace(parent_of(pid), pid);
    }
    std::vector<pid_t> found{ancestor};
    for (std::size_t next = 0; next < found.size(); ++next) {
        const auto [first, last] = children.equal_range(found[next]);
        std::transform(first, last, std::back_inserter(found),
                       [](const auto& entry) { return entry.second; });
    }
    found.erase(found.begin());
    return found;
}

std::vector<pid_t> processes_of_job(const std::string& job)
{
    using namespace std::string_view_literals;
    std::string mark("\0HEADWAY_JOB="sv);
    mark.append(job).append("\0"sv);
    std::vector<pid_t> found;
    for (const pid_t pid : all_processes()) {
        std::string environment(1, '\0');
        environment += content_of(pid, "environ");
        if (environment.find(mark) != std::string::npos && parent_of(pid) != 0) {
            found.push_back(pid);
        }
    }
    return found;
}

void remove_shared_memory(const std::string& job)
{
    const std::string prefix = "headway-" + job + "-";
    for (const std::string& name : names_in("/dev/shm")) {
        if (name.starts_with(prefix)) {
            ::shm_unlink(("/" + name).c_str());
        }
    }
}

Watcher::Watcher(const std::string& job)
{
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return;
    }
    pid_ = ::fork();
    if (pid_ == 0) {
        ::close(ends[1]);
        watch(ends[0], job);
    }
    ::close(ends[0]);
    line_ = ends[1];
}

Watcher::~Watcher()
{
    if (line_ < 0) {
        return;
    }
    const char word = 'd';
    const bool is_sent = ::write(line_, &word, 1) == 1;
    ::close(line_);
    while (is_sent && pid_ > 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace headway::launch

// SPDX-License-Identifier: Apache-2.0
#include "child.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "boot/pmi1_line.hpp"
#include "environment.hpp"

namespace headway::launch {
namespace {

enum class Step : int { group, streams, directory, binding, program };

/// What a child that could not be started writes to its parent.
struct Report {
    Step step;
    int error;
};

struct Pipe {
    int reader = -1;
    int writer = -1;
};

bool open_pipe(Pipe& pipe)
{
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return false;
    }
    pipe = {ends[0], ends[1]};
    return true;
}

void close_all(std::initializer_list<int> descriptors)
{
    for (const int descriptor : descriptors) {
        if (descriptor >= 0) {
            ::close(descriptor);
        }
    }
}

bool bind_to(const std::vector<int>& cpus)
{
    if (cpus.empty()) {
        return true;
    }
    const auto count = static_cast<std::size_t>(*std::max_element(cpus.begin(), cpus.end())) + 1;
    cpu_set_t* set = CPU_ALLOC(count);
    const std::size_t size = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(size, set);
    for (const int cpu : cpus) {
        CPU_SET_S(static_cast<std::size_t>(cpu), size, set);
    }
    const bool is_bound = ::sched_setaffinity(0, size, set) == 0;
    CPU_FREE(set);
    return is_bound;
}

bool connect_streams(const ChildPlan& plan, int out, int err)
{
    if (!plan.has_stdin) {
        const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (nothing < 0 || ::dup2(nothing, 0) < 0) {
            return false;
        }
    }
    for (const int kept : {plan.pmi_descriptor, plan.plan_descriptor}) {
        if (kept >= 0 && ::fcntl(kept, F_SETFD, 0) != 0) {
            return false;
        }
    }
    return ::dup2(out, 1) >= 0 && ::dup2(err, 2) >= 0;
}

/// A rank has no terminal: it would be stopped where it reads it, or get the keys of mpiexec.
void leave_terminal()
{
    const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (terminal >= 0) {
        ::ioctl(terminal, TIOCNOTTY);
        ::close(terminal);
    }
}

/// Runs in the child; returns the step that failed, with errno. A group of its own, and no session:
/// the system shares cores out by sessions (sched_autogroup_enabled), and a rank that yields its
/// core would find nobody of its own to yield it to.
Step become_program(const ChildPlan& plan, pid_t parent, int out, int err)
{
    if (::setpgid(0, 0) != 0 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
        return Step::group;
    }
    leave_terminal();
    if (::getppid() != parent) {
        ::_exit(1);
    }
    std::signal(SIGPIPE, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &plan.signals, nullptr);
    if (plan.descriptors.rlim_cur != 0) {
        ::setrlimit(RLIMIT_NOFILE, &plan.descriptors);
    }
    if (!connect_streams(plan, out, err)) {
        return Step::streams;
    }
    if (!plan.directory.empty() && ::chdir(plan.directory.c_str()) != 0) {
        return Step::directory;
    }
    if (!bind_to(plan.cpus)) {
        return Step::binding;
    }
    const auto arguments = pointers_to(plan.arguments);
    const auto environment = pointers_to(plan.environment);
    ::execvpe(arguments[0], arguments.data(), environment.data());
    return Step::program;
}

std::string describe(int error)
{
    std::string text = std::strerror(error);
    if (error == EMFILE) {
        text += "; mpiexec needs 3 descriptors a rank, so raise ulimit -n";
    }
    return text;
}

base::Failure explain(const ChildPlan& plan, const Report& report)
{
    const std::string why = describe(report.error);
    const std::string& program = plan.arguments[0];
    switch (report.step) {
        case Step::directory:
            return {"cannot start in directory " + boot::quote_bytes(plan.directory) + ": " + why};
        case Step::binding:
            return {"cannot bind to cores: " + why + "; use --bind-to none"};
        case Step::program:
            break;
        default:
            return {"cannot set up a process for " + boot::quote_bytes(program) + ": " + why};
    }
    std::string sentence = "cannot start " + boot::quote_bytes(program) + ": " + why;
    const bool is_bare = program.find('/') == std::string::npos;
    if (report.error == ENOENT && is_bare) {
        const bool is_here = ::access(program.c_str(), X_OK) == 0;
        sentence += is_here ? "; it is in this directory, so write ./" + program
                            : "; no directory of PATH has it";
    } else if (report.error == ENOEXEC) {
        sentence += "; a script needs a first line such as #!/bin/sh";
    }
    return {std::move(sentence)};
}

}  // namespace

base::Result<Child> start_child(const ChildPlan& plan)
{
    Pipe out;
    Pipe err;
    Pipe news;
    const auto give_up = [&](const std::string& what) -> base::Failure {
        const int error = errno;
        close_all({out.reader, out.writer, err.reader, err.writer, news.reader, news.writer});
        return {what + ": " + describe(error)};
    };
    if (!open_pipe(out) || !open_pipe(err) || !open_pipe(news)) {
        return give_up("cannot make pipes for a rank");
    }
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) {
        return give_up("cannot create a process for a rank");
    }
    if (pid == 0) {
        const Step step = become_program(plan, parent, out.writer, err.writer);
        const Report report{step, errno};
        const bool is_told = ::write(news.writer, &report, sizeof(report)) > 0;
        ::_exit(is_told ? 127 : 126);
    }
    close_all({out.writer, err.writer, news.writer});
    Report report{};
    ssize_t count = 0;
    do {
        count = ::read(news.reader, &report, sizeof(report));
    } while (count < 0 && errno == EINTR);
    close_all({news.reader});
    if (count == static_cast<ssize_t>(sizeof(report))) {
        close_all({out.reader, err.reader});
        return explain(plan, report);
    }
    ::fcntl(out.reader, F_SETFL, O_NONBLOCK);
    ::fcntl(err.reader, F_SETFL, O_NONBLOCK);
    return Child{pid, out.reader, err.reader};
}

}  // namespace headway::launch

// SPDX-License-Identifier: Apache-2.0
// SIGQUIT says where each rank is, then ends the process as it would have. A thread that runs no
// rank asks them one after the other, and writes what each has shown at once, so that their lines
// do not mix, nor with those of another process's ranks; a rank that sleeps in a worker is woken
// for it, one that runs is interrupted.
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <string>

#include "host.hpp"
#include "libc_functions.hpp"
#include "platform/futex.hpp"

namespace headway::launch {
namespace {

/// A rank that does not show itself for so long is passed over: it may be stopped in the kernel.
constexpr std::int64_t patience_ns = 500'000'000;

// Futexes. 1: SIGQUIT has come; set by its handler, read by the thread that asks.
std::atomic<std::uint32_t> has_quit_come{0};
// Ranks that have shown themselves; written by each, read by the thread that asks.
std::atomic<std::uint32_t> shown_count{0};

// Where ranks show themselves: a memory file. Written by the thread that asks, before it does.
std::atomic<int> frames_file{STDERR_FILENO};

int interruption() noexcept
{
    return SIGRTMAX - 1;
}

void note_quit(int /*signal*/)
{
    // Relaxed: says that it is time, and hands nothing over.
    has_quit_come.store(1, std::memory_order_relaxed);
    platform::system_wake(has_quit_come, 1);
}

/// In the rank's own context, perhaps in a handler of a signal.
void show_own_frames()
{
    constexpr int own_frames = 1;
    std::array<void*, 64> frames{};
    const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
    if (count > own_frames) {
        // Relaxed: the file was made before the rank was asked.
        ::backtrace_symbols_fd(frames.data() + own_frames, count - own_frames,
                               frames_file.load(std::memory_order_relaxed));
    }
    // (1) release, pairs with (2): its lines come before those of the next.
    shown_count.fetch_add(1, std::memory_order_release);
    platform::system_wake(shown_count, 1);
}

void show_interrupted(int /*signal*/)
{
    if (own_thread().rank != nullptr) {
        show_own_frames();
    }
}

/// What the file holds, which is empty then.
std::string take_bytes(int file)
{
    std::string bytes;
    std::array<char, 4096> chunk{};
    for (ssize_t count = 1; count > 0;) {
        count = ::pread(file, chunk.data(), chunk.size(), static_cast<off_t>(bytes.size()));
        bytes.append(chunk.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    (void)!::ftruncate(file, 0);
    (void)::lseek(file, 0, SEEK_SET);
    return bytes;
}

void await_shown(std::uint32_t count) noexcept
{
    const auto deadline = platform::Deadline::after_ns(patience_ns);
    for (;;) {
        // (2) acquire, pairs with (1).
        const std::uint32_t seen = shown_count.load(std::memory_order_acquire);
        if (seen >= count || deadline.has_passed()) {
            return;
        }
        (void)platform::system_wait(shown_count, seen, deadline.ns());
    }
}

void* wait_for_quit(void* host)
{
    // Relaxed: see note_quit().
    while (has_quit_come.load(std::memory_order_relaxed) == 0) {
        (void)platform::system_wait(has_quit_come, 0, platform::Deadline::never().ns());
    }
    static_cast<Host*>(host)->show_ranks();
    struct sigaction plain{};
    plain.sa_handler = SIG_DFL;
    ::sigaction(SIGQUIT, &plain, nullptr);
    ::kill(::getpid(), SIGQUIT);
    return nullptr;
}

}  // namespace

void show_where_rank_is()
{
    show_own_frames();
}

void Host::show_ranks() const
{
    const int file = ::memfd_create("headway-frames", MFD_CLOEXEC);
    if (file >= 0) {
        frames_file.store(file, std::memory_order_relaxed);  // relaxed: see show_own_frames()
    }
    struct sigaction action{};
    action.sa_handler = &show_interrupted;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    ::sigaction(interruption(), &action, nullptr);
    for (const auto& rank : ranks_) {
        if (rank->is_over()) {
            print(name_of(*rank) + " has ended\n");
            continue;
        }
        std::string lines = name_of(*rank) + " is here:\n";
        // Relaxed: this thread waits for the last one before it asks the next.
        const std::uint32_t before = shown_count.load(std::memory_order_relaxed);
        if (crew_ != nullptr) {
            crew_->crew().inspect(rank->task(), interruption());
        } else if (!rank->interrupt(interruption())) {
            print(lines);
            continue;
        }
        await_shown(before + 1);
        print(lines.append(take_bytes(file)));
    }
}

void Host::watch_for_quit()
{
    // The first call loads what later ones need.
    std::array<void*, 1> frame{};
    (void)::backtrace(frame.data(), 1);
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread{};
    if (libc_functions().pthread_create(&thread, nullptr, &wait_for_quit, this) == 0) {
        ::pthread_detach(thread);
        struct sigaction action{};
        action.sa_handler = &note_quit;
        action.sa_flags = SA_ONSTACK | SA_RESTART;
        ::sigaction(SIGQUIT, &action, nullptr);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace headway::launch

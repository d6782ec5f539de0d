// SPDX-License-Identifier: Apache-2.0
// Runs in handlers of signals: nothing here allocates or locks.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "host.hpp"
#include "hosted_rank.hpp"

namespace headway::launch {
namespace {

constexpr std::array fatal_signals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};

class Line {
  public:
    void add(const char* text) noexcept
    {
        while (*text != '\0' && length_ < sizeof text_) {
            text_[length_++] = *text++;
        }
    }
    void add(std::uint64_t number, unsigned base) noexcept
    {
        char digits[24];
        char* first = digits + sizeof digits;
        *--first = '\0';
        do {
            *--first = "0123456789abcdef"[number % base];
            number /= base;
        } while (number != 0);
        add(first);
    }
    void write() const noexcept { (void)!::write(STDERR_FILENO, text_, length_); }

  private:
    char text_[200];
    std::size_t length_ = 0;
};

void name_rank(int signal, siginfo_t* cause, void*)
{
    if (const HostedRank* rank = own_thread().rank; rank != nullptr) {
        Line line;
        line.add("headway: rank ");
        line.add(static_cast<std::uint64_t>(rank->number()), 10);
        line.add(" was killed by signal ");
        line.add(static_cast<std::uint64_t>(signal), 10);
        const char* const description = ::sigdescr_np(signal);
        line.add(" (");
        line.add(description == nullptr ? "unknown" : description);
        line.add(")");
        if (cause->si_code > 0 && (signal == SIGSEGV || signal == SIGBUS)) {
            line.add(" at address 0x");
            line.add(reinterpret_cast<std::uintptr_t>(cause->si_addr), 16);
        }
        line.add("; with it end the other ranks of its process\n");
        line.write();
    }
    // As if nobody had looked: the core and the exit status are those of the signal.
    struct sigaction plain{};
    plain.sa_handler = SIG_DFL;
    ::sigaction(signal, &plain, nullptr);
    ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), signal);
}

}  // namespace

void name_ranks_in_fatal_signals() noexcept
{
    for (const int signal : fatal_signals) {
        struct sigaction action{};
        action.sa_sigaction = &name_rank;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        ::sigemptyset(&action.sa_mask);
        ::sigaction(signal, &action, nullptr);
    }
}

}  // namespace headway::launch

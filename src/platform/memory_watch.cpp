// SPDX-License-Identifier: Apache-2.0
#include "platform/memory_watch.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>

#include "platform/fork.hpp"

namespace headway::platform {

namespace {

// Headers of Linux before 5.11 do not have it.
constexpr unsigned long user_mode_only = 1;

constexpr std::size_t probe_bytes = 4096;  ///< a page, or less than one

std::string reason_of(int error)
{
    return std::strerror(error);
}

std::uintptr_t page_bytes() noexcept
{
    static const auto bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

/// A child by fork() must not keep what its parent watches by: once the parent has closed it,
/// nobody would read, and the parent's next munmap() would wait for the child's end.
class Descriptors {
  public:
    /// False: there is no place, or children cannot be told.
    bool add(int descriptor) noexcept
    {
        static const bool are_told = tell_forked_children(&close_all);
        for (std::atomic<int>& place : places_) {
            int none = -1;
            // Relaxed: a child by fork() sees what its parent's thread saw; others of the parent
            // that open or close a watch meanwhile leave the child a descriptor at worst.
            if (are_told &&
                place.compare_exchange_strong(none, descriptor, std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }
    void remove(int descriptor) noexcept
    {
        for (std::atomic<int>& place : places_) {
            int found = descriptor;
            // Relaxed: as above.
            (void)place.compare_exchange_strong(found, -1, std::memory_order_relaxed);
        }
    }

  private:
    static void close_all() noexcept;

    std::array<std::atomic<int>, 8> places_{-1, -1, -1, -1, -1, -1, -1, -1};
};

constinit Descriptors descriptors_of_watches;

void Descriptors::close_all() noexcept
{
    for (std::atomic<int>& place : descriptors_of_watches.places_) {
        // Relaxed: the child has one thread.
        const int descriptor = place.exchange(-1, std::memory_order_relaxed);
        if (descriptor >= 0) {
            ::close(descriptor);
        }
    }
}

}  // namespace

base::Result<std::unique_ptr<MemoryWatch>> MemoryWatch::open(bool may_ask)
{
    std::unique_ptr<MemoryWatch> watch(new MemoryWatch);
    if (auto prepared = watch->prepare(may_ask); !prepared) {
        return base::Failure{prepared.sentence()};
    }
    return watch;
}

base::Outcome MemoryWatch::prepare(bool may_ask)
{
    if (!map_.open(may_ask)) {
        return base::Failure{"/proc/self/maps cannot be read; mount /proc"};
    }
    // Faults of the system's own calls are not ours to serve, and any user may do without them.
    descriptor_ =
        static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | user_mode_only));
    if (descriptor_ < 0) {
        return base::Failure{"the system gives no userfaultfd (" + reason_of(errno) +
                             "); it takes Linux 5.11, and in a container a seccomp profile that "
                             "allows it"};
    }
    uffdio_api asked{};
    asked.api = UFFD_API;
    asked.features = UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE |
                     UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
    if (::ioctl(descriptor_, UFFDIO_API, &asked) != 0) {
        return base::Failure{"the system's userfaultfd does not tell of memory that is unmapped (" +
                             reason_of(errno) +
                             "); it takes a newer Linux on this kind of machine"};
    }
    void* const probe =
        ::mmap(nullptr, probe_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stop_ = ::eventfd(0, EFD_CLOEXEC);
    if (probe == MAP_FAILED || stop_ < 0) {
        return base::Failure{"there is no memory to watch memory (" + reason_of(errno) + ")"};
    }
    probe_ = probe;
    const auto at = reinterpret_cast<std::uintptr_t>(probe);
    if (!watch({at, at + probe_bytes})) {
        return base::Failure{"the system does not watch memory by its userfaultfd (" +
                             reason_of(errno) + ")"};
    }
    if (!descriptors_of_watches.add(descriptor_)) {
        return base::Failure{"too many networks of this process watch memory; close one"};
    }
    if (!start_thread(listener_, [this] { listen(); })) {
        return base::Failure{
            "the system gives no thread to watch memory; raise the limit of "
            "threads (ulimit -u)"};
    }
    return base::Done{};
}

/// The descriptor goes before the thread that reads it ends: the end of a thread empties its stack,
/// which may lie in watched memory.
MemoryWatch::~MemoryWatch()
{
    if (listener_.joinable()) {
        const std::uint64_t one = 1;
        while (::write(stop_, &one, sizeof one) < 0 && errno == EINTR) {
        }
        listener_.join();
    } else if (descriptor_ >= 0) {
        descriptors_of_watches.remove(descriptor_);
        ::close(descriptor_);
    }
    if (stop_ >= 0) {
        ::close(stop_);
    }
    if (probe_ != nullptr) {
        ::munmap(probe_, probe_bytes);
    }
}

bool MemoryWatch::watch(const MemoryRange& range) noexcept
{
    const std::uintptr_t in_page = page_bytes() - 1;
    MemoryRange mappings;
    if (!map_.find_private({range.begin & ~in_page, (range.end + in_page) & ~in_page}, mappings)) {
        return false;
    }
    uffdio_register asked{};
    asked.range = {.start = mappings.begin, .len = mappings.end - mappings.begin};
    // No page will be protected: this is the mode in which nothing else becomes of faults.
    asked.mode = UFFDIO_REGISTER_MODE_WP;
    return ::ioctl(descriptor_, UFFDIO_REGISTER, &asked) == 0;
}

bool MemoryWatch::is_settled() noexcept
{
    // To take away a protection that is not there does nothing, but the system refuses it (EAGAIN)
    // from the moment on at which a change of watched memory begins until it has been read.
    uffdio_writeprotect asked{};
    asked.range = {.start = reinterpret_cast<std::uintptr_t>(probe_), .len = page_bytes()};
    if (::ioctl(descriptor_, UFFDIO_WRITEPROTECT, &asked) != 0) {
        return false;
    }
    // (2) acquire, pairs with (3): what was read is written down. A read-modify-write, which is not
    // made before the call above: that had to find what (1) came before.
    return is_reading_.fetch_add(0, std::memory_order_seq_cst) == 0;
}

bool MemoryWatch::take_change(MemoryRange& changed) noexcept
{
    // Relaxed, as the rest: (2) has seen to it that what counts is visible.
    if (has_lost_.load(std::memory_order_relaxed) &&
        has_lost_.exchange(false, std::memory_order_relaxed)) {
        changed = {0, std::numeric_limits<std::uintptr_t>::max()};
        return true;
    }
    const std::uint32_t taken = taken_.load(std::memory_order_relaxed);
    // (5) acquire, pairs with (4): the change is whole.
    if (taken == written_.load(std::memory_order_acquire)) {
        return false;
    }
    changed = changes_[taken % changes_max];
    // (6) release, pairs with (7): the place may be written again.
    taken_.store(taken + 1, std::memory_order_release);
    return true;
}

/// The listener's.
void MemoryWatch::note(const MemoryRange& changed) noexcept
{
    const std::uint32_t written = written_.load(std::memory_order_relaxed);  // relaxed: its own
    // (7) acquire, pairs with (6).
    if (written - taken_.load(std::memory_order_acquire) == changes_max) {
        has_lost_.store(true, std::memory_order_relaxed);  // relaxed: see take_change()
        return;
    }
    changes_[written % changes_max] = changed;
    // (4) release, pairs with (5).
    written_.store(written + 1, std::memory_order_release);
}

/// The listener's: all there is. False: the system will tell no more.
bool MemoryWatch::read_events() noexcept
{
    for (;;) {
        std::array<uffd_msg, 16> events{};
        const ssize_t bytes = ::read(descriptor_, events.data(), sizeof events);
        if (bytes <= 0) {
            return bytes < 0 && (errno == EAGAIN || errno == EINTR);
        }
        for (std::size_t i = 0; i < static_cast<std::size_t>(bytes) / sizeof events[0]; ++i) {
            const uffd_msg& event = events[i];
            if (event.event == UFFD_EVENT_REMAP) {
                note({event.arg.remap.from, event.arg.remap.from + event.arg.remap.len});
                note({event.arg.remap.to, event.arg.remap.to + event.arg.remap.len});
            } else {
                note({event.arg.remove.start, event.arg.remove.end});
            }
        }
    }
}

/// The listener. Whoever changes watched memory waits until it has read of it, so it waits for
/// nobody, and neither allocates nor frees.
void MemoryWatch::listen() noexcept
{
    name_thread("headway-memory");
    std::array<pollfd, 2> looks{{{descriptor_, POLLIN, 0}, {stop_, POLLIN, 0}}};
    for (bool goes_on = true; goes_on;) {
        if (::poll(looks.data(), looks.size(), -1) < 0) {
            continue;
        }
        // (1) before the system knows that what it had to tell has been read.
        is_reading_.store(1, std::memory_order_seq_cst);
        goes_on = read_events() && looks[1].revents == 0;
        if (goes_on) {
            // (3) release, pairs with (2). Where the listener ends, nothing is settled any more.
            is_reading_.store(0, std::memory_order_release);
        }
    }
    descriptors_of_watches.remove(descriptor_);
    ::close(descriptor_);
}

}  // namespace headway::platform

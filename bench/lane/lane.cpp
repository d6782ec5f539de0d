// SPDX-License-Identifier: Apache-2.0
//
// One-way time of a payload between two pinned processes through a bare ring, by how many bytes the
// ring comes round after, by the bytes written before the next cell says so, by plain or streaming
// stores, and by whether the reader asks for lines ahead (platform::copy_cached). No protocol, no
// matching: what remains is cache lines that change cores. Before it, what one core takes for a
// copy by where its ends lie in their pages.
//
//   bench_lane [CORE CORE]
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "platform/cpu.hpp"
#include "platform/line_transfer.hpp"
#include "platform/memory_copy.hpp"
#include "platform/streaming_copy.hpp"
#include "sync/spsc_cells.hpp"

namespace headway {
namespace {

constexpr std::size_t round_bytes_max = std::size_t{4} << 20;
constexpr int repeats = 7;

struct Way {
    sync::SpscCells<64> cells;
    alignas(4096) std::byte bytes[round_bytes_max];
};

struct Shared {
    Way ways[2];  ///< by sender
};

struct Case {
    std::size_t payload;
    std::size_t round;
    std::size_t step;
    bool streams;
    bool asks_ahead;
};

/// One of the two processes.
class Side {
  public:
    Side(Shared& shared, int number)
        : out_(shared.ways[number]), in_(shared.ways[1 - number]), buffer_(round_bytes_max)
    {
        std::memset(buffer_.data(), number + 1, buffer_.size());
    }

    void send(const Case& shape)
    {
        const std::uint64_t begin = platform::ticks();
        for (std::size_t at = 0; at < shape.payload; at += shape.step) {
            while (out_.cells.reserve(true) == nullptr) {
            }
            std::byte* const place = out_.bytes + sent_ % shape.round;
            if (shape.streams) {
                platform::copy_streaming(place, buffer_.data() + at, shape.step);
            } else {
                platform::copy_departing(place, buffer_.data() + at, shape.step);
            }
            out_.cells.publish(true, 1);
            sent_ += shape.step;
        }
        writing_ticks_ += platform::ticks_after_stores() - begin;
    }

    /// Since this was asked last, by sends.
    std::uint64_t take_writing_ticks() { return std::exchange(writing_ticks_, 0); }

    void receive(const Case& shape)
    {
        for (std::size_t at = 0; at < shape.payload; at += shape.step) {
            while (in_.cells.peek() == nullptr) {
            }
            const std::byte* const place = in_.bytes + received_ % shape.round;
            platform::copy_arrived(buffer_.data() + at, place, shape.step, shape.asks_ahead);
            in_.cells.consume();
            received_ += shape.step;
        }
    }

  private:
    Way& out_;
    Way& in_;
    std::vector<std::byte> buffer_;
    std::size_t sent_ = 0;
    std::size_t received_ = 0;
    std::uint64_t writing_ticks_ = 0;
};

/// Means, in us: the least of the way, and of what its sender took until its stores had left.
struct Means {
    double way = std::numeric_limits<double>::max();
    double writing = std::numeric_limits<double>::max();
};

Means ping_pong(Side& side, bool is_first, const Case& shape)
{
    const int exchanges = static_cast<int>(
        std::clamp<std::size_t>((std::size_t{16} << 20) / shape.payload, 40, 2000));
    Means best;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        (void)side.take_writing_ticks();
        const std::uint64_t begin_ticks = platform::ticks();
        const std::int64_t begin = platform::monotonic_ns();
        for (int i = 0; i < exchanges; ++i) {
            if (is_first) {
                side.send(shape);
                side.receive(shape);
            } else {
                side.receive(shape);
                side.send(shape);
            }
        }
        const auto taken_ns = static_cast<double>(platform::monotonic_ns() - begin);
        const auto ticks = static_cast<double>(platform::ticks() - begin_ticks);
        const double writing = static_cast<double>(side.take_writing_ticks()) / ticks * 2;
        const double way = taken_ns / exchanges / 2 / 1000;
        best.way = std::min(best.way, way);
        best.writing = std::min(best.writing, writing * way);
    }
    return best;
}

/// By both ways to store and both to read.
void measure(Side& side, bool is_first, std::size_t payload, std::size_t round, std::size_t step)
{
    for (const bool streams : {false, true}) {
        Means us[2];
        for (const bool asks_ahead : {false, true}) {
            us[asks_ahead ? 1 : 0] =
                ping_pong(side, is_first, {payload, round, step, streams, asks_ahead});
        }
        if (is_first) {
            std::printf(
                "%8zu B  round %7zu  step %5zu  %-9s  %8.3f us, asking ahead %8.3f us,"
                " of which writing %8.3f us\n",
                payload, round, step, streams ? "streaming" : "plain", us[0].way, us[1].way,
                us[1].writing);
        }
    }
}

void measure_all(Side& side, bool is_first)
{
    for (const std::size_t payload : {1024UL, 4096UL, 16384UL, 65536UL, 262144UL, 1048576UL}) {
        for (const std::size_t round : {65536UL, 262144UL, 1048576UL, 2097152UL, 4194304UL}) {
            for (const std::size_t step : {1024UL, 4096UL, 16384UL}) {
                if (step <= payload && step <= round / 4) {
                    measure(side, is_first, payload, round, step);
                }
            }
        }
    }
}

/// The least of several times, in us.
template <typename Copy>
double time_of(Copy&& copy)
{
    double best = std::numeric_limits<double>::max();
    for (int repeat = 0; repeat < 100; ++repeat) {
        const std::int64_t begin = platform::monotonic_ns();
        copy();
        best = std::min(best, static_cast<double>(platform::monotonic_ns() - begin) / 1000);
    }
    return best;
}

/// What one core takes for a copy in its cache, by how far the target begins behind the source,
/// modulo a page (platform::is_slow_for_strings).
void measure_ends()
{
    constexpr std::size_t bytes = 65536;
    constexpr std::size_t page = 4096;
    alignas(page) static std::byte source[bytes];
    alignas(page) static std::byte room[bytes + page];
    std::memset(source, 1, sizeof source);
    std::memset(room, 1, sizeof room);
    for (const std::size_t behind : {0UL, 16UL, 31UL, 32UL, 2048UL}) {
        std::byte* const target = room + behind;
        const double by_library = time_of([&] { std::memcpy(target, source, bytes); });
        const double by_us = time_of([&] { platform::copy_memory(target, source, bytes); });
        std::printf("%8zu B  target %4zu B behind source  memcpy %8.3f us, copy_memory %8.3f us\n",
                    bytes, behind, by_library, by_us);
    }
}

int run(int first_core, int second_core)
{
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("bench_lane: mmap");
        return EXIT_FAILURE;
    }
    auto* const shared = new (memory) Shared;
    const pid_t second = ::fork();
    if (second < 0) {
        std::perror("bench_lane: fork");
        return EXIT_FAILURE;
    }
    const bool is_first = second != 0;
    if (!is_first) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it would wait for a first one that is gone for ever
    }
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(is_first ? first_core : second_core, &cores);
    if (::sched_setaffinity(0, sizeof cores, &cores) != 0) {
        std::perror("bench_lane: no such core");
        if (is_first) {
            ::_exit(EXIT_FAILURE);
        }
    }
    Side side(*shared, is_first ? 0 : 1);
    if (is_first) {
        measure_ends();
    }
    measure_all(side, is_first);
    if (is_first) {
        ::waitpid(second, nullptr, 0);
    }
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv)
{
    const bool has_cores = argc == 3;
    return headway::run(has_cores ? std::atoi(argv[1]) : 0, has_cores ? std::atoi(argv[2]) : 1);
}

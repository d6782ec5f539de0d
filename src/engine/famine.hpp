// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "platform/cpu.hpp"
#include "platform/fatal.hpp"

namespace headway::engine {

/// How long a rank may lack memory for a step of a collective or for its way to a peer before the
/// job ends with a sentence: other ranks free some in milliseconds, or never.
class Famine {
  public:
    void endure(std::uint32_t rank)
    {
        const std::int64_t now_ns = platform::monotonic_ns();
        if (began_ns_ == 0) {
            began_ns_ = now_ns;
        }
        if (now_ns - began_ns_ > patience_ns) {
            platform::fatal(rank,
                            "the node heap has had no room for the next step for 10 seconds; raise "
                            "HEADWAY_HEAP_SIZE, or the size of /dev/shm where the heap is there");
        }
        platform::yield_core();
    }

  private:
    static constexpr std::int64_t patience_ns = 10'000'000'000;
    std::int64_t began_ns_ = 0;
};

}  // namespace headway::engine

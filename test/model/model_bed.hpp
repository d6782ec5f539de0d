// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model_atomics.hpp"
#include "platform/atomic.hpp"

namespace headway::model {

/// What a party sleeps on, as small as it can be: the ownership word has a model of its own.
template <typename Atomics>
struct Bed {
    typename Atomics::template Atomic<std::uint32_t> is_parked{0};

    template <typename Holds>
    void sleep_until(const Holds& holds)
    {
        while (!holds()) {
            is_parked.store(1, std::memory_order_relaxed);
            Atomics::fence_full();
            if (!holds()) {
                (void)Atomics::wait_on(is_parked, 1, platform::Deadline::never());
            }
            is_parked.store(0, std::memory_order_relaxed);
        }
    }
    void wake()
    {
        if (is_parked.load(std::memory_order_relaxed) != 0 &&
            is_parked.exchange(0, std::memory_order_relaxed) != 0) {
            Atomics::wake(is_parked);
        }
    }
};

}  // namespace headway::model

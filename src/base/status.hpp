// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace headway::base {

/// Result of posting or polling, one byte, three families (plus failure):
///   done     the effect has taken place;
///   pending  it was taken on and will complete later, through its op;
///   retry_*  nothing happened, the reason says which resource must free up first. Only the engine
///            queues and retries; nobody else loops on a retry.
///   failed   it will never happen; the op or the thread's failure record says why.
enum class [[nodiscard]] Status : std::uint8_t {
    done,
    pending,
    retry_lane_full,  ///< the ring towards the peer has no free cell or payload space
    retry_no_memory,  ///< the node heap is exhausted for now
    retry_not_connected,
    retry_unknown,  ///< the network has not heard of the peer
    failed,
};

constexpr bool is_retry(Status status) noexcept
{
    return status >= Status::retry_lane_full && status < Status::failed;
}

}  // namespace headway::base

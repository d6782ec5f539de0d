// SPDX-License-Identifier: Apache-2.0
//
// Whether the sender of a lane writes long payloads through its caches or past them.
//
// Where both cores share a cache, plain stores win. Where they do not, each line must first be
// taken from the far core that read it last, and streaming wins (`bench_lane` measures both). Which
// of the two it is depends on where the ranks run now, so the sender measures what its stores cost
// it, until they have left its core. Streaming also costs the receiver, who reads from memory then,
// so it is taken where plain stores cost the sender half as much again: 0.4 to 1.2 times as much
// was seen with a shared cache, 1.7 to 6 times without. There the receiver has bytes from memory as
// soon as from the far core.
#pragma once

#include "transport/shm/cost_choice.hpp"

namespace headway::transport::shm {

/// Plain stores are the first way. Thread rule: the sender's executor.
class StoreChoice : public CostChoice {
  public:
    static constexpr Dear usually{3, 2};

    explicit StoreChoice(Dear dear = usually) noexcept : CostChoice(dear) {}

    /// Way of the next payload: true for streaming stores.
    bool next_streams(bool is_new = false) noexcept { return next_takes_second(is_new); }

    /// Whether plain stores cost about as much as streaming ones or less, as where both cores share
    /// a cache: there 0.4 to 1.2 of them was seen, without 2.2 and more.
    bool is_near() const noexcept { return is_first_cheap(); }
};

}  // namespace headway::transport::shm

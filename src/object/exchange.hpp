// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "object/op_keep.hpp"
#include "object/rank.hpp"

namespace headway::object {

/// Kept with the op of MPI_Isendrecv: its send and its receive, which are over when the op is. The
/// op's result is that of the receive.
class Exchange final : public OpKeep {
  public:
    Exchange(engine::Op* send, engine::Op* receive) : send_(send), receive_(receive) {}

    void finish(Rank& rank, engine::Op& op) override;

  private:
    engine::Op* send_;
    engine::Op* receive_;
};

/// Makes one op of both. `joint` came from create_joint for two parts; in the first instance if
/// they are of different ones.
void join_exchange(engine::Driver& driver, engine::Op* joint, engine::Op* send,
                   engine::Op* receive);

}  // namespace headway::object

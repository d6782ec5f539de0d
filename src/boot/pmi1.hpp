// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "boot/boot.hpp"
#include "boot/pmi1_connection.hpp"

namespace headway::boot {

/// Where a PMI-1 launcher says it can be reached, as found in the environment.
struct Pmi1Address {
    int descriptor = -1;      ///< PMI_FD, or -1
    int process_index = 0;    ///< PMI_RANK; PMI_ID where PMI_PORT is used
    int process_count = 1;    ///< PMI_SIZE; replaced by the server's word where PMI_PORT is used
    std::string port;         ///< PMI_PORT as host:port, or empty
    std::string headway_job;  ///< HEADWAY_JOB, or empty
};

/// How long a launcher may take for an answer that it owes at once.
inline constexpr std::chrono::milliseconds pmi1_patience{60'000};

/// Client of a PMI-1 server: Headway's mpiexec, mpiexec.hydra, `srun --mpi=pmi2`.
class Pmi1Boot final : public Boot {
  public:
    /// Connects and does the opening exchange. Owns address.descriptor from now on.
    static base::Result<std::unique_ptr<Boot>> open(
        const Pmi1Address& address, std::chrono::milliseconds patience = pmi1_patience);

    std::string_view launcher() const noexcept override;
    base::Result<std::vector<int>> node_map() override;
    base::Outcome put(std::string_view key, std::string_view value) override;
    base::Outcome fence() override;
    base::Result<std::string> get(std::string_view key) override;
    bool can_share_descriptor() const noexcept override { return shares_descriptors_; }
    base::Outcome share_descriptor(int descriptor) override;
    base::Result<int> take_descriptor() override;
    base::Outcome finalize() override;
    void abort(int code, std::string_view sentence) override;

  private:
    Pmi1Boot(int descriptor, const Pmi1Address& address, std::chrono::milliseconds patience);

    base::Outcome greet_port(int process_id);
    base::Outcome greet();

    Pmi1Connection connection_;
    std::string kvs_name_;
    std::string headway_job_;
    bool is_ours_ = false;
    bool shares_descriptors_ = false;
    std::size_t key_length_max_ = 0;
    std::size_t value_length_max_ = 0;
};

}  // namespace headway::boot

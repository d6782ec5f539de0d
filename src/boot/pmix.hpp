// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "boot/boot.hpp"
#include "boot/pmix_types.hpp"

namespace headway::boot {

/// Client of a PMIx server: prterun, Open MPI's mpirun, `srun --mpi=pmix`. The library reads where
/// that is from the environment, and has a thread that sleeps until the server says something.
class PmixBoot final : public Boot {
  public:
    /// Joins the job. `functions` are those of the library.
    static base::Result<std::unique_ptr<Boot>> open(const pmix::Functions& functions);

    std::string_view launcher() const noexcept override { return "PMIx server"; }
    base::Result<std::vector<int>> node_map() override;
    base::Outcome put(std::string_view key, std::string_view value) override;
    base::Outcome fence() override;
    base::Result<std::string> get(std::string_view key) override;
    base::Outcome finalize() override;
    void abort(int code, std::string_view sentence) override;

  private:
    explicit PmixBoot(const pmix::Functions& functions) : functions_(functions) {}

    base::Outcome join();
    base::Failure failure(const std::string& what, pmix::Code code) const;
    base::Result<std::vector<int>> nodes_by_host();

    pmix::Functions functions_;
    pmix::Process own_{};
};

}  // namespace headway::boot

// SPDX-License-Identifier: Apache-2.0
//
// Memory of long messages as libfabric knows it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/secret.hpp"
#include "transport/ofi/fabric.hpp"
#include "transport/ofi/registration_cache.hpp"

namespace headway::transport::ofi {

/// Thread rule: that of the fabric, which outlives it, as `secret` does.
class RegionRegistrar final : public Registrar {
  public:
    RegionRegistrar(const Fabric& fabric, const base::Secret& secret) noexcept
        : fabric_(fabric), secret_(secret)
    {
    }

    void* open(const void* address, std::size_t bytes, std::uint64_t access) noexcept override;
    void close(void* memory) noexcept override;

  private:
    std::uint64_t next_key() noexcept;

    const Fabric& fabric_;
    const base::Secret& secret_;
    std::uint64_t keys_used_ = 0;
};

/// What open() of the registrar has given.
inline const Region& region_of(const Registration& registration) noexcept
{
    return *static_cast<const Region*>(registration.memory);
}

}  // namespace headway::transport::ofi

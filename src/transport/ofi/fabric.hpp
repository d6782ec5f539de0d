// SPDX-License-Identifier: Apache-2.0
//
// Libfabric's objects as values that close themselves, and the choice among its providers. Thread
// rule of all: one thread at a time (FI_THREAD_DOMAIN).
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace headway::transport::ofi {

/// The interface of libfabric that the module is written against; later libraries serve it too.
inline constexpr std::uint32_t api_version = FI_VERSION(1, 17);

struct InfoDeleter {
    void operator()(fi_info* info) const noexcept { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, InfoDeleter>;

template <typename Object>
struct ObjectDeleter {
    void operator()(Object* object) const noexcept { (void)fi_close(&object->fid); }
};
template <typename Object>
using Owned = std::unique_ptr<Object, ObjectDeleter<Object>>;

/// What is wanted of a provider. Empty names: the best there is.
struct Wanted {
    std::string_view provider;
    std::string_view interface;
};

/// The provider that this process uses: by what it can do (reliable datagrams, messages in order),
/// then by preference; among interfaces of one provider the first that leads out of the machine.
/// FI_PROVIDER, and variables such as FI_TCP_IFACE, narrow the choice as for every program that
/// uses libfabric. Failure: nothing fits; the sentence says what there is.
base::Result<Info> choose_provider(const Wanted& wanted);

/// Whether all that goes from one endpoint of the provider to another one is one stream of bytes.
bool has_streams(const fi_info& info) noexcept;

/// The sentence that `call` failed with a negative errno of libfabric.
base::Failure describe_failure(std::string_view call, long code);

/// Fabric, domain, address vector, completion queue and endpoint: a way out of this process.
struct Fabric {
    Info info;
    Owned<fid_fabric> fabric;
    Owned<fid_domain> domain;
    Owned<fid_av> addresses;
    Owned<fid_wait> waits;  ///< of the completion queue, where it has to be a set; else null
    Owned<fid_cq> completions;
    // Last, as they are closed first.
    Owned<fid_ep> endpoint;
    /// Reads go by it, so over connections of their own: where a connection is one stream, what is
    /// asked for would wait behind all bytes that others have asked for. Null: there are none.
    Owned<fid_ep> reader;
    /// Likewise for what is pushed (Port::push), from here and to here: it waits in its stream
    /// until its receiver takes it, so nothing else may be behind it. Null: nothing is pushed.
    Owned<fid_ep> pusher;

    /// Opens all of it; the endpoint is ready for use.
    static base::Result<Fabric> open(Info info);
    bool has_mode(int mr_mode) const noexcept
    {
        return (info->domain_attr->mr_mode & mr_mode) != 0;
    }
    fid_ep* reads_by() const noexcept { return reader ? reader.get() : endpoint.get(); }
    bool has_streams() const noexcept { return ofi::has_streams(*info); }
    /// What one of the endpoints is called by others. Failure: it has no name.
    static base::Result<std::string> name_of(fid_ep& endpoint);
    /// Readable when there may be completions, after clear_descriptor(); negative: there is none.
    int descriptor() const noexcept;
    /// Before each sleep on the descriptor; the caller then looks once more for completions, since
    /// it may have been them that the descriptor told of. 0; -FI_EAGAIN: there are completions; or
    /// a negative errno of libfabric.
    int clear_descriptor() const noexcept;

  private:
    int open_completions();
};

/// Memory that the provider knows, where it has to; empty otherwise.
class Region {
  public:
    Region() = default;
    /// Registers [address, address + bytes) for `access` if the provider asks for that. `key` is
    /// used where the provider does not choose keys itself.
    static base::Result<Region> open(const Fabric& fabric, const void* address, std::size_t bytes,
                                     std::uint64_t access, std::uint64_t key);
    /// The same, whatever the provider asks for: memory for others to read.
    static base::Result<Region> open_always(const Fabric& fabric, const void* address,
                                            std::size_t bytes, std::uint64_t access,
                                            std::uint64_t key);
    /// By which others name it. Requires open_always().
    std::uint64_t key() const noexcept { return fi_mr_key(memory_.get()); }
    /// What goes with addresses of the region into calls; may be null.
    void* descriptor() const noexcept { return memory_ ? fi_mr_desc(memory_.get()) : nullptr; }

  private:
    Owned<fid_mr> memory_;
};

}  // namespace headway::transport::ofi

// SPDX-License-Identifier: Apache-2.0
#include "transport/ofi/fabric.hpp"

#include <utility>

namespace headway::transport::ofi {

namespace {

/// Keeps the first failure of a row of calls, and makes no more after it.
class Calls {
  public:
    template <typename Call>
    void make(std::string_view name, Call&& call)
    {
        if (code_ == 0) {
            code_ = call();
            name_ = name;
        }
    }
    bool have_failed() const noexcept { return code_ != 0; }
    base::Failure failure() const { return describe_failure(name_, code_); }

  private:
    long code_ = 0;
    std::string_view name_;
};

}  // namespace

base::Result<Fabric> Fabric::open(Info info)
{
    Fabric made;
    made.info = std::move(info);
    fi_info& used = *made.info;
    Calls calls;
    calls.make("fi_fabric", [&] {
        fid_fabric* fabric = nullptr;
        const int code = fi_fabric(used.fabric_attr, &fabric, nullptr);
        made.fabric.reset(fabric);
        return code;
    });
    calls.make("fi_domain", [&] {
        fid_domain* domain = nullptr;
        const int code = fi_domain(made.fabric.get(), &used, &domain, nullptr);
        made.domain.reset(domain);
        return code;
    });
    calls.make("fi_av_open", [&] {
        fi_av_attr attributes{};
        attributes.type = FI_AV_TABLE;
        fid_av* addresses = nullptr;
        const int code = fi_av_open(made.domain.get(), &attributes, &addresses, nullptr);
        made.addresses.reset(addresses);
        return code;
    });
    calls.make("fi_cq_open", [&] { return made.open_completions(); });
    const auto open_endpoint = [&](Owned<fid_ep>& opened) {
        calls.make("fi_endpoint", [&] {
            fid_ep* endpoint = nullptr;
            const int code = fi_endpoint(made.domain.get(), &used, &endpoint, nullptr);
            opened.reset(endpoint);
            return code;
        });
        calls.make("fi_ep_bind", [&] { return fi_ep_bind(opened.get(), &made.addresses->fid, 0); });
        calls.make("fi_ep_bind", [&] {
            return fi_ep_bind(opened.get(), &made.completions->fid, FI_TRANSMIT | FI_RECV);
        });
        calls.make("fi_enable", [&] { return fi_enable(opened.get()); });
    };
    open_endpoint(made.endpoint);
    if (made.has_streams() && (used.caps & FI_RMA) != 0) {
        open_endpoint(made.reader);
    }
    if (made.has_streams() && (used.caps & FI_TAGGED) != 0) {
        open_endpoint(made.pusher);
    }
    if (calls.have_failed()) {
        return calls.failure();
    }
    return made;
}

bool has_streams(const fi_info& info) noexcept
{
    const std::string_view name = info.fabric_attr->prov_name;
    return name == "net" || name == "tcp";
}

int Fabric::open_completions()
{
    fi_cq_attr attributes{};
    attributes.format = FI_CQ_FORMAT_DATA;
    attributes.wait_obj = FI_WAIT_FD;
    // This provider's fi_trywait leaves a descriptor readable for ever once something came: only
    // fi_wait on a set clears it.
    if (std::string_view(info->fabric_attr->prov_name) == "net") {
        fi_wait_attr wait_attributes{};
        wait_attributes.wait_obj = FI_WAIT_FD;
        fid_wait* set = nullptr;
        if (fi_wait_open(fabric.get(), &wait_attributes, &set) == 0) {
            waits.reset(set);
            attributes.wait_obj = FI_WAIT_SET;
            attributes.wait_set = set;
        }
    }
    fid_cq* made = nullptr;
    int code = fi_cq_open(domain.get(), &attributes, &made, nullptr);
    if (code != 0) {  // not every provider lets one sleep
        waits.reset();
        attributes.wait_obj = FI_WAIT_NONE;
        attributes.wait_set = nullptr;
        code = fi_cq_open(domain.get(), &attributes, &made, nullptr);
    }
    completions.reset(made);
    return code;
}

int Fabric::descriptor() const noexcept
{
    int descriptor = -1;
    fid* const asked = waits != nullptr ? &waits->fid : &completions->fid;
    return fi_control(asked, FI_GETWAIT, &descriptor) == 0 ? descriptor : -1;
}

int Fabric::clear_descriptor() const noexcept
{
    if (waits == nullptr) {
        fid* asked = &completions->fid;
        return fi_trywait(fabric.get(), &asked, 1);
    }
    const int code = fi_wait(waits.get(), 0);
    return code == 0 ? -FI_EAGAIN : code == -FI_ETIMEDOUT ? 0 : code;
}

base::Result<std::string> Fabric::name_of(fid_ep& endpoint)
{
    std::string name(256, '\0');
    std::size_t bytes = name.size();
    const int code = fi_getname(&endpoint.fid, name.data(), &bytes);
    if (code != 0) {
        return describe_failure("fi_getname", code);
    }
    name.resize(bytes);
    return name;
}

base::Result<Region> Region::open(const Fabric& fabric, const void* address, std::size_t bytes,
                                  std::uint64_t access, std::uint64_t key)
{
    return fabric.has_mode(FI_MR_LOCAL) ? open_always(fabric, address, bytes, access, key)
                                        : Region();
}

base::Result<Region> Region::open_always(const Fabric& fabric, const void* address,
                                         std::size_t bytes, std::uint64_t access, std::uint64_t key)
{
    Region region;
    fid_mr* memory = nullptr;
    int code = fi_mr_reg(fabric.domain.get(), address, bytes, access, 0, key, 0, &memory, nullptr);
    region.memory_.reset(memory);
    if (code == 0 && fabric.has_mode(FI_MR_ENDPOINT)) {
        code = fi_mr_bind(memory, &fabric.endpoint->fid, 0);
        code = code == 0 ? fi_mr_enable(memory) : code;
    }
    if (code != 0) {
        return describe_failure("fi_mr_reg", code);
    }
    return region;
}

}  // namespace headway::transport::ofi

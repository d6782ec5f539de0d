// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "platform/address.hpp"
#include "platform/import.hpp"
#include "transport/ofi/fabric.hpp"

namespace headway::transport::ofi {

namespace {

/// Special networks, then sockets of the system. Before libfabric 1.18 `net` is what `tcp` is after
/// it: reliable datagrams without a layer between.
constexpr std::array preferred = {"cxi",  "efa", "psm3", "opx",    "verbs",
                                  "psm2", "net", "tcp",  "sockets"};

/// Whether a provider is called `name`, alone or as the lower of two layers ("tcp;ofi_rxm").
bool is_called(const fi_info& info, std::string_view name)
{
    const std::string_view full = info.fabric_attr->prov_name;
    return full == name || full.substr(0, full.find(';')) == name;
}

/// A place in the list of preference; one behind its end for what is taken only if asked for:
/// providers that end at the machine, and those that nobody recommends.
std::size_t place_of(const fi_info& info)
{
    const auto* found =
        std::ranges::find_if(preferred, [&](const char* name) { return is_called(info, name); });
    return static_cast<std::size_t>(found - preferred.begin());
}

/// Among the interfaces of one provider; lower is better.
int rank_interface(const fi_info& info)
{
    return (platform::is_loopback(info.src_addr, info.src_addrlen) ? 2 : 0) +
           (info.addr_format == FI_SOCKADDR_IN6 ? 1 : 0);
}

/// Sets of capabilities, the most useful first; the last is what there must be.
constexpr std::array<std::uint64_t, 5> capabilities = {
    FI_MSG | FI_RMA | FI_MULTI_RECV | FI_TAGGED, FI_MSG | FI_RMA | FI_MULTI_RECV,
    FI_MSG | FI_MULTI_RECV, FI_MSG | FI_RMA, FI_MSG};

/// Whether a provider with a set of them is worth having: tags are for what is pushed (fabric.hpp).
bool has_use(const fi_info& info, std::uint64_t wanted_capabilities)
{
    return (wanted_capabilities & FI_TAGGED) == 0 || has_streams(info);
}

/// What every provider must do for us. Null: no memory.
Info make_hints(std::uint64_t wanted_capabilities)
{
    Info hints(fi_allocinfo());
    if (hints == nullptr) {
        return hints;
    }
    hints->caps = wanted_capabilities;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    return hints;
}

/// As fopen(), on a machine that hides the symbols of its kernel.
std::FILE* open_without_symbols(const char* path, const char* mode)
{
    if (std::strcmp(path, "/proc/kallsyms") == 0) {
        errno = EACCES;
        return nullptr;
    }
    return std::fopen(path, mode);
}

constexpr const char* monitor_variable = "FI_MR_CACHE_MONITOR";

/// As getenv(), where nobody has asked libfabric to notice what a program does with its memory: by
/// default it changes the first instructions of munmap() and its like in the running program, or
/// waits for pages in a userfaultfd of its own beside ours.
char* find_setting(const char* name)
{
    static char disabled[] = "disabled";
    char* const value = std::getenv(name);
    return value == nullptr && std::strcmp(name, monitor_variable) == 0 ? disabled : value;
}

/// As fi_getinfo(). Libfabric 1.17 asks twice, when it starts, whether the kernel can give its RDMA
/// devices memory of other devices, each time by reading all symbols of the kernel: 100 ms of a
/// core. Where there are no such devices it need not know.
int find_providers(const Info& hints, fi_info** list)
{
    const auto* const inside = reinterpret_cast<const void*>(&fi_getinfo);
    const platform::ImportReplacement hooks_off(inside, "getenv",
                                                reinterpret_cast<void*>(&find_setting));
    if (platform::has_rdma()) {
        return fi_getinfo(api_version, nullptr, nullptr, 0, hints.get(), list);
    }
    const platform::ImportReplacement replaced(inside, "fopen",
                                               reinterpret_cast<void*>(&open_without_symbols));
    return fi_getinfo(api_version, nullptr, nullptr, 0, hints.get(), list);
}

bool is_wanted(const fi_info& info, const Wanted& wanted)
{
    if (!wanted.interface.empty() && wanted.interface != info.domain_attr->name) {
        return false;
    }
    if (wanted.provider.empty()) {
        return place_of(info) < preferred.size();
    }
    return wanted.provider == info.fabric_attr->prov_name || is_called(info, wanted.provider);
}

std::string list_of(const fi_info* first)
{
    std::vector<std::string> names;
    for (const fi_info* info = first; info != nullptr; info = info->next) {
        std::string name =
            std::string(info->fabric_attr->prov_name) + " on " + info->domain_attr->name;
        if (std::ranges::find(names, name) == names.end()) {
            names.push_back(std::move(name));
        }
    }
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "" : ", ") + name;
    }
    return text;
}

base::Failure no_provider(const Wanted& wanted, const fi_info* found)
{
    std::string asked;
    if (!wanted.provider.empty()) {
        asked += " HEADWAY_OFI_PROVIDER=" + std::string(wanted.provider);
    }
    if (!wanted.interface.empty()) {
        asked += " HEADWAY_OFI_INTERFACE=" + std::string(wanted.interface);
    }
    const std::string there = found != nullptr ? "there are: " + list_of(found) : "there is none";
    return {"no libfabric provider for messages between nodes fits" +
            (asked.empty() ? std::string() : " to" + asked) + "; " + there +
            "; change these settings, or FI_PROVIDER"};
}

}  // namespace

base::Failure describe_failure(std::string_view call, long code)
{
    return {std::string(call) +
            " of libfabric says: " + fi_strerror(static_cast<int>(code < 0 ? -code : code))};
}

base::Result<Info> choose_provider(const Wanted& wanted)
{
    std::vector<Info> lists;
    const fi_info* best = nullptr;
    std::tuple<std::size_t, std::size_t, int> best_value;
    for (std::size_t i = 0; i < capabilities.size(); ++i) {
        const Info hints = make_hints(capabilities[i]);
        fi_info* list = nullptr;
        const int error = hints == nullptr ? -FI_ENOMEM : find_providers(hints, &list);
        lists.emplace_back(list);
        if (error != 0 && error != -FI_ENODATA) {
            return describe_failure("fi_getinfo", error);
        }
        for (const fi_info* info = list; info != nullptr; info = info->next) {
            const std::tuple value(place_of(*info), i, rank_interface(*info));
            if (is_wanted(*info, wanted) && has_use(*info, capabilities[i]) &&
                (best == nullptr || value < best_value)) {
                best = info;
                best_value = value;
            }
        }
    }
    if (best == nullptr) {
        return no_provider(wanted, lists.back().get());
    }
    Info chosen(fi_dupinfo(best));
    if (chosen == nullptr) {
        return describe_failure("fi_dupinfo", -FI_ENOMEM);
    }
    return chosen;
}

}  // namespace headway::transport::ofi

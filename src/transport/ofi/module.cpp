// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "platform/memory_watch.hpp"
#include "transport/network.hpp"
#include "transport/ofi/ofi_network.hpp"

#define HEADWAY_MODULE_EXPORT __attribute__((visibility("default")))

extern "C" {

HEADWAY_MODULE_EXPORT headway::transport::Network* headway_open_network_1(
    const headway::transport::NetworkOptions& options, std::string& failure)
{
    auto opened = headway::transport::ofi::OfiNetwork::open(options);
    if (!opened) {
        failure = opened.sentence();
        return nullptr;
    }
    return opened.value().release();
}

/// For reports (python/headway/info.py): why the system does not tell when memory changes, so that
/// none stays registered; empty if it does. Valid until the next call.
HEADWAY_MODULE_EXPORT const char* headway_why_nothing_stays_registered()
{
    static std::string why;
    const auto watch = headway::platform::MemoryWatch::open();
    why = watch ? std::string() : watch.sentence();
    return why.c_str();
}

HEADWAY_MODULE_EXPORT extern const char headway_network_version[] = HEADWAY_VERSION;
}

// SPDX-License-Identifier: Apache-2.0
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

HEADWAY_MODULE_EXPORT extern const char headway_network_version[] = HEADWAY_VERSION;
}

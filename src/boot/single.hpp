// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "boot/boot.hpp"

namespace headway::boot {

/// A job of one process without a launcher.
std::unique_ptr<Boot> open_single();

}  // namespace headway::boot

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace headway::boot {

/// The launcher's name of a job as it may stand in names of shared memory and sockets: letters,
/// digits, `_` and `-`.
inline std::string to_job_name(std::string_view launcher_name)
{
    std::string name(launcher_name);
    std::replace_if(
        name.begin(), name.end(),
        [](unsigned char byte) { return std::isalnum(byte) == 0 && byte != '_' && byte != '-'; },
        '_');
    return name;
}

}  // namespace headway::boot

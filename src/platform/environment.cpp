// SPDX-License-Identifier: Apache-2.0
#include "platform/environment.hpp"

#include <unistd.h>

namespace headway::platform {

Environment Environment::of_process()
{
    std::vector<Variable> variables;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (equals != std::string_view::npos) {
            variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
        }
    }
    return Environment(std::move(variables));
}

}  // namespace headway::platform

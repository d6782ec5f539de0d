// SPDX-License-Identifier: Apache-2.0
#include "object/error_handler.hpp"

#include <array>

namespace headway::object {

namespace {

constexpr HandleBits first_predefined = 0x141;

}  // namespace

ErrorHandler* predefined_error_handler(HandleBits bits) noexcept
{
    using Action = ErrorHandler::Action;
    // Constants in all but type: nobody counts references of, or writes to, a predefined handler.
    static constinit std::array<ErrorHandler, 3> handlers = {{
        {Action::fatal, first_predefined},
        {Action::abort, first_predefined + 1},
        {Action::give_back, first_predefined + 2},
    }};
    const HandleBits index = bits - first_predefined;
    return index < handlers.size() ? &handlers[index] : nullptr;
}

}  // namespace headway::object

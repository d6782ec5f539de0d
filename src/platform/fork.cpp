// SPDX-License-Identifier: Apache-2.0
#include "platform/fork.hpp"

#include <pthread.h>

namespace headway::platform {

bool tell_forked_children(void (*in_child)()) noexcept
{
    return ::pthread_atfork(nullptr, nullptr, in_child) == 0;
}

}  // namespace headway::platform

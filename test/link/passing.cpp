// SPDX-License-Identifier: Apache-2.0
#include "passing.hpp"

#include <stdexcept>
#include <string>

namespace {

struct Guard {
    explicit Guard(int* count) : destroyed(count) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { ++*destroyed; }

    int* destroyed;
};

}  // namespace

void MPIX_Test_call(void (*callback)(), int* destroyed)
{
    const Guard guard(destroyed);
    callback();
}

int MPIX_Test_throw_inside()
{
    try {
        throw std::runtime_error(std::string(100, 'x'));
    } catch (const std::exception& error) {
        return error.what()[0] == 'x' ? 7 : 0;
    }
}

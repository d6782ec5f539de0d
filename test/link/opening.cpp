// SPDX-License-Identifier: Apache-2.0
#include "opening.hpp"

#include <cstdio>

bool MPIX_Test_can_open(const char* path)
{
    std::FILE* const file = std::fopen(path, "r");
    return file != nullptr && std::fclose(file) == 0;
}

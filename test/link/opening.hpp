// SPDX-License-Identifier: Apache-2.0
#pragma once

// Names of the form the library may export.

/// Whether the library's call of fopen() opens `path`.
extern "C" [[gnu::visibility("default")]] bool MPIX_Test_can_open(const char* path);

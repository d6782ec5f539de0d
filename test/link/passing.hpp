// SPDX-License-Identifier: Apache-2.0
#pragma once

// Names of the form the library may export.

/// Calls `callback` with an object alive whose destructor counts `*destroyed` up.
extern "C" [[gnu::visibility("default")]] void MPIX_Test_call(void (*callback)(), int* destroyed);
/// Throws and catches an exception of the library's own; returns 7.
extern "C" [[gnu::visibility("default")]] int MPIX_Test_throw_inside();

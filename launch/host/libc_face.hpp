// SPDX-License-Identifier: Apache-2.0
// What launch/libc_face.toml says. The functions it names as shown are defined in libc_face_*.cpp;
// each asks whose call it is, and is libc's own for the MPI library and for the host itself.
#pragma once

#include <span>
#include <string_view>

/// Seen by programs: stands before libc's function of that name.
#define HEADWAY_FACE extern "C" __attribute__((visibility("default")))

namespace headway::launch {

enum class FaceTreatment { ends, rank, thread, shared, refused };

struct LibcFace {
    std::string_view function;
    FaceTreatment treatment;
    std::string_view about;
};

/// Sorted by function.
std::span<const LibcFace> libc_faces() noexcept;
/// Null: it is libc's, and nothing is to be said about it.
const LibcFace* find_libc_face(std::string_view function) noexcept;

}  // namespace headway::launch

// SPDX-License-Identifier: Apache-2.0
#include "libc_face.hpp"

#include <algorithm>

namespace headway::launch {
namespace {

constexpr LibcFace faces[] = {
#include "libc_face.inc"
};

}  // namespace

std::span<const LibcFace> libc_faces() noexcept
{
    return faces;
}

const LibcFace* find_libc_face(std::string_view function) noexcept
{
    const auto* const found = std::lower_bound(
        std::begin(faces), std::end(faces), function,
        [](const LibcFace& face, std::string_view name) { return face.function < name; });
    return found != std::end(faces) && found->function == function ? found : nullptr;
}

}  // namespace headway::launch

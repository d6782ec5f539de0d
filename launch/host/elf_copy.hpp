// SPDX-License-Identifier: Apache-2.0
// The bytes of a copy of a program or library that can be loaded once a rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "elf_image.hpp"

namespace headway::launch {

/// Functions that the system's loader would call by itself: addresses in the image, 0 for none.
/// Their order: preinit_array, init, init_array; fini_array backwards, fini.
struct LifeCalls {
    std::uint64_t init = 0;
    std::uint64_t fini = 0;
    std::uint64_t preinit_array = 0;
    std::uint64_t preinit_bytes = 0;
    std::uint64_t init_array = 0;
    std::uint64_t init_bytes = 0;
    std::uint64_t fini_array = 0;
    std::uint64_t fini_bytes = 0;
};

LifeCalls life_calls_of(const ElfImage& image);

struct CopyChoice {
    /// By the name a library is asked for under: the name it is to be asked for under.
    std::map<std::string, std::string, std::less<>> library_names;
    std::string soname;       ///< what the copy calls itself; empty: as before
    bool is_program = false;  ///< its thread-locals are the host's to place
};

/// A copy of `image` in which
/// 1. the loader takes a program for a library (DF_1_PIE is cleared) and calls no constructors or
///    destructors: see life_calls_of;
/// 2. no symbol is unique in the process (STB_GNU_UNIQUE), so that copies do not share it;
/// 3. libraries have the chosen names, in a segment of its own behind the others;
/// 4. the thread-locals of a program are no module of the loader;
/// 5. variables of private libraries that lie in a program are not filled by the loader, which
///    does that for what it takes for programs only: see ProgramFacts::copied.
/// Nothing moves: addresses and offsets are those of `image`. Failure: half a sentence.
base::Result<std::vector<std::byte>> copy_image(const ElfImage& image, const CopyChoice& choice);

}  // namespace headway::launch

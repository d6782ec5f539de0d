// SPDX-License-Identifier: Apache-2.0
// What a rank host must know of a program before it runs it, and whether it can.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "elf_image.hpp"

namespace headway::launch {

/// Bytes that the host program keeps below the thread pointer for a program's thread-locals.
inline constexpr std::uint64_t tls_reserve_bytes = 32768;
inline constexpr std::uint64_t tls_reserve_alignment = 64;

/// A symbol of a library that the linker has placed in the program (R_X86_64_COPY).
struct CopiedSymbol {
    std::string name;
    std::string library;        ///< empty: it has no version, so it is none of glibc's
    std::uint64_t address = 0;  ///< in the program
    std::uint64_t bytes = 0;

    /// Whose variable it is has a copy in every rank, which the program shares.
    bool is_of_private_library() const noexcept;
};

struct ProgramFacts {
    bool has_fixed_address = false;  ///< not a PIE
    bool is_static = false;
    std::string interpreter;
    std::vector<std::string> needed;
    std::uint64_t tls_bytes = 0;  ///< from the first thread-local to the thread pointer
    std::uint64_t tls_alignment = 1;
    bool is_tls_aligned = true;  ///< the image starts where its alignment says
    std::vector<CopiedSymbol> copied;
    std::vector<std::string> allocator_functions;  ///< of malloc's and operator new's, defined here
    /// A thread-local that the linker has left to the loader: it would be another one.
    bool has_late_thread_local = false;
    std::string exported_thread_local;  ///< the first; empty: none
    bool is_python = false;
    std::string sanitizer;  ///< its library; empty: none
    std::string other_mpi;  ///< likewise: one whose ABI is not the standard's
};

ProgramFacts facts_of(const ElfImage& image);

/// Failure: half a sentence that goes on after the program's name, with the cure.
base::Outcome judge(const ProgramFacts& facts);

/// Libraries of which a process has one, whatever the number of its ranks: those of glibc, the
/// unwinder, the MPI library. All others are private to a rank.
bool is_shared_library(std::string_view soname) noexcept;

/// How a symbol of a shared library fares that the linker has placed in the program.
enum class CopyTreatment {
    fixed,     ///< the value never changes, so that a copy of it serves
    per_rank,  ///< the host program keeps the copy right
    refused,
};
CopyTreatment treatment_of(std::string_view copied_symbol) noexcept;

/// A program of the command line, read from its file.
struct ProgramFile {
    std::string path;  ///< as it was found: with a slash
    std::vector<std::byte> bytes;
    ProgramFacts facts;
};

/// Finds `name` as execvp would, in `search_path` (PATH), relative to the working directory.
/// Failure: a sentence without an end, that names the program and, where it is refused, the cure.
base::Result<ProgramFile> read_program(const std::string& name, std::string_view search_path);

}  // namespace headway::launch

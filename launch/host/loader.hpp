// SPDX-License-Identifier: Apache-2.0
// Programs that are loaded once a rank.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "elf_copy.hpp"
#include "elf_image.hpp"
#include "program_facts.hpp"

namespace headway::launch {

/// Names that copies are loaded under are all of this length, so that copies differ in nothing
/// else. Room for a prefix, the number of a descriptor, and 2^24 copies.
inline constexpr std::size_t copy_name_bytes = 72;

/// A file of which every rank has a copy.
struct PrivateFile {
    /// Bytes of the file from the start of a page on, and where they lie in the image.
    struct Run {
        std::uint64_t offset;
        std::uint64_t own_offset;  ///< what lies before it in its first page belongs to others
        std::uint64_t address;
        std::uint64_t bytes;
        int protection;
        /// The loader reads and runs nothing of it, so that the copy need not have it.
        bool is_left_out;
    };
    /// Where the copy holds the name of a copied file.
    struct Name {
        std::uint64_t offset;
        std::size_t file;  ///< index in HostedProgram::files
    };

    std::string name;  ///< under which it is asked for; empty: the program itself
    std::string path;
    std::vector<std::byte> bytes;  ///< forgotten before ranks start
    std::uint64_t size_bytes = 0;
    /// The file itself, for what copies have in common with it. Stays open.
    int descriptor = -1;
    LifeCalls calls;
    bool has_static_tls = false;  ///< takes of the loader's surplus of thread-local memory
    std::uint64_t tls_bytes = 0;

    std::vector<std::byte> copy;  ///< of every rank, but for the names in it
    std::vector<Name> names;
    /// The same in the copy and never written to, so that it is mapped from the file itself.
    std::vector<Run> runs;
    std::uint64_t begin = 0;  ///< of its segments, in the image
    std::uint64_t end = 0;
    std::uint64_t constants_begin = 0;  ///< whole pages that the loader protects when it has set
    std::uint64_t constants_end = 0;    ///< them
};

/// A program and its libraries, read. Const after read_hosted_program: all ranks load from it.
struct HostedProgram {
    std::string path;  ///< absolute: ranks change their directories
    ProgramFacts facts;
    Elf64_Ehdr header{};
    Elf64_Phdr tls{};  ///< PT_NULL: it has no thread-locals
    /// In the order in which constructors run: a library before who needs it, the program last.
    std::vector<PrivateFile> files;
    std::vector<std::string> shared;  ///< names of libraries that all ranks share
    /// Paths of those that would be private, had nobody asked for it. Loaded before ranks are, and
    /// referred to by path.
    std::map<std::string, std::string, std::less<>> shared_by_choice;
    /// Addresses in the program of variables of libc that are a rank's own (treatment per_rank).
    std::map<std::string, std::uint64_t, std::less<>> copied;
    /// Where else the program and its private libraries refer to such variables.
    struct Reference {
        std::size_t file;       ///< index in `files`
        std::uint64_t address;  ///< of the word that is to hold the variable's address
        std::string variable;
        std::int64_t addend;
    };
    std::vector<Reference> references;
    /// Variables of private libraries that lie in the program: what the loader of a process would
    /// copy there before constructors run.
    struct SharedVariable {
        std::uint64_t address;  ///< in the program
        std::size_t file;       ///< index of the library in `files`
        std::uint64_t source;   ///< in the library
        std::uint64_t bytes;
    };
    std::vector<SharedVariable> variables;

    const PrivateFile& program() const noexcept { return files.back(); }
    /// What one rank takes of the loader's surplus.
    std::uint64_t static_tls_bytes() const noexcept;
};

/// Finds and judges `name`, as seen from `directory` (empty: the working directory), and reads it
/// with its private libraries; those of `shared` (a library's name, as it is asked for or without
/// its version) are not private. Failure: a sentence that names the program.
base::Result<HostedProgram> read_hosted_program(const std::string& name,
                                                const std::string& directory,
                                                const std::vector<std::string>& environment,
                                                const std::vector<std::string>& shared);

/// Loads what `shared_by_choice` names: constructors run here, once. Before ranks are loaded.
/// Failure: a sentence that names the program.
base::Outcome load_shared_libraries(const HostedProgram& program);

/// What is only needed to judge a program and to report on it.
void forget_originals(HostedProgram& program) noexcept;

/// A copy in memory.
struct LoadedFile {
    const PrivateFile* file = nullptr;
    std::uintptr_t base = 0;  ///< what is added to addresses of the file
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
};

struct LoadedProgram {
    std::vector<LoadedFile> files;  ///< as HostedProgram::files
    std::uintptr_t entry = 0;
    std::uintptr_t segments = 0;  ///< its program headers
    std::uint16_t segment_count = 0;
    std::uintptr_t tls_image = 0;
    std::uint64_t tls_image_bytes = 0;

    const LoadedFile& program() const noexcept { return files.back(); }
    bool has(const void* address) const noexcept;
};

/// A rank's own variables that stand for libc's of the same name, for code that has no copy of its
/// own.
using RankVariables = std::map<std::string, void*, std::less<>>;

/// Loads a copy of everything for one rank; runs no constructor. Any thread; the loader lets one in
/// at a time. Failure: a sentence without an end that names the program.
base::Result<LoadedProgram> load_program(const HostedProgram& program,
                                         const RankVariables& variables);

}  // namespace headway::launch

// SPDX-License-Identifier: Apache-2.0
// Reading of programs before any rank starts. Loading them is loader.cpp.
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "file_bytes.hpp"
#include "library_closure.hpp"
#include "loader.hpp"

namespace headway::launch {
namespace {

constexpr std::uint64_t page = 4096;

std::string_view variable(const std::vector<std::string>& environment, std::string_view name)
{
    for (const std::string& each : environment) {
        if (each.size() > name.size() && each[name.size()] == '=' && each.starts_with(name)) {
            return std::string_view(each).substr(name.size() + 1);
        }
    }
    return {};
}

base::Result<PrivateFile> describe(std::string name, std::string path, std::vector<std::byte> bytes)
{
    const auto image = ElfImage::read(bytes);
    if (!image) {
        return base::Failure{image.sentence()};
    }
    PrivateFile file;
    file.name = std::move(name);
    file.path = std::move(path);
    file.calls = life_calls_of(image.value());
    file.has_static_tls = (image.value().dynamic_value(DT_FLAGS).value_or(0) & DF_STATIC_TLS) != 0;
    if (const Elf64_Phdr* tls = image.value().segment(PT_TLS); tls != nullptr) {
        file.tls_bytes = std::min<std::uint64_t>(tls->p_memsz, 1U << 20) +
                         std::min<std::uint64_t>(tls->p_align, 1U << 12);
    }
    file.bytes = std::move(bytes);
    file.size_bytes = file.bytes.size();
    return file;
}

/// Finds what refers to variables of libc that are a rank's own.
void find_rank_variables(HostedProgram& program)
{
    for (std::size_t i = 0; i < program.files.size(); ++i) {
        const bool is_program = program.files[i].name.empty();
        const auto image = ElfImage::read(program.files[i].bytes);
        if (!image) {
            continue;
        }
        const auto is_rank_variable = [is_program](const ElfImage::Symbol& symbol) {
            // A library that defines one means its own.
            return (is_program || !symbol.is_defined()) && symbol.type() == STT_OBJECT &&
                   treatment_of(symbol.name) == CopyTreatment::per_rank;
        };
        for (const ElfImage::Relocation& each : image.value().relocations()) {
            const ElfImage::Symbol* const symbol = image.value().symbol_of(each);
            if (symbol == nullptr || !is_rank_variable(*symbol)) {
                continue;
            }
            if (each.type() == R_X86_64_GLOB_DAT || each.type() == R_X86_64_64) {
                program.references.push_back(
                    {i, each.entry.r_offset, std::string(symbol->name),
                     each.type() == R_X86_64_64 ? each.entry.r_addend : 0});
            } else if (each.type() == R_X86_64_COPY) {
                // Its other names lie at the same address.
                for (const ElfImage::Symbol& name : image.value().symbols()) {
                    if (name.entry.st_value == symbol->entry.st_value && is_rank_variable(name)) {
                        program.copied.emplace(name.name, name.entry.st_value);
                    }
                }
            }
        }
    }
}

/// Finds the libraries' sides of the variables that lie in the program. False: a name is missing.
bool find_variables(HostedProgram& program, std::string& missing)
{
    struct Source {
        std::size_t file;
        Elf64_Sym entry;
    };
    std::map<std::pair<std::string, std::string>, Source> sources;
    for (std::size_t i = 0; i + 1 < program.files.size(); ++i) {
        const auto image = ElfImage::read(program.files[i].bytes);
        for (const ElfImage::Symbol& each :
             image ? image.value().symbols() : std::vector<ElfImage::Symbol>{}) {
            if (each.is_defined() && each.type() == STT_OBJECT) {
                const std::string name(each.name);
                sources.emplace(std::pair(program.files[i].name, name), Source{i, each.entry});
                sources.emplace(std::pair(std::string(), name), Source{i, each.entry});
            }
        }
    }
    for (const CopiedSymbol& each : program.facts.copied) {
        if (!each.is_of_private_library()) {
            continue;
        }
        const auto found = sources.find({each.library, each.name});
        if (found == sources.end()) {
            missing = each.name;
            return false;
        }
        program.variables.push_back({each.address, found->second.file, found->second.entry.st_value,
                                     std::min(each.bytes, found->second.entry.st_size)});
    }
    return true;
}

/// Puts libraries before those that need them; a ring of them is cut where it is met first.
class InitOrder {
  public:
    explicit InitOrder(std::vector<PrivateFile> files)
        : files_(std::move(files)), is_seen_(files_.size())
    {
    }

    std::vector<PrivateFile> take()
    {
        for (std::size_t i = 0; i < files_.size(); ++i) {
            visit(i);
        }
        std::vector<PrivateFile> sorted;
        sorted.reserve(order_.size());
        for (const std::size_t i : order_) {
            sorted.push_back(std::move(files_[i]));
        }
        return sorted;
    }

  private:
    void visit(std::size_t index)
    {
        if (is_seen_[index]) {
            return;
        }
        is_seen_[index] = true;
        const auto image = ElfImage::read(files_[index].bytes);
        for (const std::string_view needed :
             image ? image.value().needed() : std::vector<std::string_view>{}) {
            for (std::size_t i = 0; i < files_.size(); ++i) {
                if (files_[i].name == needed) {
                    visit(i);
                }
            }
        }
        order_.push_back(index);
    }

    std::vector<PrivateFile> files_;
    std::vector<bool> is_seen_;
    std::vector<std::size_t> order_;
};

base::Failure failure_of(const HostedProgram& program, const std::string& rest)
{
    return base::Failure{program.path + " " + rest};
}

/// Whether a library is asked for as `name`, or as that with a version behind it.
bool is_named(std::string_view library, std::string_view name)
{
    library.remove_prefix(name.find('/') == std::string_view::npos ? library.rfind('/') + 1 : 0);
    return library.starts_with(name) &&
           (library.size() == name.size() || library[name.size()] == '.');
}

/// Failure: half a sentence about a name of `shared` that is none of the libraries'.
base::Outcome find_shared_by_choice(HostedProgram& program,
                                    const std::vector<FoundLibrary>& libraries,
                                    const std::vector<std::string>& shared)
{
    std::string known;
    for (const FoundLibrary& each : libraries) {
        if (!is_shared_library(each.name)) {
            known += (known.empty() ? "" : ", ") + each.name;
        }
    }
    for (const std::string& name : shared) {
        bool is_known = false;
        for (const FoundLibrary& each : libraries) {
            if (!name.empty() && is_named(each.name, name)) {
                is_known = true;
                if (!is_shared_library(each.name)) {
                    program.shared_by_choice.emplace(each.name, each.path);
                }
            }
        }
        if (!is_known) {
            return base::Failure{
                "loads no library '" + name + "' (--shared-lib)" +
                (known.empty() ? ", nor any that ranks do not share anyway; leave the option out"
                               : "; it has " + known)};
        }
    }
    return base::Done{};
}

/// A variable that the linker has put into the program is a rank's own: what all ranks share would
/// not be the same there. Failure: half a sentence.
base::Outcome judge_shared_variables(const HostedProgram& program)
{
    for (const auto& [name, path] : program.shared_by_choice) {
        const auto bytes = read_file(path);
        const auto image = bytes ? ElfImage::read(bytes.value())
                                 : base::Result<ElfImage>(base::Failure{bytes.sentence()});
        for (const ElfImage::Symbol& each :
             image ? image.value().symbols() : std::vector<ElfImage::Symbol>{}) {
            const bool is_copied = std::ranges::any_of(
                program.facts.copied,
                [&each](const CopiedSymbol& copied) { return copied.name == each.name; });
            if (is_copied && each.is_defined() && each.type() == STT_OBJECT) {
                return base::Failure{"has the variable '" + std::string(each.name) + "' of " +
                                     name +
                                     " (--shared-lib) in itself; compile it with -fPIC, or do not "
                                     "share that library"};
            }
        }
    }
    return base::Done{};
}

/// Reads the libraries that are private, and sorts them. What only shared libraries need is shared
/// with them, so the search does not pass through those. Failure: half a sentence.
base::Outcome read_private_libraries(HostedProgram& program,
                                     const std::vector<FoundLibrary>& libraries)
{
    std::vector<PrivateFile> files;
    std::deque<std::string> wanted(program.facts.needed.begin(), program.facts.needed.end());
    std::set<std::string> seen(wanted.begin(), wanted.end());
    for (; !wanted.empty(); wanted.pop_front()) {
        const auto found =
            std::find_if(libraries.begin(), libraries.end(),
                         [&wanted](const auto& each) { return each.name == wanted.front(); });
        if (found == libraries.end() || is_shared_library(found->name) ||
            program.shared_by_choice.contains(found->name)) {
            program.shared.push_back(wanted.front());
            continue;
        }
        auto bytes = read_file(found->path);
        auto described = bytes ? describe(found->name, found->path, std::move(bytes.value()))
                               : base::Result<PrivateFile>(base::Failure{bytes.sentence()});
        if (!described) {
            return base::Failure{"needs " + found->path + ", which " + described.sentence()};
        }
        files.push_back(std::move(described.value()));
        const auto image = ElfImage::read(files.back().bytes);
        for (const std::string_view needed :
             image ? image.value().needed() : std::vector<std::string_view>{}) {
            if (seen.emplace(needed).second) {
                wanted.emplace_back(needed);
            }
        }
    }
    program.files = InitOrder(std::move(files)).take();
    return base::Done{};
}

/// The loader reads tables; one that starts in a segment may fill it.
bool has_tables(const ElfImage& image, const Elf64_Phdr& segment)
{
    constexpr std::array tables = {DT_STRTAB,   DT_SYMTAB, DT_RELA,    DT_JMPREL, DT_HASH,
                                   DT_GNU_HASH, DT_VERSYM, DT_VERNEED, DT_VERDEF, DT_RELR};
    return segment.p_offset == 0 ||
           std::any_of(tables.begin(), tables.end(), [&](std::int64_t tag) {
               const std::uint64_t address = image.dynamic_value(tag).value_or(UINT64_MAX);
               return address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_memsz;
           });
}

/// The loader runs functions that choose functions (IFUNC).
bool has_choosers(const ElfImage& image)
{
    const auto relocations = image.relocations();
    return std::any_of(relocations.begin(), relocations.end(),
                       [](const auto& each) { return each.type() == R_X86_64_IRELATIVE; }) ||
           std::any_of(image.symbols().begin(), image.symbols().end(),
                       [](const auto& each) { return each.type() == STT_GNU_IFUNC; });
}

/// Runs of pages of a read-only segment that the copy has as the file has them. Short ones are not
/// worth a mapping, but for whole segments.
void find_runs(PrivateFile& file, const ElfImage& image)
{
    constexpr std::uint64_t run_bytes_min = 16 * page;
    const bool is_run_by_loader = has_choosers(image);
    for (const Elf64_Phdr& each : image.segments()) {
        if (each.p_type != PT_LOAD || (each.p_flags & PF_W) != 0 || each.p_filesz == 0 ||
            each.p_vaddr % page != each.p_offset % page) {
            continue;
        }
        const std::uint64_t first = each.p_offset / page * page;
        const std::uint64_t last = each.p_offset + each.p_filesz;
        const int protection = ((each.p_flags & PF_R) != 0 ? PROT_READ : 0) |
                               ((each.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
        const bool is_left_out = !is_run_by_loader && !has_tables(image, each);
        std::uint64_t begin = first;
        for (std::uint64_t at = first; at < last + page; at += page) {
            const std::uint64_t here = std::max(at, each.p_offset);
            if (at < last && std::memcmp(file.copy.data() + here, file.bytes.data() + here,
                                         std::min(at + page, last) - here) == 0) {
                continue;
            }
            const std::uint64_t end = std::min(at, last);
            if (end > begin && (end - begin >= run_bytes_min || (begin == first && end == last))) {
                file.runs.push_back({begin, std::max(begin, each.p_offset),
                                     each.p_vaddr - each.p_offset + begin, end - begin, protection,
                                     is_left_out});
            }
            begin = at + page;
        }
    }
}

void find_places(PrivateFile& file, const ElfImage& image)
{
    file.begin = UINT64_MAX;
    for (const Elf64_Phdr& each : image.segments()) {
        if (each.p_type == PT_LOAD) {
            file.begin = std::min(file.begin, each.p_vaddr);
            file.end = std::max(file.end, each.p_vaddr + each.p_memsz);
        } else if (each.p_type == PT_GNU_RELRO) {
            // As the loader rounds: the rest of the last page is the program's to write.
            file.constants_begin = each.p_vaddr / page * page;
            file.constants_end = (each.p_vaddr + each.p_memsz) / page * page;
        }
    }
}

/// Stands for the name of a file's copy, which each rank has under another one of this length.
std::string placeholder(std::size_t file)
{
    std::string text = "copy of file " + std::to_string(file) + " ";
    text.resize(copy_name_bytes, '.');
    return text;
}

/// Makes the copies. Failure: half a sentence.
base::Outcome prepare_copies(HostedProgram& program)
{
    CopyChoice choice;
    for (std::size_t i = 0; i + 1 < program.files.size(); ++i) {
        choice.library_names.insert_or_assign(program.files[i].name, placeholder(i));
    }
    for (const auto& [name, path] : program.shared_by_choice) {
        choice.library_names.insert_or_assign(name, path);
    }
    for (std::size_t i = 0; i < program.files.size(); ++i) {
        PrivateFile& file = program.files[i];
        const auto image = ElfImage::read(file.bytes);
        choice.is_program = file.name.empty();
        choice.soname = choice.is_program ? "" : placeholder(i);
        auto copy = image ? copy_image(image.value(), choice)
                          : base::Result<std::vector<std::byte>>(base::Failure{image.sentence()});
        if (!copy) {
            return base::Failure{"cannot be copied, as " + file.path + " " + copy.sentence()};
        }
        file.copy = std::move(copy.value());
        // Names lie behind all that the file has.
        const std::string_view added(
            reinterpret_cast<const char*>(file.copy.data()) + file.bytes.size(),
            file.copy.size() - file.bytes.size());
        for (std::size_t other = 0; other < program.files.size(); ++other) {
            const std::string name = placeholder(other);
            for (std::size_t at = added.find(name); at != std::string_view::npos;
                 at = added.find(name, at + 1)) {
                file.names.push_back({file.bytes.size() + at, other});
            }
        }
        const auto flags = image.value().dynamic_value(DT_FLAGS).value_or(0);
        if (!image.value().dynamic_value(DT_TEXTREL) && (flags & DF_TEXTREL) == 0) {
            find_runs(file, image.value());
        }
        if (!file.runs.empty()) {
            file.descriptor = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
        }
        find_places(file, image.value());
    }
    return base::Done{};
}

}  // namespace

std::uint64_t HostedProgram::static_tls_bytes() const noexcept
{
    std::uint64_t bytes = 0;
    for (const PrivateFile& each : files) {
        bytes += each.has_static_tls ? each.tls_bytes : 0;
    }
    return bytes;
}

void forget_originals(HostedProgram& program) noexcept
{
    for (PrivateFile& each : program.files) {
        each.bytes = {};
    }
}

base::Result<HostedProgram> read_hosted_program(const std::string& name,
                                                const std::string& directory,
                                                const std::vector<std::string>& environment,
                                                const std::vector<std::string>& shared)
{
    const bool is_from_directory = !directory.empty() && name.find('/') != std::string::npos;
    const std::filesystem::path seen =
        is_from_directory ? std::filesystem::path(directory) / name : std::filesystem::path(name);
    auto file = read_program(seen.string(), variable(environment, "PATH"));
    if (!file) {
        return base::Failure{file.sentence()};
    }
    HostedProgram program;
    std::error_code error;
    program.path = std::filesystem::absolute(file.value().path, error).string();
    program.facts = file.value().facts;
    auto libraries = find_libraries(program.facts.interpreter, program.path, environment);
    if (!libraries) {
        return failure_of(program, libraries.sentence());
    }
    if (auto chosen = find_shared_by_choice(program, libraries.value(), shared); !chosen) {
        return failure_of(program, chosen.sentence());
    }
    if (auto judged = judge_shared_variables(program); !judged) {
        return failure_of(program, judged.sentence());
    }
    if (auto read = read_private_libraries(program, libraries.value()); !read) {
        return failure_of(program, read.sentence());
    }
    auto own = describe("", program.path, std::move(file.value().bytes));
    if (!own) {
        return failure_of(program, own.sentence());
    }
    program.files.push_back(std::move(own.value()));
    const auto image = ElfImage::read(program.program().bytes);
    if (!image) {
        return failure_of(program, image.sentence());
    }
    program.header = image.value().header();
    if (const Elf64_Phdr* const tls = image.value().segment(PT_TLS); tls != nullptr) {
        program.tls = *tls;
    }
    if (auto prepared = prepare_copies(program); !prepared) {
        return failure_of(program, prepared.sentence());
    }
    find_rank_variables(program);
    if (std::string missing; !find_variables(program, missing)) {
        return failure_of(program, "uses the variable '" + missing +
                                       "', which none of its libraries has; build it again");
    }
    return program;
}

}  // namespace headway::launch

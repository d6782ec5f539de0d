// SPDX-License-Identifier: Apache-2.0
#include "loader.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <set>

#include "file_bytes.hpp"

namespace headway::launch {
namespace {

constexpr std::uint64_t page = 4096;

std::string file_name(const std::string& path)
{
    return path.substr(path.rfind('/') + 1);
}

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
    PrivateFile file{std::move(name), std::move(path), {}, life_calls_of(image.value()), false, 0};
    file.has_static_tls = (image.value().dynamic_value(DT_FLAGS).value_or(0) & DF_STATIC_TLS) != 0;
    if (const Elf64_Phdr* tls = image.value().segment(PT_TLS); tls != nullptr) {
        file.tls_bytes = std::min<std::uint64_t>(tls->p_memsz, 1U << 20) +
                         std::min<std::uint64_t>(tls->p_align, 1U << 12);
    }
    file.bytes = std::move(bytes);
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

/// Memory files of one rank's copies, and the names they are loaded under. A name says whose thread
/// made it, so it differs from all that were ever loaded, and the loader takes no copy for another.
class MemoryFiles {
  public:
    MemoryFiles() = default;
    MemoryFiles(const MemoryFiles&) = delete;
    MemoryFiles& operator=(const MemoryFiles&) = delete;
    ~MemoryFiles()
    {
        for (const int each : descriptors_) {
            ::close(each);
        }
    }

    /// The name of a new one; empty, with errno: the system gives none.
    std::string add(const std::string& path)
    {
        const int descriptor = make_memory_file(file_name(path), {});
        if (descriptor < 0) {
            return "";
        }
        descriptors_.push_back(descriptor);
        return "/proc/self/task/" + std::to_string(::gettid()) + "/fd/" +
               std::to_string(descriptor);
    }
    bool fill(std::size_t index, std::span<const std::byte> bytes)
    {
        while (!bytes.empty()) {
            const ssize_t count = ::write(descriptors_[index], bytes.data(), bytes.size());
            if (count < 0 && errno != EINTR) {
                return false;
            }
            bytes = bytes.subspan(count > 0 ? static_cast<std::size_t>(count) : 0);
        }
        return true;
    }
    int descriptor(std::size_t index) const { return descriptors_[index]; }

  private:
    std::vector<int> descriptors_;
};

/// Maps what is the same in all copies from the file itself: it is in memory once, and
/// /proc/self/maps names it.
void map_from_original(const LoadedFile& loaded, const ElfImage& image,
                       std::span<const std::byte> copy, int memory_file)
{
    const auto flags = image.dynamic_value(DT_FLAGS).value_or(0);
    if (image.dynamic_value(DT_TEXTREL) || (flags & DF_TEXTREL) != 0) {
        return;
    }
    const int original = ::open(loaded.file->path.c_str(), O_RDONLY | O_CLOEXEC);
    if (original < 0) {
        return;
    }
    for (const Elf64_Phdr& each : image.segments()) {
        if (each.p_type != PT_LOAD || (each.p_flags & PF_W) != 0 || each.p_filesz == 0 ||
            std::memcmp(copy.data() + each.p_offset, image.bytes().data() + each.p_offset,
                        each.p_filesz) != 0) {
            continue;
        }
        const std::uint64_t lead = each.p_vaddr % page;
        auto* const address = reinterpret_cast<void*>(loaded.base + each.p_vaddr - lead);
        const std::uint64_t bytes = each.p_filesz + lead;
        const int protection = ((each.p_flags & PF_R) != 0 ? PROT_READ : 0) |
                               ((each.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
        const auto offset = static_cast<off_t>(each.p_offset - lead);
        if (::mmap(address, bytes, protection, MAP_PRIVATE | MAP_FIXED, original, offset) ==
            MAP_FAILED) {
            continue;
        }
        // Whole pages only: those at the ends may belong to other segments too.
        const std::uint64_t first = (each.p_offset + page - 1) / page * page;
        const std::uint64_t last = (each.p_offset + each.p_filesz) / page * page;
        if (last > first) {
            (void)::fallocate(memory_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              static_cast<off_t>(first), static_cast<off_t>(last - first));
        }
    }
    ::close(original);
}

/// Debuggers and messages look for symbols in the file that the loader names.
void name_after_original(link_map* map, const std::string& path)
{
    if (char* name = ::strdup(path.c_str()); name != nullptr) {
        map->l_name = name;  // stays: nothing is ever unloaded
    }
}

/// While it lives, the words of a file may be written that the loader has set and protected.
class Unprotected {
  public:
    Unprotected(const LoadedFile& file, const ElfImage& image)
    {
        if (const Elf64_Phdr* const constants = image.segment(PT_GNU_RELRO); constants != nullptr) {
            // As the loader rounds: the rest of the last page is the program's to write.
            const std::uint64_t first = constants->p_vaddr / page * page;
            const std::uint64_t last = (constants->p_vaddr + constants->p_memsz) / page * page;
            begin_ = reinterpret_cast<void*>(file.base + first);
            bytes_ = last - first;
            ::mprotect(begin_, bytes_, PROT_READ | PROT_WRITE);
        }
    }
    ~Unprotected()
    {
        if (bytes_ != 0) {
            ::mprotect(begin_, bytes_, PROT_READ);
        }
    }
    Unprotected(const Unprotected&) = delete;
    Unprotected& operator=(const Unprotected&) = delete;

  private:
    void* begin_ = nullptr;
    std::size_t bytes_ = 0;
};

/// What the loader of a process would do with the program's copies of variables, before any
/// constructor runs: variables of private libraries get their first values, and who refers to a
/// variable of libc that is the rank's own finds that one.
void fill_variables(const HostedProgram& program, const LoadedProgram& loaded,
                    const std::vector<ElfImage>& images, const RankVariables& own)
{
    const std::uintptr_t base = loaded.program().base;
    if (!program.variables.empty()) {
        const Unprotected open(loaded.program(), images.back());
        for (const HostedProgram::SharedVariable& each : program.variables) {
            std::memcpy(reinterpret_cast<void*>(base + each.address),
                        reinterpret_cast<const void*>(loaded.files[each.file].base + each.source),
                        each.bytes);
        }
    }
    for (const HostedProgram::Reference& each : program.references) {
        const auto copied = program.copied.find(each.variable);
        const auto variable = own.find(each.variable);
        std::uintptr_t address = 0;
        if (copied != program.copied.end()) {
            address = base + copied->second;
        } else if (variable != own.end()) {
            address = reinterpret_cast<std::uintptr_t>(variable->second);
        } else {
            continue;
        }
        const LoadedFile& file = loaded.files[each.file];
        const Unprotected open(file, images[each.file]);
        address += static_cast<std::uintptr_t>(each.addend);
        std::memcpy(reinterpret_cast<void*>(file.base + each.address), &address, sizeof address);
    }
}

LoadedFile place_of(const PrivateFile& file, const ElfImage& image, std::uintptr_t base)
{
    LoadedFile loaded{&file, base, UINTPTR_MAX, 0};
    for (const Elf64_Phdr& each : image.segments()) {
        if (each.p_type == PT_LOAD) {
            loaded.begin = std::min(loaded.begin, base + each.p_vaddr);
            loaded.end = std::max(loaded.end, base + each.p_vaddr + each.p_memsz);
        }
    }
    return loaded;
}

base::Failure failure_of(const HostedProgram& program, const std::string& rest)
{
    return base::Failure{program.path + " " + rest};
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
        if (found == libraries.end() || is_shared_library(found->name)) {
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

base::Failure no_memory_file(const HostedProgram& program)
{
    return failure_of(program, std::string("cannot be copied into memory for a rank (") +
                                   std::strerror(errno) +
                                   "); raise ulimit -n or the memory limit, or run it with "
                                   "--ranks process");
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

bool LoadedProgram::has(const void* address) const noexcept
{
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    return std::any_of(files.begin(), files.end(), [value](const LoadedFile& each) {
        return value >= each.begin && value < each.end;
    });
}

base::Result<HostedProgram> read_hosted_program(const std::string& name,
                                                const std::vector<std::string>& environment)
{
    auto file = read_program(name, variable(environment, "PATH"));
    if (!file) {
        return base::Failure{file.sentence()};
    }
    HostedProgram program{file.value().path, file.value().facts, {}, {}, {}, {}, {}};
    auto libraries = find_libraries(program.facts.interpreter, program.path, environment);
    if (!libraries) {
        return failure_of(program, libraries.sentence());
    }
    if (auto read = read_private_libraries(program, libraries.value()); !read) {
        return failure_of(program, read.sentence());
    }
    auto own = describe("", program.path, std::move(file.value().bytes));
    if (!own) {
        return failure_of(program, own.sentence());
    }
    program.files.push_back(std::move(own.value()));
    find_rank_variables(program);
    if (std::string missing; !find_variables(program, missing)) {
        return failure_of(program, "uses the variable '" + missing +
                                       "', which none of its libraries has; build it again");
    }
    return program;
}

base::Result<LoadedProgram> load_program(const HostedProgram& program,
                                         const RankVariables& variables)
{
    MemoryFiles memory;
    CopyChoice choice;
    std::vector<std::string> names;
    for (const PrivateFile& each : program.files) {
        names.push_back(memory.add(each.path));
        if (names.back().empty()) {
            return no_memory_file(program);
        }
        choice.library_names.insert_or_assign(each.name, names.back());
    }
    std::vector<ElfImage> images;
    std::vector<std::vector<std::byte>> copies;
    for (std::size_t i = 0; i < program.files.size(); ++i) {
        const PrivateFile& file = program.files[i];
        auto image = ElfImage::read(file.bytes);
        choice.is_program = file.name.empty();
        choice.soname = choice.is_program ? "" : names[i];
        auto copy = image ? copy_image(image.value(), choice)
                          : base::Result<std::vector<std::byte>>(base::Failure{image.sentence()});
        if (!copy) {
            return base::Failure{file.path + " " + copy.sentence()};
        }
        if (!memory.fill(i, copy.value())) {
            return no_memory_file(program);
        }
        images.push_back(std::move(image.value()));
        copies.push_back(std::move(copy.value()));
    }
    if (::dlopen(names.back().c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
        return failure_of(program, std::string("cannot be loaded: ") + ::dlerror());
    }
    LoadedProgram loaded;
    for (std::size_t i = 0; i < names.size(); ++i) {
        auto* map = static_cast<link_map*>(::dlopen(names[i].c_str(), RTLD_NOW | RTLD_NOLOAD));
        if (map == nullptr) {
            return failure_of(program, "was loaded without " + program.files[i].path);
        }
        loaded.files.push_back(place_of(program.files[i], images[i], map->l_addr));
        map_from_original(loaded.files.back(), images[i], copies[i], memory.descriptor(i));
        name_after_original(map, program.files[i].path);
    }
    const ElfImage& image = images.back();
    fill_variables(program, loaded, images, variables);
    const std::uintptr_t base = loaded.program().base;
    loaded.entry = base + image.header().e_entry;
    loaded.segments = base + image.header().e_phoff;
    loaded.segment_count = image.header().e_phnum;
    if (const Elf64_Phdr* tls = image.segment(PT_TLS); tls != nullptr) {
        loaded.tls_image = base + tls->p_vaddr;
        loaded.tls_image_bytes = std::min(tls->p_filesz, tls->p_memsz);
    }
    return loaded;
}

}  // namespace headway::launch

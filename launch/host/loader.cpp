// SPDX-License-Identifier: Apache-2.0
#include "loader.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "file_bytes.hpp"

namespace headway::launch {
namespace {

std::string file_name(const std::string& path)
{
    return path.substr(path.rfind('/') + 1);
}

/// Those that belong to no other segment, nor to what lies between segments.
std::pair<std::uint64_t, std::uint64_t> whole_pages(const PrivateFile::Run& run)
{
    constexpr std::uint64_t page = 4096;
    const std::uint64_t last = (run.offset + run.bytes) / page * page;
    return {std::min((run.own_offset + page - 1) / page * page, last), last};
}

/// A path to a descriptor under which nothing was ever loaded, so that the loader takes no copy for
/// another: the how-manieth copy of this process it is stands in it, as places where a path may
/// have a dot or not. A directory of a thread's own would be another way, which the system has to
/// make first.
std::string name_for_copy(int descriptor)
{
    static std::atomic<std::uint32_t> count{0};
    const std::string number = std::to_string(descriptor);
    std::string name = "/proc/self/fd/";
    // Relaxed: it only has to be another one each time.
    std::uint32_t rest = count.fetch_add(1, std::memory_order_relaxed);
    for (; name.size() + 2 + number.size() <= copy_name_bytes; rest /= 2) {
        name += rest % 2 == 0 ? "//" : "./";
    }
    name.append(copy_name_bytes - name.size() - number.size(), '/');
    return name + number;
}

/// Memory files of one rank's copies.
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
        return name_for_copy(descriptor);
    }
    bool write(std::size_t index, std::uint64_t offset, std::span<const std::byte> bytes)
    {
        while (!bytes.empty()) {
            const ssize_t count = ::pwrite(descriptors_[index], bytes.data(), bytes.size(),
                                           static_cast<off_t>(offset));
            if (count < 0 && errno != EINTR) {
                return false;
            }
            const std::size_t done = count > 0 ? static_cast<std::size_t>(count) : 0;
            bytes = bytes.subspan(done);
            offset += done;
        }
        return true;
    }
    int descriptor(std::size_t index) const { return descriptors_[index]; }

  private:
    std::vector<int> descriptors_;
};

/// Maps what is the same in all copies from the file itself: it is in memory once, and
/// /proc/self/maps names it. False: the file is no longer what it was.
bool map_runs(const LoadedFile& loaded, int memory_file)
{
    const PrivateFile& file = *loaded.file;
    if (file.runs.empty()) {
        return true;
    }
    struct stat status{};
    bool is_mapped = ::fstat(file.descriptor, &status) == 0 &&
                     static_cast<std::uint64_t>(status.st_size) == file.size_bytes;
    bool is_whole = true;
    for (const PrivateFile::Run& each : file.runs) {
        auto* const address = reinterpret_cast<void*>(loaded.base + each.address);
        is_mapped =
            is_mapped && ::mmap(address, each.bytes, each.protection, MAP_PRIVATE | MAP_FIXED,
                                file.descriptor, static_cast<off_t>(each.offset)) != MAP_FAILED;
        is_whole = is_whole && (is_mapped || !each.is_left_out);
        const auto [first, last] = whole_pages(each);
        if (is_mapped && !each.is_left_out && first < last) {
            (void)::fallocate(memory_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              static_cast<off_t>(first), static_cast<off_t>(last - first));
        }
    }
    return is_whole;
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
    explicit Unprotected(const LoadedFile& file)
        : begin_(reinterpret_cast<void*>(file.base + file.file->constants_begin)),
          bytes_(file.file->constants_end - file.file->constants_begin)
    {
        if (bytes_ != 0) {
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
    void* begin_;
    std::size_t bytes_;
};

/// What the loader of a process would do with the program's copies of variables, before any
/// constructor runs: variables of private libraries get their first values, and who refers to a
/// variable of libc that is the rank's own finds that one.
void fill_variables(const HostedProgram& program, const LoadedProgram& loaded,
                    const RankVariables& own)
{
    const std::uintptr_t base = loaded.program().base;
    if (!program.variables.empty()) {
        const Unprotected open(loaded.program());
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
        const Unprotected open(file);
        address += static_cast<std::uintptr_t>(each.addend);
        std::memcpy(reinterpret_cast<void*>(file.base + each.address), &address, sizeof address);
    }
}

base::Failure failure_of(const HostedProgram& program, const std::string& rest)
{
    return base::Failure{program.path + " " + rest};
}

base::Failure no_memory_file(const HostedProgram& program)
{
    return failure_of(program, why_no_memory_file(errno));
}

/// A memory file for each copy, filled but for what comes from the originals.
bool write_copies(const HostedProgram& program, const std::vector<std::string>& names,
                  MemoryFiles& memory)
{
    for (std::size_t i = 0; i < program.files.size(); ++i) {
        const PrivateFile& file = program.files[i];
        const std::span<const std::byte> copy(file.copy);
        std::uint64_t begin = 0;
        for (const PrivateFile::Run& each : file.runs) {
            const auto [first, last] = whole_pages(each);
            if (each.is_left_out && first >= begin && last > first) {
                if (!memory.write(i, begin, copy.subspan(begin, first - begin))) {
                    return false;
                }
                begin = last;
            }
        }
        if (!memory.write(i, begin, copy.subspan(begin))) {
            return false;
        }
        for (const PrivateFile::Name& each : file.names) {
            const std::string& name = names[each.file];
            if (!memory.write(i, each.offset, std::as_bytes(std::span<const char>(name)))) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace

bool LoadedProgram::has(const void* address) const noexcept
{
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    return std::any_of(files.begin(), files.end(), [value](const LoadedFile& each) {
        return value >= each.begin && value < each.end;
    });
}

base::Outcome load_shared_libraries(const HostedProgram& program)
{
    for (const auto& [name, path] : program.shared_by_choice) {
        // Local: its symbols are for those that need it.
        if (::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
            return failure_of(program, "cannot share " + name + " (--shared-lib): " + ::dlerror());
        }
    }
    return base::Done{};
}

base::Result<LoadedProgram> load_program(const HostedProgram& program,
                                         const RankVariables& variables)
{
    MemoryFiles memory;
    std::vector<std::string> names;
    for (const PrivateFile& each : program.files) {
        names.push_back(memory.add(each.path));
        if (names.back().empty()) {
            return no_memory_file(program);
        }
    }
    if (!write_copies(program, names, memory)) {
        return no_memory_file(program);
    }
    auto* const opened =
        static_cast<link_map*>(::dlopen(names.back().c_str(), RTLD_NOW | RTLD_LOCAL));
    if (opened == nullptr) {
        return failure_of(program, std::string("cannot be loaded: ") + ::dlerror());
    }
    LoadedProgram loaded;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const PrivateFile& file = program.files[i];
        // To ask by name goes through all that was ever loaded: of the program the map is known.
        auto* map =
            i + 1 == names.size()
                ? opened
                : static_cast<link_map*>(::dlopen(names[i].c_str(), RTLD_NOW | RTLD_NOLOAD));
        if (map == nullptr) {
            return failure_of(program, "was loaded without " + file.path);
        }
        loaded.files.push_back(
            {&file, map->l_addr, map->l_addr + file.begin, map->l_addr + file.end});
        if (!map_runs(loaded.files.back(), memory.descriptor(i))) {
            return failure_of(
                program, "cannot be loaded, as " + file.path + " changes; start the job again");
        }
        name_after_original(map, file.path);
    }
    fill_variables(program, loaded, variables);
    const std::uintptr_t base = loaded.program().base;
    loaded.entry = base + program.header.e_entry;
    loaded.segments = base + program.header.e_phoff;
    loaded.segment_count = program.header.e_phnum;
    if (program.tls.p_type == PT_TLS) {
        loaded.tls_image = base + program.tls.p_vaddr;
        loaded.tls_image_bytes = std::min(program.tls.p_filesz, program.tls.p_memsz);
    }
    return loaded;
}

}  // namespace headway::launch

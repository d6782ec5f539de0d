// SPDX-License-Identifier: Apache-2.0
#include "program_facts.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "file_bytes.hpp"

namespace headway::launch {
namespace {

constexpr std::string_view glibc_interpreter = "ld-linux-x86-64.so.2";
constexpr std::string_view process_cure = "; run it with --ranks process";

/// Names up to their `.so`; the numbers behind it are glibc's business.
constexpr std::array shared_libraries = {
    "ld-linux-x86-64", "libc",       "libm",     "libmvec",    "libpthread",   "libdl",
    "librt",           "libutil",    "libanl",   "libresolv",  "libnsl",       "libBrokenLocale",
    "libnss_files",    "libnss_dns", "libgcc_s", "libmpi_abi", "libthread_db", "linux-vdso",
};

constexpr std::array allocator_names = {
    "malloc", "calloc", "realloc", "free",   "memalign", "aligned_alloc", "posix_memalign",
    "_Znwm",  "_Znam",  "_ZdlPv",  "_ZdaPv", "_ZdlPvm",  "_ZdaPvm",
};

struct Treatment {
    std::string_view name;
    CopyTreatment treatment;
};

constexpr std::array copy_treatments = {
    Treatment{"stdin", CopyTreatment::per_rank},
    Treatment{"stdout", CopyTreatment::per_rank},
    Treatment{"stderr", CopyTreatment::per_rank},
    Treatment{"environ", CopyTreatment::per_rank},
    Treatment{"__environ", CopyTreatment::per_rank},
    Treatment{"_environ", CopyTreatment::per_rank},
    Treatment{"program_invocation_name", CopyTreatment::per_rank},
    Treatment{"program_invocation_short_name", CopyTreatment::per_rank},
    Treatment{"__progname_full", CopyTreatment::per_rank},
    Treatment{"__progname", CopyTreatment::per_rank},
    Treatment{"optarg", CopyTreatment::per_rank},
    Treatment{"optind", CopyTreatment::per_rank},
    Treatment{"opterr", CopyTreatment::per_rank},
    Treatment{"optopt", CopyTreatment::per_rank},
    Treatment{"tzname", CopyTreatment::per_rank},
    Treatment{"__tzname", CopyTreatment::per_rank},
    Treatment{"timezone", CopyTreatment::per_rank},
    Treatment{"__timezone", CopyTreatment::per_rank},
    Treatment{"daylight", CopyTreatment::per_rank},
    Treatment{"__daylight", CopyTreatment::per_rank},
    // Has been false since the host started its first thread, and stays so.
    Treatment{"__libc_single_threaded", CopyTreatment::fixed},
    Treatment{"_sys_errlist", CopyTreatment::fixed},
    Treatment{"sys_errlist", CopyTreatment::fixed},
    Treatment{"_sys_siglist", CopyTreatment::fixed},
    Treatment{"sys_siglist", CopyTreatment::fixed},
    Treatment{"in6addr_any", CopyTreatment::fixed},
    Treatment{"in6addr_loopback", CopyTreatment::fixed},
};

std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) noexcept
{
    return (value + alignment - 1) / alignment * alignment;
}

void read_thread_locals(const ElfImage& image, ProgramFacts& facts)
{
    const Elf64_Phdr* tls = image.segment(PT_TLS);
    if (tls == nullptr) {
        return;
    }
    facts.tls_alignment = std::max<std::uint64_t>(tls->p_align, 1);
    facts.is_tls_aligned = tls->p_vaddr % facts.tls_alignment == 0;
    // Sizes beyond any sense must not wrap around.
    facts.tls_bytes =
        tls->p_memsz > (std::uint64_t{1} << 40) || facts.tls_alignment > (std::uint64_t{1} << 40)
            ? std::uint64_t{1} << 40
            : round_up(tls->p_memsz, facts.tls_alignment);
}

void read_relocations(const ElfImage& image, ProgramFacts& facts)
{
    for (const ElfImage::Relocation& each : image.relocations()) {
        const ElfImage::Symbol* const symbol = image.symbol_of(each);
        switch (each.type()) {
            case R_X86_64_COPY:
                if (symbol != nullptr) {
                    facts.copied.push_back({std::string(symbol->name),
                                            std::string(image.library_of(*symbol)),
                                            each.entry.r_offset, symbol->entry.st_size});
                }
                break;
            case R_X86_64_DTPMOD64:
            case R_X86_64_TPOFF64:
            case R_X86_64_TLSDESC:
                facts.has_late_thread_local =
                    facts.has_late_thread_local || symbol == nullptr || symbol->is_defined();
                break;
            default:
                break;
        }
    }
}

void read_definitions(const ElfImage& image, ProgramFacts& facts)
{
    for (const ElfImage::Symbol& each : image.symbols()) {
        if (!each.is_defined()) {
            continue;
        }
        if (each.type() == STT_TLS && facts.exported_thread_local.empty()) {
            facts.exported_thread_local = each.name;
        }
        if (each.type() == STT_FUNC && std::find(allocator_names.begin(), allocator_names.end(),
                                                 each.name) != allocator_names.end()) {
            facts.allocator_functions.emplace_back(each.name);
        }
        facts.is_python = facts.is_python || each.name == "Py_BytesMain";
    }
}

bool is_sanitizer(std::string_view library)
{
    constexpr std::array names = {"libasan.so", "libtsan.so", "libubsan.so", "liblsan.so"};
    return std::any_of(names.begin(), names.end(),
                       [library](std::string_view name) { return library.starts_with(name); });
}

/// Open MPI's, MPICH's and those with MPICH's ABI. That of the standard has another name.
bool is_other_mpi(std::string_view library)
{
    return library.starts_with("libmpi.so") || library.starts_with("libmpich.so");
}

std::string number(std::uint64_t value)
{
    return std::to_string(value);
}

base::Outcome judge_thread_locals(const ProgramFacts& facts)
{
    if (facts.tls_bytes > tls_reserve_bytes) {
        return base::Failure{"has " + number(facts.tls_bytes) +
                             " bytes of thread-locals, and the "
                             "host keeps " +
                             number(tls_reserve_bytes) +
                             "; make large ones pointers to allocated memory, or run it with "
                             "--ranks process"};
    }
    if (facts.tls_alignment > tls_reserve_alignment || !facts.is_tls_aligned) {
        return base::Failure{"aligns thread-locals to " + number(facts.tls_alignment) +
                             " bytes, and the host to " + number(tls_reserve_alignment) +
                             std::string(process_cure)};
    }
    if (facts.has_late_thread_local) {
        return base::Failure{
            "was linked so that its thread-locals are found at run time; link it "
            "without --no-relax, or run it with --ranks process"};
    }
    if (!facts.exported_thread_local.empty()) {
        return base::Failure{"shows its thread-local '" + facts.exported_thread_local +
                             "' to libraries, which would find another one; link without "
                             "-rdynamic, or run it with --ranks process"};
    }
    return base::Done{};
}

base::Outcome judge_copied(const ProgramFacts& facts)
{
    for (const CopiedSymbol& each : facts.copied) {
        if (!each.is_of_private_library() && treatment_of(each.name) == CopyTreatment::refused) {
            return base::Failure{"uses the variable '" + each.name + "' of " + each.library +
                                 ", of which a process has only one" + std::string(process_cure)};
        }
    }
    return base::Done{};
}

/// Where a name without a slash is looked for, directory by directory.
std::string find_in(std::string_view search_path, const std::string& name)
{
    std::size_t begin = 0;
    while (begin <= search_path.size()) {
        const std::size_t end = std::min(search_path.find(':', begin), search_path.size());
        std::string directory(search_path.substr(begin, end - begin));
        const std::string path = (directory.empty() ? "." : directory) + "/" + name;
        struct stat status{};
        if (::access(path.c_str(), X_OK) == 0 && ::stat(path.c_str(), &status) == 0 &&
            S_ISREG(status.st_mode)) {
            return path;
        }
        begin = end + 1;
    }
    return "";
}

base::Outcome judge_file(const std::string& path)
{
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0 || ::access(path.c_str(), X_OK) != 0) {
        return base::Failure{std::string("cannot be started: ") + std::strerror(errno)};
    }
    if (!S_ISREG(status.st_mode)) {
        return base::Failure{"is no file"};
    }
    if ((status.st_mode & (S_ISUID | S_ISGID)) != 0) {
        return base::Failure{
            "changes its user when it starts (setuid), which several ranks of a "
            "process cannot" +
            std::string(process_cure)};
    }
    return base::Done{};
}

}  // namespace

bool CopiedSymbol::is_of_private_library() const noexcept
{
    return library.empty() || !is_shared_library(library);
}

ProgramFacts facts_of(const ElfImage& image)
{
    ProgramFacts facts;
    facts.has_fixed_address = image.header().e_type == ET_EXEC;
    facts.interpreter = image.interpreter();
    facts.is_static = facts.interpreter.empty();
    for (const std::string_view each : image.needed()) {
        facts.needed.emplace_back(each);
        facts.is_python = facts.is_python || each.starts_with("libpython");
        if (is_sanitizer(each)) {
            facts.sanitizer = each;
        }
        if (is_other_mpi(each)) {
            facts.other_mpi = each;
        }
    }
    read_thread_locals(image, facts);
    read_relocations(image, facts);
    read_definitions(image, facts);
    return facts;
}

base::Outcome judge(const ProgramFacts& facts)
{
    if (facts.is_static) {
        return base::Failure{
            "is linked statically, so that it has the system's library to itself; "
            "link it without -static, or run it with --ranks process"};
    }
    if (facts.is_python) {
        return base::Failure{"is Python, of which a process has one interpreter" +
                             std::string(process_cure)};
    }
    if (facts.has_fixed_address) {
        return base::Failure{
            "was linked for one fixed address, so that it cannot be there twice; "
            "link it as a PIE (-fPIE -pie), or run it with --ranks process"};
    }
    if (!facts.interpreter.ends_with(glibc_interpreter)) {
        return base::Failure{"wants the loader " + facts.interpreter +
                             ", and the host has that of glibc" + std::string(process_cure)};
    }
    if (!facts.other_mpi.empty()) {
        return base::Failure{"is built for another MPI library (" + facts.other_mpi +
                             ") and not for the standard ABI, which has other handles; build it "
                             "with Headway's mpicc, or start it with the mpiexec of that library"};
    }
    if (!facts.sanitizer.empty()) {
        return base::Failure{"is built with a sanitizer (" + facts.sanitizer +
                             "), which has to be there before the host; build it without, or run "
                             "it with --ranks process"};
    }
    if (!facts.allocator_functions.empty()) {
        return base::Failure{"defines " + facts.allocator_functions.front() +
                             ", and memory moves between ranks and libraries that have the "
                             "system's; leave the allocator out, or run it with --ranks process"};
    }
    if (auto thread_locals = judge_thread_locals(facts); !thread_locals) {
        return thread_locals;
    }
    return judge_copied(facts);
}

bool is_shared_library(std::string_view soname) noexcept
{
    const std::size_t slash = soname.rfind('/');
    const std::string_view file =
        slash == std::string_view::npos ? soname : soname.substr(slash + 1);
    const std::string_view stem = file.substr(0, file.find(".so"));
    return std::find(shared_libraries.begin(), shared_libraries.end(), stem) !=
           shared_libraries.end();
}

CopyTreatment treatment_of(std::string_view copied_symbol) noexcept
{
    const auto found =
        std::find_if(copy_treatments.begin(), copy_treatments.end(),
                     [copied_symbol](const Treatment& each) { return each.name == copied_symbol; });
    return found == copy_treatments.end() ? CopyTreatment::refused : found->treatment;
}

base::Result<ProgramFile> read_program(const std::string& name, std::string_view search_path)
{
    const auto failure = [&name](const std::string& rest) {
        return base::Failure{name + " " + rest};
    };
    const bool is_path = name.find('/') != std::string::npos;
    ProgramFile program;
    program.path = is_path ? name : find_in(search_path, name);
    if (program.path.empty()) {
        return failure("is in no directory of PATH; if it is here, write ./" + name);
    }
    if (auto judged = judge_file(program.path); !judged) {
        return failure(judged.sentence());
    }
    auto bytes = read_file(program.path);
    if (!bytes) {
        return failure("cannot be read: " + bytes.sentence());
    }
    program.bytes = std::move(bytes.value());
    const auto image = ElfImage::read(program.bytes);
    if (!image) {
        const bool is_script =
            program.bytes.size() >= 2 && std::memcmp(program.bytes.data(), "#!", 2) == 0;
        return failure((is_script ? "is a script" : image.sentence()) + std::string(process_cure));
    }
    program.facts = facts_of(image.value());
    if (auto judged = judge(program.facts); !judged) {
        return failure(judged.sentence());
    }
    return program;
}

}  // namespace headway::launch

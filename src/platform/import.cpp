// SPDX-License-Identifier: Apache-2.0
#include "platform/import.hpp"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>

namespace headway::platform {

namespace {

#if defined(__x86_64__)
constexpr std::uint64_t called = R_X86_64_JUMP_SLOT;
constexpr std::uint64_t addressed = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr std::uint64_t called = R_AARCH64_JUMP_SLOT;
constexpr std::uint64_t addressed = R_AARCH64_GLOB_DAT;
#else
#error "name the relocations of this processor"
#endif

/// A loaded library, as the loader has it.
struct Library {
    std::uintptr_t inside;  ///< what is looked for
    std::uintptr_t base = 0;
    const ElfW(Dyn) * dynamic = nullptr;
    std::uintptr_t sealed_from = 0;  ///< the pages that the loader made read-only in the end
    std::uintptr_t sealed_to = 0;
};

std::uintptr_t page_bytes() noexcept
{
    return static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
}

std::uintptr_t page_of(std::uintptr_t address) noexcept
{
    return address / page_bytes() * page_bytes();
}

int look_at(dl_phdr_info* info, std::size_t, void* wanted)
{
    Library found{.inside = static_cast<Library*>(wanted)->inside, .base = info->dlpi_addr};
    bool is_it = false;
    for (const ElfW(Phdr) & part : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
        const std::uintptr_t from = found.base + part.p_vaddr;
        if (part.p_type == PT_LOAD && found.inside - from < part.p_memsz) {
            is_it = true;
        } else if (part.p_type == PT_DYNAMIC) {
            found.dynamic = reinterpret_cast<const ElfW(Dyn)*>(from);
        } else if (part.p_type == PT_GNU_RELRO) {
            found.sealed_from = page_of(from);
            found.sealed_to = page_of(from + part.p_memsz);
        }
    }
    if (is_it) {
        *static_cast<Library*>(wanted) = found;
    }
    return is_it ? 1 : 0;
}

/// The tables of a library that say where the addresses of its imports stand.
struct Tables {
    const ElfW(Sym) * symbols = nullptr;
    const char* names = nullptr;
    std::span<const ElfW(Rela)> calls;
    std::span<const ElfW(Rela)> others;
};

Tables read_tables(const Library& library)
{
    const ElfW(Rela)* calls = nullptr;
    const ElfW(Rela)* others = nullptr;
    std::size_t calls_bytes = 0;
    std::size_t others_bytes = 0;
    Tables tables;
    for (const auto* entry = library.dynamic; entry->d_tag != DT_NULL; ++entry) {
        // The loader has replaced offsets by addresses, where it can write here.
        const std::uintptr_t at =
            entry->d_un.d_ptr + (entry->d_un.d_ptr < library.base ? library.base : 0);
        switch (entry->d_tag) {
            case DT_SYMTAB:
                tables.symbols = reinterpret_cast<const ElfW(Sym)*>(at);
                break;
            case DT_STRTAB:
                tables.names = reinterpret_cast<const char*>(at);
                break;
            case DT_JMPREL:
                calls = reinterpret_cast<const ElfW(Rela)*>(at);
                break;
            case DT_RELA:
                others = reinterpret_cast<const ElfW(Rela)*>(at);
                break;
            case DT_PLTRELSZ:
                calls_bytes = entry->d_un.d_val;
                break;
            case DT_RELASZ:
                others_bytes = entry->d_un.d_val;
                break;
            default:
                break;
        }
    }
    if (calls != nullptr) {
        tables.calls = {calls, calls_bytes / sizeof(*calls)};
    }
    if (others != nullptr) {
        tables.others = {others, others_bytes / sizeof(*others)};
    }
    return tables;
}

/// Writes what may lie in memory that the loader has made read-only. False: it cannot be written.
bool write(void** slot, void* value, const Library& library) noexcept
{
    const auto at = reinterpret_cast<std::uintptr_t>(slot);
    auto* const page = reinterpret_cast<void*>(page_of(at));
    const bool is_sealed = at >= library.sealed_from && at < library.sealed_to;
    if (is_sealed && ::mprotect(page, page_bytes(), PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    // Relaxed: who calls at the same time may take either function.
    std::atomic_ref<void*>(*slot).store(value, std::memory_order_relaxed);
    if (is_sealed) {
        ::mprotect(page, page_bytes(), PROT_READ);
    }
    return true;
}

Library find_library(const void* inside) noexcept
{
    Library library{.inside = reinterpret_cast<std::uintptr_t>(inside)};
    ::dl_iterate_phdr(&look_at, &library);
    return library;
}

}  // namespace

ImportReplacement::ImportReplacement(const void* inside, const char* symbol,
                                     void* replacement) noexcept
{
    const Library library = find_library(inside);
    if (library.dynamic == nullptr) {
        return;
    }
    const Tables tables = read_tables(library);
    if (tables.symbols == nullptr || tables.names == nullptr) {
        return;
    }
    for (const auto& relocations : {tables.calls, tables.others}) {
        for (const ElfW(Rela) & each : relocations) {
            const std::uint64_t kind = ELF64_R_TYPE(each.r_info);
            const ElfW(Sym) & target = tables.symbols[ELF64_R_SYM(each.r_info)];
            if ((kind != called && kind != addressed) || count_ == places_.size() ||
                std::strcmp(tables.names + target.st_name, symbol) != 0) {
                continue;
            }
            auto* const slot = reinterpret_cast<void**>(library.base + each.r_offset);
            places_[count_] = {slot, *slot};
            if (write(slot, replacement, library)) {
                ++count_;
            }
        }
    }
}

ImportReplacement::~ImportReplacement()
{
    for (std::size_t i = 0; i < count_; ++i) {
        write(places_[i].slot, places_[i].before, find_library(places_[i].slot));
    }
}

}  // namespace headway::platform

// SPDX-License-Identifier: Apache-2.0
// Reading of ELF files, whatever is in them: every offset is checked before it is followed.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace headway::launch {

using Bytes = std::span<const std::byte>;

/// A dynamic ELF file of x86-64, read. Borrows the bytes.
class ElfImage {
  public:
    /// An entry of the dynamic section and where it lies in the file.
    struct DynamicEntry {
        std::int64_t tag;
        std::uint64_t value;
        std::uint64_t offset;
    };
    struct Symbol {
        Elf64_Sym entry;
        std::string_view name;
        std::uint64_t offset;   ///< of the entry in the file
        std::uint16_t version;  ///< index of DT_VERSYM without its hidden bit; 0, 1: none
        bool is_defined() const noexcept { return entry.st_shndx != SHN_UNDEF; }
        unsigned type() const noexcept { return entry.st_info & 0xFU; }
        unsigned binding() const noexcept { return entry.st_info >> 4U; }
    };
    /// The library that a version of an undefined symbol belongs to.
    struct NeededVersion {
        std::uint16_t index;
        std::string_view library;
    };
    /// Where a record names a library: an offset into the dynamic strings, and the place of that
    /// offset in the file.
    struct LibraryName {
        std::string_view name;
        std::uint64_t offset;
        bool is_word;  ///< 32 bits, in a version record; else 64, in the dynamic section
    };

    struct Relocation {
        Elf64_Rela entry;
        std::uint64_t offset;  ///< of the entry in the file
        std::uint64_t type() const noexcept { return ELF64_R_TYPE(entry.r_info); }
    };

    /// Failure: half a sentence that goes on after the file's name ("is no ELF file", ...).
    static base::Result<ElfImage> read(Bytes bytes);

    Bytes bytes() const noexcept { return bytes_; }
    const Elf64_Ehdr& header() const noexcept { return header_; }
    const std::vector<Elf64_Phdr>& segments() const noexcept { return segments_; }
    const Elf64_Phdr* segment(std::uint32_t type) const noexcept;
    const std::vector<DynamicEntry>& dynamic() const noexcept { return dynamic_; }
    std::optional<std::uint64_t> dynamic_value(std::int64_t tag) const noexcept;

    /// Where in the file `size` bytes at an address of the image lie.
    std::optional<std::uint64_t> offset_of(std::uint64_t address,
                                           std::uint64_t size) const noexcept;
    /// A dynamic string; empty where there is none.
    std::string_view text(std::uint64_t offset) const noexcept;
    /// The path of the program's loader; empty: none.
    std::string_view interpreter() const noexcept;

    /// NEEDED, in order.
    std::vector<std::string_view> needed() const;
    /// All records that name libraries: NEEDED and the version records.
    std::vector<LibraryName> library_names() const;
    /// The dynamic symbols without the first, which is none.
    const std::vector<Symbol>& symbols() const noexcept { return symbols_; }
    const std::vector<NeededVersion>& needed_versions() const noexcept { return versions_; }
    std::vector<Relocation> relocations() const;
    /// The library whose version the symbol has; empty: it has none.
    std::string_view library_of(const Symbol& symbol) const noexcept;
    /// The symbol that a relocation is about; null: none.
    const Symbol* symbol_of(const Relocation& relocation) const noexcept;

    /// The record at `offset` of the file, or nothing where it does not fit.
    template <typename Record>
    std::optional<Record> at(std::uint64_t offset) const noexcept
    {
        Record record;
        if (offset > bytes_.size() || bytes_.size() - offset < sizeof record) {
            return std::nullopt;
        }
        std::memcpy(&record, bytes_.data() + offset, sizeof record);
        return record;
    }

  private:
    explicit ElfImage(Bytes bytes) noexcept : bytes_(bytes) {}

    base::Outcome read_header();
    base::Outcome read_dynamic();
    void read_versions();
    void read_symbols();
    std::uint64_t symbol_count() const;
    std::uint64_t count_by_gnu_hash(std::uint64_t table) const;
    void add_relocations(std::vector<Relocation>& all, std::int64_t table, std::int64_t size) const;

    Bytes bytes_;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Phdr> segments_;
    std::vector<DynamicEntry> dynamic_;
    Bytes strings_;
    std::vector<NeededVersion> versions_;
    std::vector<LibraryName> version_names_;
    std::vector<Symbol> symbols_;
};

}  // namespace headway::launch

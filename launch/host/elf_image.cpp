// SPDX-License-Identifier: Apache-2.0
#include "elf_image.hpp"

#include <algorithm>
#include <array>

namespace headway::launch {
namespace {

constexpr std::uint16_t hidden_version = 0x8000;

std::string_view text_in(Bytes strings, std::uint64_t offset) noexcept
{
    if (offset >= strings.size()) {
        return {};
    }
    const auto* first = reinterpret_cast<const char*>(strings.data()) + offset;
    return {first, ::strnlen(first, strings.size() - offset)};
}

}  // namespace

base::Result<ElfImage> ElfImage::read(Bytes bytes)
{
    ElfImage image(bytes);
    if (auto header = image.read_header(); !header) {
        return base::Failure{header.sentence()};
    }
    if (auto dynamic = image.read_dynamic(); !dynamic) {
        return base::Failure{dynamic.sentence()};
    }
    image.read_versions();
    image.read_symbols();
    return image;
}

base::Outcome ElfImage::read_header()
{
    const auto mark = at<std::array<char, SELFMAG>>(0);
    if (!mark || std::memcmp(mark->data(), ELFMAG, SELFMAG) != 0) {
        return base::Failure{"is no ELF file"};
    }
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != EM_X86_64) {
        return base::Failure{"is no 64-bit program of x86-64"};
    }
    header_ = *header;
    if (header_.e_type != ET_DYN && header_.e_type != ET_EXEC) {
        return base::Failure{"is neither a program nor a library"};
    }
    if (header_.e_phentsize != sizeof(Elf64_Phdr)) {
        return base::Failure{"is damaged (size of its program headers)"};
    }
    for (std::uint64_t i = 0; i < header_.e_phnum; ++i) {
        const auto segment = at<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr));
        if (!segment || header_.e_phoff > bytes_.size()) {
            return base::Failure{"is damaged (its program headers lie outside of it)"};
        }
        const bool has_bytes = segment->p_type != PT_NULL;
        if (has_bytes && (segment->p_offset > bytes_.size() ||
                          segment->p_filesz > bytes_.size() - segment->p_offset ||
                          segment->p_vaddr > segment->p_vaddr + segment->p_memsz)) {
            return base::Failure{"is damaged (a segment lies outside of it)"};
        }
        segments_.push_back(*segment);
    }
    return base::Done{};
}

base::Outcome ElfImage::read_dynamic()
{
    const Elf64_Phdr* section = segment(PT_DYNAMIC);
    if (section == nullptr) {
        return base::Done{};
    }
    for (std::uint64_t at_byte = 0; at_byte + sizeof(Elf64_Dyn) <= section->p_filesz;
         at_byte += sizeof(Elf64_Dyn)) {
        const auto entry = at<Elf64_Dyn>(section->p_offset + at_byte);
        if (!entry || entry->d_tag == DT_NULL) {
            break;
        }
        dynamic_.push_back({entry->d_tag, entry->d_un.d_val, section->p_offset + at_byte});
    }
    const auto address = dynamic_value(DT_STRTAB);
    const auto size = dynamic_value(DT_STRSZ);
    if (!address || !size) {
        return base::Failure{"is damaged (it has no dynamic strings)"};
    }
    const auto offset = offset_of(*address, *size);
    if (!offset) {
        return base::Failure{"is damaged (its dynamic strings lie outside of it)"};
    }
    strings_ = bytes_.subspan(*offset, *size);
    return base::Done{};
}

const Elf64_Phdr* ElfImage::segment(std::uint32_t type) const noexcept
{
    const auto found = std::find_if(segments_.begin(), segments_.end(),
                                    [type](const Elf64_Phdr& each) { return each.p_type == type; });
    return found == segments_.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> ElfImage::dynamic_value(std::int64_t tag) const noexcept
{
    const auto found = std::find_if(dynamic_.begin(), dynamic_.end(),
                                    [tag](const DynamicEntry& each) { return each.tag == tag; });
    return found == dynamic_.end() ? std::nullopt : std::optional(found->value);
}

std::optional<std::uint64_t> ElfImage::offset_of(std::uint64_t address,
                                                 std::uint64_t size) const noexcept
{
    for (const Elf64_Phdr& each : segments_) {
        if (each.p_type != PT_LOAD || address < each.p_vaddr) {
            continue;
        }
        const std::uint64_t inside = address - each.p_vaddr;
        if (inside <= each.p_filesz && size <= each.p_filesz - inside) {
            return each.p_offset + inside;
        }
    }
    return std::nullopt;
}

std::string_view ElfImage::text(std::uint64_t offset) const noexcept
{
    if (offset < strings_.size()) {
        return text_in(strings_, offset);
    }
    // As the loader reads them: names that were added later lie behind the table.
    const std::uint64_t address = dynamic_value(DT_STRTAB).value_or(0) + offset;
    const auto place = offset_of(address, 1);
    return place ? text_in(bytes_, *place) : std::string_view{};
}

std::string_view ElfImage::interpreter() const noexcept
{
    const Elf64_Phdr* path = segment(PT_INTERP);
    return path == nullptr ? std::string_view{}
                           : text_in(bytes_.subspan(path->p_offset, path->p_filesz), 0);
}

std::vector<std::string_view> ElfImage::needed() const
{
    std::vector<std::string_view> names;
    for (const DynamicEntry& each : dynamic_) {
        if (each.tag == DT_NEEDED) {
            names.push_back(text(each.value));
        }
    }
    return names;
}

std::vector<ElfImage::LibraryName> ElfImage::library_names() const
{
    std::vector<LibraryName> names;
    for (const DynamicEntry& each : dynamic_) {
        if (each.tag == DT_NEEDED) {
            names.push_back({text(each.value), each.offset + offsetof(Elf64_Dyn, d_un), false});
        }
    }
    names.insert(names.end(), version_names_.begin(), version_names_.end());
    return names;
}

void ElfImage::read_versions()
{
    const auto address = dynamic_value(DT_VERNEED);
    const std::uint64_t count = dynamic_value(DT_VERNEEDNUM).value_or(0);
    auto offset = address ? offset_of(*address, sizeof(Elf64_Verneed)) : std::nullopt;
    // A record cannot be shorter than itself, so a damaged count ends with the file.
    for (std::uint64_t i = 0; offset && i < count; ++i) {
        const auto library = at<Elf64_Verneed>(*offset);
        if (!library) {
            return;
        }
        const std::string_view name = text(library->vn_file);
        version_names_.push_back({name, *offset + offsetof(Elf64_Verneed, vn_file), true});
        std::uint64_t version_offset = *offset + library->vn_aux;
        for (unsigned j = 0; j < library->vn_cnt; ++j) {
            const auto version = at<Elf64_Vernaux>(version_offset);
            if (!version) {
                return;
            }
            versions_.push_back(
                {static_cast<std::uint16_t>(version->vna_other & ~hidden_version), name});
            version_offset += version->vna_next;
            if (version->vna_next == 0) {
                break;
            }
        }
        if (library->vn_next < sizeof(Elf64_Verneed)) {
            return;
        }
        *offset += library->vn_next;
    }
}

/// The chains of a GNU hash table end with an odd word; the last symbol is the end of the chain
/// that starts last.
std::uint64_t ElfImage::count_by_gnu_hash(std::uint64_t table) const
{
    struct Head {
        std::uint32_t buckets, first_symbol, bloom_words, bloom_shift;
    };
    const auto head = at<Head>(table);
    if (!head) {
        return 0;
    }
    const std::uint64_t buckets = table + sizeof(Head) + std::uint64_t{head->bloom_words} * 8;
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < head->buckets; ++i) {
        const auto first = at<std::uint32_t>(buckets + i * 4);
        if (!first) {
            return 0;
        }
        last = std::max<std::uint64_t>(last, *first);
    }
    if (last < head->first_symbol) {
        return head->first_symbol;
    }
    const std::uint64_t chains = buckets + std::uint64_t{head->buckets} * 4;
    while (true) {
        const auto word = at<std::uint32_t>(chains + (last - head->first_symbol) * 4);
        if (!word) {
            return 0;
        }
        ++last;
        if ((*word & 1U) != 0) {
            return last;
        }
    }
}

std::uint64_t ElfImage::symbol_count() const
{
    if (const auto table = dynamic_value(DT_HASH)) {
        const auto offset = offset_of(*table, 8);
        const auto chains = offset ? at<std::uint32_t>(*offset + 4) : std::nullopt;
        return chains.value_or(0);
    }
    const auto table = dynamic_value(DT_GNU_HASH);
    const auto offset = table ? offset_of(*table, 16) : std::nullopt;
    return offset ? count_by_gnu_hash(*offset) : 0;
}

void ElfImage::read_symbols()
{
    const auto table = dynamic_value(DT_SYMTAB);
    const auto offset = table ? offset_of(*table, sizeof(Elf64_Sym)) : std::nullopt;
    const auto versions = dynamic_value(DT_VERSYM);
    const auto version_offset = versions ? offset_of(*versions, 2) : std::nullopt;
    std::uint64_t count = offset ? symbol_count() : 0;
    // A hash table leaves out what is only referred to, where nothing is defined.
    for (const Relocation& each : relocations()) {
        count = std::max<std::uint64_t>(count, ELF64_R_SYM(each.entry.r_info) + 1);
    }
    for (std::uint64_t i = 1; offset && i < count; ++i) {
        const std::uint64_t place = *offset + i * sizeof(Elf64_Sym);
        const auto entry = at<Elf64_Sym>(place);
        if (!entry) {
            return;
        }
        std::uint16_t version = 0;
        if (version_offset) {
            version = at<std::uint16_t>(*version_offset + i * 2).value_or(0);
        }
        symbols_.push_back({*entry, text(entry->st_name), place,
                            static_cast<std::uint16_t>(version & ~hidden_version)});
    }
}

void ElfImage::add_relocations(std::vector<Relocation>& all, std::int64_t table,
                               std::int64_t size) const
{
    const auto address = dynamic_value(table);
    const auto bytes = dynamic_value(size);
    const auto offset = address && bytes ? offset_of(*address, *bytes) : std::nullopt;
    for (std::uint64_t i = 0; offset && i + sizeof(Elf64_Rela) <= *bytes; i += sizeof(Elf64_Rela)) {
        if (const auto record = at<Elf64_Rela>(*offset + i)) {
            all.push_back({*record, *offset + i});
        }
    }
}

std::string_view ElfImage::library_of(const Symbol& symbol) const noexcept
{
    const auto found =
        std::find_if(versions_.begin(), versions_.end(), [&symbol](const NeededVersion& each) {
            return symbol.version > 1 && each.index == symbol.version;
        });
    return found == versions_.end() ? std::string_view{} : found->library;
}

const ElfImage::Symbol* ElfImage::symbol_of(const Relocation& relocation) const noexcept
{
    const std::uint64_t index = ELF64_R_SYM(relocation.entry.r_info);
    return index == 0 || index > symbols_.size() ? nullptr : &symbols_[index - 1];
}

std::vector<ElfImage::Relocation> ElfImage::relocations() const
{
    std::vector<Relocation> all;
    add_relocations(all, DT_RELA, DT_RELASZ);
    add_relocations(all, DT_JMPREL, DT_PLTRELSZ);
    return all;
}

}  // namespace headway::launch

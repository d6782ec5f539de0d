// SPDX-License-Identifier: Apache-2.0
#include "elf_copy.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "program_facts.hpp"

namespace headway::launch {
namespace {

constexpr std::uint64_t page = 4096;
/// In the range of an operating system's own tags, and none of those that glibc reads.
constexpr std::int64_t ignored_tag = 0x60000d0d;

constexpr std::array life_tags = {DT_INIT,          DT_FINI,           DT_INIT_ARRAY,
                                  DT_INIT_ARRAYSZ,  DT_FINI_ARRAY,     DT_FINI_ARRAYSZ,
                                  DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ};

std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) noexcept
{
    return (value + alignment - 1) / alignment * alignment;
}

class Copier {
  public:
    Copier(const ElfImage& image, const CopyChoice& choice)
        : image_(image),
          choice_(choice),
          bytes_(image.bytes().begin(), image.bytes().end()),
          segments_(image.segments())
    {
    }

    base::Result<std::vector<std::byte>> run()
    {
        edit_dynamic();
        share_no_symbols();
        if (choice_.is_program) {
            drop_copies();
            for (Elf64_Phdr& each : segments_) {
                if (each.p_type == PT_TLS) {
                    each.p_type = PT_NULL;
                }
            }
        }
        if (auto named = rename_libraries(); !named) {
            return base::Failure{named.sentence()};
        }
        for (std::size_t i = 0; i < segments_.size(); ++i) {
            put(image_.header().e_phoff + i * sizeof(Elf64_Phdr), segments_[i]);
        }
        return std::move(bytes_);
    }

  private:
    /// Requires that a record was read from there, which is what all offsets here come from.
    template <typename Record>
    void put(std::uint64_t offset, const Record& record)
    {
        std::memcpy(bytes_.data() + offset, &record, sizeof record);
    }

    void edit_dynamic()
    {
        for (const ElfImage::DynamicEntry& each : image_.dynamic()) {
            const bool is_life =
                std::find(life_tags.begin(), life_tags.end(), each.tag) != life_tags.end();
            if (is_life) {
                put(each.offset, Elf64_Dyn{ignored_tag, {each.value}});
            } else if (each.tag == DT_FLAGS_1) {
                put(each.offset, Elf64_Dyn{DT_FLAGS_1, {each.value & ~std::uint64_t{DF_1_PIE}}});
            }
        }
    }

    void share_no_symbols()
    {
        for (const ElfImage::Symbol& each : image_.symbols()) {
            if (each.binding() == STB_GNU_UNIQUE) {
                Elf64_Sym entry = each.entry;
                entry.st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_GLOBAL, each.type()));
                put(each.offset, entry);
            }
        }
    }

    void drop_copies()
    {
        for (const ElfImage::Relocation& each : image_.relocations()) {
            const ElfImage::Symbol* const symbol = image_.symbol_of(each);
            if (each.type() != R_X86_64_COPY || symbol == nullptr) {
                continue;
            }
            const std::string_view library = image_.library_of(*symbol);
            if (library.empty() || !is_shared_library(library)) {
                Elf64_Rela nothing = each.entry;
                nothing.r_info = ELF64_R_INFO(0, R_X86_64_NONE);
                put(each.offset, nothing);
            }
        }
    }

    base::Outcome rename_libraries()
    {
        std::string strings;
        struct Edit {
            std::uint64_t offset;
            std::uint64_t string;
            bool is_word;
        };
        std::vector<Edit> edits;
        const auto add = [&](std::uint64_t offset, bool is_word, const std::string& name) {
            edits.push_back({offset, strings.size(), is_word});
            strings.append(name).push_back('\0');
        };
        for (const ElfImage::LibraryName& each : image_.library_names()) {
            if (const auto name = choice_.library_names.find(each.name);
                name != choice_.library_names.end()) {
                add(each.offset, each.is_word, name->second);
            }
        }
        for (const ElfImage::DynamicEntry& each : image_.dynamic()) {
            if (each.tag == DT_SONAME && !choice_.soname.empty()) {
                add(each.offset + offsetof(Elf64_Dyn, d_un), false, choice_.soname);
            }
        }
        if (edits.empty()) {
            return base::Done{};
        }
        const auto base = add_segment(strings);
        const std::uint64_t string_table = image_.dynamic_value(DT_STRTAB).value_or(0);
        if (!base || *base < string_table || *base - string_table + strings.size() > UINT32_MAX) {
            return base::Failure{"has no room for the names of its libraries"};
        }
        for (const Edit& each : edits) {
            const std::uint64_t text = *base - string_table + each.string;
            if (each.is_word) {
                put(each.offset, static_cast<std::uint32_t>(text));
            } else {
                put(each.offset, text);
            }
        }
        return base::Done{};
    }

    /// Appends a read-only segment in the place of a program header that a loaded copy does
    /// without; its address.
    std::optional<std::uint64_t> add_segment(const std::string& content)
    {
        constexpr std::array spare = {PT_NULL,   PT_GNU_PROPERTY, PT_NOTE,
                                      PT_INTERP, PT_PHDR,         PT_GNU_RELRO};
        auto slot = segments_.end();
        for (const auto type : spare) {
            if (slot == segments_.end()) {
                slot = std::find_if(segments_.begin(), segments_.end(), [type](const auto& each) {
                    return each.p_type == static_cast<std::uint32_t>(type);
                });
            }
        }
        std::uint64_t end = 0;
        std::uint64_t alignment = page;
        for (const Elf64_Phdr& each : segments_) {
            if (each.p_type == PT_LOAD) {
                end = std::max(end, each.p_vaddr + each.p_memsz);
                alignment = std::max(alignment, each.p_align);
            }
        }
        constexpr std::uint64_t sensible_end = std::uint64_t{1} << 46;
        if (slot == segments_.end() || end == 0 || end > sensible_end || alignment > sensible_end) {
            return std::nullopt;
        }
        segments_.erase(slot);
        const std::uint64_t offset = round_up(bytes_.size(), page);
        const std::uint64_t address = round_up(end, alignment);
        bytes_.resize(offset);
        const auto* first = reinterpret_cast<const std::byte*>(content.data());
        bytes_.insert(bytes_.end(), first, first + content.size());
        const Elf64_Phdr added{PT_LOAD, PF_R,           offset,         address,
                               address, content.size(), content.size(), page};
        // The loader wants segments in the order of their addresses.
        const auto last = std::find_if(segments_.rbegin(), segments_.rend(),
                                       [](const auto& each) { return each.p_type == PT_LOAD; });
        segments_.insert(last.base(), added);
        return address;
    }

    const ElfImage& image_;
    const CopyChoice& choice_;
    std::vector<std::byte> bytes_;
    std::vector<Elf64_Phdr> segments_;
};

}  // namespace

LifeCalls life_calls_of(const ElfImage& image)
{
    const auto value = [&image](std::int64_t tag) { return image.dynamic_value(tag).value_or(0); };
    LifeCalls calls{value(DT_INIT),          value(DT_FINI),
                    value(DT_PREINIT_ARRAY), value(DT_PREINIT_ARRAYSZ),
                    value(DT_INIT_ARRAY),    value(DT_INIT_ARRAYSZ),
                    value(DT_FINI_ARRAY),    value(DT_FINI_ARRAYSZ)};
    return calls;
}

base::Result<std::vector<std::byte>> copy_image(const ElfImage& image, const CopyChoice& choice)
{
    return Copier(image, choice).run();
}

}  // namespace headway::launch

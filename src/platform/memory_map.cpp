// SPDX-License-Identifier: Apache-2.0
#include "platform/memory_map.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

namespace headway::platform {

namespace {

/// The question for one mapping, as the system defines it (PROCMAP_QUERY of proc(5), Linux 6.11):
/// headers of earlier systems do not know it.
struct MappingQuery {
    std::uint64_t size = sizeof(MappingQuery);
    std::uint64_t query_flags = 0;  ///< the mapping that covers `query_address`
    std::uint64_t query_address = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t flags = 0;
    std::uint64_t page_bytes = 0;
    std::uint64_t offset = 0;
    std::uint64_t inode = 0;
    std::uint32_t device_major = 0;
    std::uint32_t device_minor = 0;
    std::uint32_t name_bytes = 0;
    std::uint32_t build_id_bytes = 0;
    std::uint64_t name_address = 0;
    std::uint64_t build_id_address = 0;
};
constexpr unsigned long ask_mapping = _IOWR('f', 17, MappingQuery);
constexpr std::uint64_t flag_shared = 8;

/// Takes a word off the front of a line.
std::string_view take_word(std::string_view& line) noexcept
{
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    line.remove_prefix(end);
    return word;
}

/// "begin-end", in hexadecimal digits.
bool read_range(std::string_view word, MemoryRange& range) noexcept
{
    const char* const end = word.data() + word.size();
    const auto first = std::from_chars(word.data(), end, range.begin, 16);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') {
        return false;
    }
    return std::from_chars(first.ptr + 1, end, range.end, 16).ec == std::errc();
}

/// A line of the list: range, rights, offset, device, inode, name.
bool read_line(std::string_view line, MappingFacts& facts) noexcept
{
    if (!read_range(take_word(line), facts.range)) {
        return false;
    }
    const std::string_view rights = take_word(line);
    facts.is_private = rights.size() > 3 && rights[3] == 'p';
    (void)take_word(line);
    (void)take_word(line);
    facts.is_anonymous = take_word(line) == "0";
    return true;
}

}  // namespace

MemoryMap::~MemoryMap()
{
    if (file_ >= 0) {
        ::close(file_);
    }
}

bool MemoryMap::open(bool may_ask) noexcept
{
    file_ = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    MappingFacts facts;
    can_ask_ = may_ask && file_ >= 0 && ask(reinterpret_cast<std::uintptr_t>(&facts), facts);
    return can_ask_ || begin_list();
}

bool MemoryMap::ask(std::uintptr_t address, MappingFacts& facts) noexcept
{
    MappingQuery query;
    query.query_address = address;
    if (::ioctl(file_, ask_mapping, &query) != 0) {
        return false;
    }
    facts = {
        .range = {static_cast<std::uintptr_t>(query.begin), static_cast<std::uintptr_t>(query.end)},
        .is_private = (query.flags & flag_shared) == 0,
        .is_anonymous = query.inode == 0};
    return true;
}

/// False: it cannot be read.
bool MemoryMap::begin_list() noexcept
{
    at_ = 0;
    end_ = 0;
    return ::lseek(file_, 0, SEEK_SET) == 0;
}

/// The next mapping of the list; false at its end. A line that is longer than there is room for (a
/// name of thousands of bytes) is taken for the part of it that fits, which says all that counts;
/// the rest of it is no line.
bool MemoryMap::read_next(MappingFacts& facts) noexcept
{
    for (;;) {
        const std::string_view unread(text_.data() + at_, end_ - at_);
        const std::size_t length = unread.find('\n');
        const bool is_whole = length != std::string_view::npos;
        if (is_whole || unread.size() == text_.size()) {
            const std::string_view line = unread.substr(0, length);
            at_ += is_whole ? length + 1 : line.size();
            if (read_line(line, facts)) {
                return true;
            }
            continue;
        }
        std::memmove(text_.data(), unread.data(), unread.size());
        at_ = 0;
        end_ = unread.size();
        const ssize_t count = ::read(file_, text_.data() + end_, text_.size() - end_);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return false;
        }
        end_ += static_cast<std::size_t>(count);
    }
}

bool MemoryMap::find_private(const MemoryRange& range, MemoryRange& mappings) noexcept
{
    if (!can_ask_ && !begin_list()) {
        return false;
    }
    mappings = {0, 0};
    std::uintptr_t next = range.begin;
    while (next < range.end) {
        MappingFacts facts;
        if (can_ask_ ? !ask(next, facts) : !read_next(facts)) {
            return false;
        }
        if (facts.range.end <= next) {
            continue;  // before the range; and a list always ends
        }
        if (facts.range.begin > next || !facts.is_private || !facts.is_anonymous) {
            return false;
        }
        mappings = {mappings.end == 0 ? facts.range.begin : mappings.begin, facts.range.end};
        next = facts.range.end;
    }
    return mappings.end != 0;
}

}  // namespace headway::platform

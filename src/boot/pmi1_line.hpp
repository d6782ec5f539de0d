// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

// The text of PMI-1, without any input or output: client, launcher, tests and fuzzer share it.
namespace headway::boot {

/// Longest line either side accepts, without its newline. The longest legal one (put, with the
/// largest key and value any known launcher offers) has less than 5000 bytes.
inline constexpr std::size_t pmi1_line_max = 8192;

struct Pmi1Field {
    std::string_view key;
    std::string_view value;
};

/// One parsed line: `cmd=<command> key=value ...`. Views point into the text that was parsed.
class Pmi1Line {
  public:
    explicit Pmi1Line(std::vector<Pmi1Field> fields) : fields_(std::move(fields)) {}

    /// Value of the first field, which is `cmd` or `mcmd`.
    std::string_view command() const noexcept { return fields_.front().value; }
    /// True for `mcmd`: more lines follow, the last one is `endcmd`.
    bool is_multi_line() const noexcept { return fields_.front().key == "mcmd"; }
    std::optional<std::string_view> find(std::string_view key) const noexcept;
    /// The field as a decimal number; empty when it is missing or not one.
    std::optional<int> find_int(std::string_view key) const noexcept;

  private:
    std::vector<Pmi1Field> fields_;
};

/// Parses one line without its newline. Fields are separated by blanks; `message` takes the rest
/// of the line, and words that are not key=value may follow `msg` and `reason` as part of them.
/// Failure: what is wrong with the line, and its first bytes.
base::Result<Pmi1Line> parse_pmi1_line(std::string_view text);

/// All of `text` as a decimal number that fits an int.
std::optional<int> parse_int(std::string_view text) noexcept;

/// First bytes of `bytes` in printable form, for messages.
std::string quote_bytes(std::string_view bytes);

/// Node of every process from `(vector,(first node,nodes,processes a node),...)`, a pattern that
/// repeats until `process_count` entries are there; a bare number is the node of one process, and
/// `[...]xN` stands for its content N times. Empty result for an empty `text`.
base::Result<std::vector<int>> expand_process_mapping(std::string_view text, int process_count);

}  // namespace headway::boot

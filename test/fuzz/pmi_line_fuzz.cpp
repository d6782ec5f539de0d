// SPDX-License-Identifier: Apache-2.0
// Any bytes given to the parsers of PMI-1 text yield a value or a sentence; values hold what the
// contracts say.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "boot/pmi1_line.hpp"

namespace {

void demand(bool holds)
{
    if (!holds) {
        std::abort();
    }
}

bool lies_within(std::string_view part, std::string_view whole)
{
    return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace headway::boot;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto line = parse_pmi1_line(text);
    if (line) {
        demand(!line.value().command().empty() && lies_within(line.value().command(), text));
        for (const std::string_view key : {"value", "rc", "msg", "message", "key"}) {
            const auto value = line.value().find(key);
            demand(!value || lies_within(*value, text));
            static_cast<void>(line.value().find_int(key));
        }
    } else {
        demand(line.sentence().size() < 400);
    }
    const auto nodes = expand_process_mapping(text, 100);
    demand(!nodes || nodes.value().empty() || nodes.value().size() == 100);
    static_cast<void>(parse_int(text));
    return 0;
}

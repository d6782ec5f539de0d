// SPDX-License-Identifier: Apache-2.0
// Any environment either loads or is refused with a sentence; every value that is accepted lies
// within the limits of its knob.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/knobs.hpp"

using headway::platform::Environment;

namespace {

/// Lines NAME=VALUE, as the fuzzer likes to join pieces of known words.
Environment environment_of(std::string_view text)
{
    std::vector<Environment::Variable> variables;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        const std::size_t equals = std::min(line.find('='), line.size());
        variables.emplace_back(line.substr(0, equals),
                               line.substr(std::min(equals + 1, line.size())));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return Environment(std::move(variables));
}

void require(bool condition)
{
    if (!condition) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size)
{
    const std::string text(bytes, bytes + size);
    const Environment environment = environment_of(text);
    const auto knobs = headway::config::load_knobs(environment);
    if (knobs.has_value()) {
        require(knobs.value().heap_size >= (std::uint64_t{64} << 20));
        require(knobs.value().heap_size <= (std::uint64_t{1} << 40));
        require(knobs.value().eager_limit <= (std::uint64_t{1} << 20));
        require(knobs.value().handle_quarantine <= 65536);
    } else {
        require(!knobs.sentence().empty());
    }
    const auto warnings = headway::config::unknown_knob_warnings(environment);
    require(warnings.size() <= environment.variables().size());
    return 0;
}

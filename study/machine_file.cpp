// SPDX-License-Identifier: Apache-2.0
#include "study/machine_file.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text_file.hpp"

namespace headway::study {

namespace {

/// Blanks say nothing: "cores = 2" is "cores=2".
std::string without_blanks(std::string_view line)
{
    std::string kept(line.substr(0, line.find('#')));
    std::erase_if(kept, [](char each) { return each == ' ' || each == '\t' || each == '\r'; });
    return kept;
}

}  // namespace

base::Result<Machine> parse_machine(std::string_view text, const std::string& name)
{
    Machine machine;
    std::vector<std::string> named;
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string line = without_blanks(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        if (line.empty()) {
            continue;
        }
        const std::string where = name + ", line " + std::to_string(number) + ": ";
        const std::string key = line.substr(0, line.find('='));
        if (key.size() == line.size()) {
            return base::Failure{where + "'" + line +
                                 "' is no line of a machine file; write it like cores = 2"};
        }
        if (const auto fault = set_machine(machine, line)) {
            return base::Failure{where + *fault};
        }
        if (std::ranges::find(named, key) != named.end()) {
            return base::Failure{where + "'" + key + "' is there twice; keep one of them"};
        }
        named.push_back(key);
    }
    if (named.empty()) {
        return base::Failure{name + " says nothing of a machine; let headway tune --machine " +
                             "write one"};
    }
    return machine;
}

base::Result<std::string> text_of_file(const std::string& name, std::string_view what)
{
    using State = base::TextFile::State;
    base::TextFile file = base::read_text_file(name);
    if (file.state != State::read) {
        return base::Failure{name + (file.state == State::too_long
                                         ? " is longer than " + std::string(what) + " can be"
                                         : " cannot be read; name " + std::string(what))};
    }
    return std::move(file.text);
}

base::Result<Machine> read_machine(const std::string& name)
{
    const auto text = text_of_file(name, "a machine file");
    return text ? parse_machine(text.value(), name) : base::Failure{text.sentence()};
}

}  // namespace headway::study

// SPDX-License-Identifier: Apache-2.0
#include "study/choices_command.hpp"

#include <cstdio>
#include <string>

#include "config/knobs.hpp"
#include "protocol/coll/choice_words.hpp"

namespace headway::study {

namespace coll = protocol::coll;

namespace {

int complain(const std::string& sentence)
{
    std::fprintf(stderr, "headway: %s\n", sentence.c_str());
    return 2;
}

}  // namespace

int run_choices(std::span<const std::string_view> arguments)
{
    if (arguments.size() == 1 && arguments.front() == "--algorithms") {
        for (std::size_t collective = 0; collective < coll::chosen_collectives; ++collective) {
            const auto each = static_cast<coll::Collective>(collective);
            std::printf("%s: %s\n", std::string(name_of(each)).c_str(),
                        algorithms_of(each).c_str());
        }
        return 0;
    }
    if (!arguments.empty()) {
        return complain("choices: '" + std::string(arguments.front()) +
                        "' is no option; the settings of the environment say it all");
    }
    const auto knobs = config::load_knobs(platform::Environment::of_process());
    if (!knobs) {
        return complain(knobs.sentence());
    }
    const auto choices = coll::read_choices(knobs.value());
    if (!choices) {
        return complain(choices.sentence());
    }
    std::printf("# collective    ranks     bytes           cores   nodes    algorithm\n");
    for (std::size_t collective = 0; collective < coll::chosen_collectives; ++collective) {
        for (const coll::Choice& choice :
             choices.value().of(static_cast<coll::Collective>(collective))) {
            std::printf("%s\n", line_of(choice).c_str());
        }
    }
    return 0;
}

}  // namespace headway::study

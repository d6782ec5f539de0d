// SPDX-License-Identifier: Apache-2.0
// Opens the boot layer, exchanges one value with the next process and says what it found. The word
// `abort` as argument makes process 1 abort the job with code 7 instead of leaving.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "boot/boot.hpp"

namespace {

template <typename Value>
Value& must(headway::base::Result<Value>& result)
{
    if (!result) {
        std::fprintf(stderr, "refused: %s\n", result.sentence().c_str());
        std::exit(9);
    }
    return result.value();
}

void must(headway::base::Outcome outcome)
{
    if (!outcome) {
        std::fprintf(stderr, "refused: %s\n", outcome.sentence().c_str());
        std::exit(8);
    }
}

bool is_descriptor_inherited(const char* text)
{
    const int flags = text == nullptr ? -1 : ::fcntl(std::atoi(text), F_GETFD);
    return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

}  // namespace

int main(int argument_count, char** arguments)
{
    const char* text = std::getenv("PMI_FD");
    const std::string descriptor = text == nullptr ? "" : text;
    auto opened = headway::boot::open_boot();
    auto& boot = *must(opened);
    const int index = boot.process_index();
    const int count = boot.process_count();
    must(boot.put("name-" + std::to_string(index), "value-" + std::to_string(index) + "=x"));
    must(boot.fence());
    auto value = boot.get("name-" + std::to_string((index + 1) % count));
    auto nodes = boot.node_map();
    std::string node_text;
    for (const int node : must(nodes)) {
        node_text += std::to_string(node);
    }
    const bool leaks = std::getenv("PMI_FD") != nullptr || std::getenv("PMI_RANK") != nullptr ||
                       std::getenv("PMI_PORT") != nullptr ||
                       (!descriptor.empty() && is_descriptor_inherited(descriptor.c_str()));
    std::printf("%d/%d %s nodes=%s launcher=%s job=%s %s\n", index, count, must(value).c_str(),
                node_text.c_str(), std::string(boot.launcher()).c_str(),
                boot.job().empty() ? "none" : "named", leaks ? "leaks" : "clean");
    std::fflush(stdout);
    const bool aborts = argument_count > 1 && std::string_view(arguments[1]) == "abort";
    if (aborts && index == count - 1) {
        boot.abort(7, "this is the reason");
        ::_exit(7);
    }
    must(boot.fence());
    must(boot.finalize());
    return 0;
}

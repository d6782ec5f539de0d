// SPDX-License-Identifier: Apache-2.0
// headway-host: one process, many ranks.
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "file_bytes.hpp"
#include "host.hpp"
#include "host_words.hpp"
#include "program_report.hpp"
#include "rank_zone.hpp"

namespace {

using namespace headway::launch;
using headway::base::Failure;
using headway::base::Result;

constexpr int usage_exit_code = 2;
constexpr int not_started_exit_code = 127;
/// What glibc keeps for libraries with thread-locals that are loaded late, without being asked.
constexpr std::uint64_t surplus_usual = 512;
constexpr const char* tunables = "GLIBC_TUNABLES";
constexpr const char* surplus_mark = "HEADWAY_HOST_SURPLUS";

constexpr std::string_view usage =
    "usage: headway-host -n N [--ult] PROGRAM [ARGUMENT ...]\n"
    "                                                  N ranks of PROGRAM in this process, one of\n"
    "                                                  those that a launcher has started\n"
    "       headway-host --check PROGRAM [LIBRARY ...] whether that can be, and how, if ranks are\n"
    "                                                  to share these libraries\n"
    "       headway-host --plan DESCRIPTOR             what mpiexec --ranks thread asks for\n";

std::vector<std::string> own_environment()
{
    std::vector<std::string> variables;
    for (char** each = environ; *each != nullptr; ++each) {
        if (!std::string_view(*each).starts_with(surplus_mark)) {
            variables.emplace_back(*each);
        }
    }
    return variables;
}

int number_of(std::string_view text)
{
    int value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

Result<HostPlan> plan_of(const std::vector<std::string>& words)
{
    if (words.size() == 2 && words[0] == "--plan") {
        const int descriptor = number_of(words[1]);
        if (::lseek(descriptor, 0, SEEK_SET) != 0) {
            return Failure{"there is no plan at descriptor " + words[1] +
                           "; start the job with mpiexec"};
        }
        const auto bytes = read_descriptor(descriptor);
        return bytes ? read_plan(bytes.value()) : Result<HostPlan>(Failure{bytes.sentence()});
    }
    return words.empty() ? Result<HostPlan>(Failure{std::string(usage)})
                         : read_words(words, own_environment());
}

/// The loader reads its tunables at the start of a process, so this is another one with the same
/// arguments. Returns if there is enough already, or nothing helps.
void get_surplus(std::uint64_t bytes, char** arguments)
{
    if (const char* const before = std::getenv(surplus_mark); before != nullptr) {
        // It is another one: what programs find is what the first one found.
        *before == '\0' ? ::unsetenv(tunables) : ::setenv(tunables, before, 1);
        ::unsetenv(surplus_mark);
        return;
    }
    if (bytes <= surplus_usual) {
        return;
    }
    const char* const before = std::getenv(tunables);
    std::string value = before == nullptr ? "" : std::string(before) + ":";
    value += "glibc.rtld.optional_static_tls=" + std::to_string(bytes + surplus_usual);
    ::setenv(surplus_mark, before == nullptr ? "" : before, 1);
    ::setenv(tunables, value.c_str(), 1);
    ::execv("/proc/self/exe", arguments);
}

int fail(int code, const std::string& sentence)
{
    std::fprintf(stderr, "headway: %s\n", sentence.c_str());
    return code;
}

int check(const std::string& name, const std::vector<std::string>& shared)
{
    const auto program = read_hosted_program(name, "", own_environment(), shared);
    if (!program) {
        return fail(1, program.sentence());
    }
    if (const std::string refusal = refused_function(program.value()); !refusal.empty()) {
        return fail(1, program.value().path + " " + refusal);
    }
    std::fputs(report_on(program.value()).c_str(), stdout);
    return 0;
}

int run(const std::vector<std::string>& words, char** arguments)
{
    if (words.size() >= 2 && words[0] == "--check") {
        return check(words[1], {words.begin() + 2, words.end()});
    }
    auto plan = plan_of(words);
    if (!plan) {
        return fail(usage_exit_code, plan.sentence());
    }
    if (!is_reserve_at_thread_pointer()) {
        return fail(not_started_exit_code,
                    "this build of headway-host has no room below the thread pointer; build "
                    "Headway with GNU ld, or use --ranks process");
    }
    auto programs = read_programs(plan.value());
    if (!programs) {
        return fail(not_started_exit_code, programs.sentence());
    }
    get_surplus(static_tls_bytes(plan.value(), programs.value()), arguments);
    const auto library = MpiLibrary::load();
    if (!library) {
        return fail(not_started_exit_code, library.sentence());
    }
    InZone::prepare();
    // Stays: threads that ranks have left behind may look at it to the last moment.
    auto* const host =
        new Host(std::move(plan.value()), std::move(programs.value()), library.value());
    return host->run();
}

}  // namespace

int main(int argument_count, char** arguments)
{
    const std::vector<std::string> words(arguments + (argument_count > 0 ? 1 : 0),
                                         arguments + argument_count);
    return run(words, arguments);
}

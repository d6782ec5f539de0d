// SPDX-License-Identifier: Apache-2.0
#include "environment.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <system_error>

namespace headway::launch {
namespace {

using Names = std::vector<std::string>;

std::string_view name_of(std::string_view assignment) noexcept
{
    return assignment.substr(0, assignment.find('='));
}

bool marks_a_job(std::string_view assignment) noexcept
{
    const std::string_view name = name_of(assignment);
    return name.starts_with("PMI_") || name.starts_with("PMIX_") || name == "HEADWAY_JOB" ||
           name == "MPI_LOCALRANKID" || name == "MPI_LOCALNRANKS";
}

void set(std::vector<std::string>& environment, std::string_view name, std::string_view value)
{
    std::erase_if(environment, [name](const std::string& each) { return name_of(each) == name; });
    environment.push_back(std::string(name) + "=" + std::string(value));
}

std::string value_of(const std::vector<std::string>& environment, std::string_view name)
{
    const auto found = std::find_if(environment.begin(), environment.end(),
                                    [name](const std::string& e) { return name_of(e) == name; });
    return found == environment.end() ? "" : found->substr(name.size() + 1);
}

void put_library_first(std::vector<std::string>& environment, const std::string& directory)
{
    const std::string path = value_of(environment, "LD_LIBRARY_PATH");
    if (path == directory || path.starts_with(directory + ":")) {
        return;
    }
    set(environment, "LD_LIBRARY_PATH", path.empty() ? directory : directory + ":" + path);
}

}  // namespace

std::vector<char*> pointers_to(const std::vector<std::string>& texts)
{
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (const std::string& text : texts) {
        pointers.push_back(const_cast<char*>(text.c_str()));
    }
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> own_environment()
{
    std::vector<std::string> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        environment.emplace_back(*entry);
    }
    return environment;
}

std::vector<std::string> without_outer_job(std::vector<std::string> environment)
{
    std::erase_if(environment, marks_a_job);
    return environment;
}

namespace {

void add_settings(std::vector<std::string>& environment, const EnvironmentChoice& choice,
                  const std::string& library_directory)
{
    // mpi4py looks for other libraries first unless this says that ours speaks the standard ABI.
    set(environment, "MPI4PY_MPIABI", "mpiabi");
    for (const auto& [name, value] : choice.set) {
        set(environment, name, value);
    }
    if (!library_directory.empty()) {
        put_library_first(environment, library_directory);
    }
}

/// What does not depend on the rank.
std::vector<std::string> environment_of_all(const std::vector<std::string>& inherited,
                                            const EnvironmentChoice& choice,
                                            const JobIdentity& identity)
{
    std::vector<std::string> environment = inherited;
    if (choice.kept) {
        std::erase_if(environment, [&choice](const std::string& each) {
            return std::find(choice.kept->begin(), choice.kept->end(), name_of(each)) ==
                   choice.kept->end();
        });
    }
    add_settings(environment, choice, identity.library_directory);
    set(environment, "MPI_LOCALNRANKS", std::to_string(identity.rank_count));
    set(environment, "HEADWAY_JOB", identity.job);
    return environment;
}

}  // namespace

std::vector<std::string> environment_of_rank(const std::vector<std::string>& inherited,
                                             const EnvironmentChoice& choice,
                                             const JobIdentity& identity, int rank,
                                             int pmi_descriptor)
{
    std::vector<std::string> environment = environment_of_all(inherited, choice, identity);
    const std::string rank_text = std::to_string(rank);
    set(environment, "PMI_FD", std::to_string(pmi_descriptor));
    set(environment, "PMI_RANK", rank_text);
    set(environment, "PMI_SIZE", std::to_string(identity.rank_count));
    set(environment, "MPI_LOCALRANKID", rank_text);
    return environment;
}

std::vector<std::string> environment_of_hosted(const std::vector<std::string>& inherited,
                                               const EnvironmentChoice& choice,
                                               const JobIdentity& identity)
{
    return environment_of_all(inherited, choice, identity);
}

std::vector<std::string> environment_of_launcher(std::vector<std::string> inherited,
                                                 const EnvironmentChoice& choice,
                                                 const std::string& library_directory)
{
    add_settings(inherited, choice, library_directory);
    return inherited;
}

EnvironmentChoice combine(const EnvironmentChoice& for_all, const EnvironmentChoice& of_program)
{
    EnvironmentChoice both = for_all;
    if (of_program.kept) {
        both.kept = of_program.kept;
    }
    both.set.insert(both.set.end(), of_program.set.begin(), of_program.set.end());
    return both;
}

std::string value_in(const std::vector<std::string>& inherited, const EnvironmentChoice& choice,
                     std::string_view name)
{
    std::string value = value_of(inherited, name);
    for (const auto& [each, text] : choice.set) {
        value = each == name ? text : value;
    }
    return value;
}

std::string own_program_directory()
{
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

std::string own_library_directory()
{
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) {
        return "";
    }
    const auto directory = program.parent_path().parent_path() / "lib";
    return std::filesystem::is_directory(directory, error) ? directory.string() : "";
}

std::string new_job_name()
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::array<std::uint8_t, 4> noise{};
    if (::getrandom(noise.data(), noise.size(), 0) != static_cast<ssize_t>(noise.size())) {
        noise.fill(0);
    }
    std::string name = std::to_string(::getpid()) + "-";
    for (const std::uint8_t byte : noise) {
        name += digits[byte >> 4U];
        name += digits[byte & 15U];
    }
    return name;
}

}  // namespace headway::launch

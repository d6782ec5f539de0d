// SPDX-License-Identifier: Apache-2.0
#include "boot/pmix.hpp"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#include <poll.h>

#include "boot/job_name.hpp"
#include "boot/pmi1_line.hpp"

namespace headway::boot {
namespace {

using pmix::Code;
using pmix::Info;
using pmix::Process;
using pmix::Type;
using pmix::Value;

constexpr int patience_s = 60;

Info setting(const char* key, bool value)
{
    Info info{};
    std::strncpy(info.key, key, pmix::key_length_max);
    info.value.type = Type::boolean;
    info.value.data.boolean = value;
    return info;
}

Info setting(const char* key, int value)
{
    Info info{};
    std::strncpy(info.key, key, pmix::key_length_max);
    info.value.type = Type::integer;
    info.value.data.integer = value;
    return info;
}

/// A value that the library has made, of the two types that are asked for.
struct ValueDeleter {
    void operator()(Value* value) const noexcept
    {
        if (value->type == Type::string) {
            std::free(value->data.string);
        }
        std::free(value);
    }
};
using OwnedValue = std::unique_ptr<Value, ValueDeleter>;

struct Answer {
    Code code;
    OwnedValue value;  ///< of the type that was asked for, or empty
};

Answer ask(const pmix::Functions& functions, const Process& whose, const char* key, const Info& how,
           Type type)
{
    Value* value = nullptr;
    const Code code = functions.get(&whose, key, &how, 1, &value);
    OwnedValue owned(code == pmix::success ? value : nullptr);
    if (owned != nullptr &&
        (owned->type != type || (type == Type::string && owned->data.string == nullptr))) {
        return {pmix::not_found, nullptr};
    }
    return {owned == nullptr && code == pmix::success ? pmix::not_found : code, std::move(owned)};
}

/// Keys end in the number of the process that puts them: servers look for others in their own
/// node only.
pmix::Rank owner_of(std::string_view key)
{
    const std::size_t dash = key.rfind('-');
    const auto number =
        dash == std::string_view::npos ? std::nullopt : parse_int(key.substr(dash + 1));
    return number && *number >= 0 ? static_cast<pmix::Rank>(*number) : pmix::any_rank;
}

Process member(const Process& own, pmix::Rank rank)
{
    Process process = own;
    process.rank = rank;
    return process;
}

/// Where another process is gone the launcher ends the job with the code of that, if no other one
/// leaves before with a code of its own.
void wait_to_be_ended()
{
    constexpr int patience_ms = 1000;
    ::poll(nullptr, 0, patience_ms);
}

}  // namespace

base::Failure PmixBoot::failure(const std::string& what, Code code) const
{
    const char* const why = functions_.error_string(code);
    return {what + " (PMIx says " + (why == nullptr ? std::to_string(code) : std::string(why)) +
            "); start the job again, or with Headway's mpiexec or mpiexec.hydra"};
}

base::Result<std::unique_ptr<Boot>> PmixBoot::open(const pmix::Functions& functions)
{
    std::unique_ptr<PmixBoot> boot(new PmixBoot(functions));
    if (auto joined = boot->join(); !joined) {
        return base::Failure{joined.sentence()};
    }
    return std::unique_ptr<Boot>(std::move(boot));
}

base::Outcome PmixBoot::join()
{
    if (const Code code = functions_.init(&own_, nullptr, 0); code != pmix::success) {
        return failure("the launcher's PMIx server does not answer", code);
    }
    own_.job[pmix::namespace_length_max] = '\0';
    const Answer size = ask(functions_, member(own_, pmix::whole_job), pmix::job_size_key,
                            setting(pmix::known_here_key, true), Type::number32);
    if (size.value == nullptr) {
        return failure("the launcher did not say the size of the job", size.code);
    }
    const std::uint32_t count = size.value->data.number32;
    if (own_.rank >= count || count > static_cast<std::uint32_t>(INT_MAX)) {
        return base::Failure{"the launcher says that this is process " + std::to_string(own_.rank) +
                             " of " + std::to_string(count) +
                             ", which cannot be; start the job again"};
    }
    process_index_ = static_cast<int>(own_.rank);
    process_count_ = static_cast<int>(count);
    job_ = to_job_name(own_.job);
    return base::Done{};
}

base::Result<std::vector<int>> PmixBoot::node_map()
{
    const Info here = setting(pmix::known_here_key, true);
    std::vector<int> nodes;
    for (int process = 0; process < process_count_; ++process) {
        const Answer node = ask(functions_, member(own_, static_cast<pmix::Rank>(process)),
                                pmix::node_key, here, Type::number32);
        if (node.value == nullptr || node.value->data.number32 > INT_MAX) {
            return nodes_by_host();
        }
        nodes.push_back(static_cast<int>(node.value->data.number32));
    }
    return nodes;
}

base::Result<std::vector<int>> PmixBoot::nodes_by_host()
{
    const Info here = setting(pmix::known_here_key, true);
    std::map<std::string, int> numbers;
    std::vector<int> nodes;
    for (int process = 0; process < process_count_; ++process) {
        const Answer host = ask(functions_, member(own_, static_cast<pmix::Rank>(process)),
                                pmix::host_key, here, Type::string);
        if (host.value == nullptr) {
            return std::vector<int>{};
        }
        const int next = static_cast<int>(numbers.size());
        nodes.push_back(numbers.try_emplace(host.value->data.string, next).first->second);
    }
    return nodes;
}

base::Outcome PmixBoot::put(std::string_view key, std::string_view value)
{
    if (key.empty() || key.size() > pmix::key_length_max || value.empty()) {
        return base::Failure{"a key or value that PMIx cannot carry: " + quote_bytes(key) + " " +
                             quote_bytes(value)};
    }
    std::string text(value);
    Value carried{};
    carried.type = Type::string;
    carried.data.string = text.data();
    const Code code = functions_.put(pmix::Scope::global, std::string(key).c_str(), &carried);
    if (code != pmix::success) {
        return failure("the launcher does not take " + quote_bytes(key), code);
    }
    return base::Done{};
}

base::Outcome PmixBoot::fence()
{
    if (const Code code = functions_.commit(); code != pmix::success) {
        return failure("the launcher does not take what this process has to say", code);
    }
    const Info collect = setting(pmix::collect_key, true);
    if (const Code code = functions_.fence(nullptr, 0, &collect, 1); code != pmix::success) {
        wait_to_be_ended();
        return failure("the processes of the job cannot meet", code);
    }
    return base::Done{};
}

base::Result<std::string> PmixBoot::get(std::string_view key)
{
    const Answer answer = ask(functions_, member(own_, owner_of(key)), std::string(key).c_str(),
                              setting(pmix::patience_key, patience_s), Type::string);
    if (answer.value == nullptr) {
        return failure("the launcher has no value for " + quote_bytes(key), answer.code);
    }
    return std::string(answer.value->data.string);
}

base::Outcome PmixBoot::finalize()
{
    if (const Code code = functions_.finalize(nullptr, 0); code != pmix::success) {
        return failure("the launcher does not let this process go", code);
    }
    return base::Done{};
}

void PmixBoot::abort(int code, std::string_view sentence)
{
    if (!sentence.empty()) {
        std::fprintf(stderr, "%.*s\n", static_cast<int>(sentence.size()), sentence.data());
        std::fflush(stderr);
    }
    // The caller exits with `code` at once. PRRTE ends the job for that alone, unless its status is
    // 0; asked to end it as well, it strikes the client off its list in one thread while another
    // one sees the connection close, and locks up or crashes (PRRTE 3.0, six jobs at once on two
    // cores: 6 of 150 aborts, and 7 of 40 where the process waited to be killed).
    if ((code & 0xFF) != 0 && std::getenv("PRTE_LAUNCHED") != nullptr) {
        return;
    }
    static_cast<void>(functions_.abort(code, std::string(sentence).c_str(), nullptr, 0));
}

}  // namespace headway::boot

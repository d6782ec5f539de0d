// SPDX-License-Identifier: Apache-2.0
#include "object/dedicated.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/cpu_list.hpp"
#include "engine/executor.hpp"
#include "platform/process.hpp"
#include "platform/thread.hpp"

namespace headway::object {

namespace {

base::Failure refuse(std::string_view list, const std::string& why)
{
    std::string sentence = "HEADWAY_PROGRESS=dedicated";
    if (!list.empty()) {
        sentence.append(":").append(list);
    }
    return {sentence.append(": ").append(why)};
}

std::string listed(const std::vector<unsigned>& cpus)
{
    std::string text;
    for (const unsigned cpu : cpus) {
        text += text.empty() ? "" : ",";
        text += std::to_string(cpu);
    }
    return text;
}

}  // namespace

base::Outcome reserve_cpus(const config::Knobs& knobs, std::vector<unsigned>& cpus)
{
    if (knobs.progress != config::ProgressChoice::dedicated || knobs.sim != 0) {
        return base::Done{};
    }
    const std::string_view list = knobs.progress_list;
    const std::vector<unsigned> allowed = platform::allowed_cpus();
    if (list.empty() && !allowed.empty()) {
        cpus.push_back(allowed.front());
    } else {
        auto parsed = base::parse_cpu_list(list);
        if (!parsed) {
            return refuse(list, parsed.sentence() + "; write it as dedicated:0 or dedicated:0,8-9");
        }
        cpus = std::move(parsed.value());
    }
    for (const unsigned cpu : cpus) {
        if (!platform::can_run_on(cpu)) {
            return refuse(list, "there is no cpu " + std::to_string(cpu) +
                                    " for this process; name one of those that /proc/self/status "
                                    "or the container allows");
        }
    }
    std::vector<unsigned> left;
    std::ranges::copy_if(allowed, std::back_inserter(left),
                         [&](unsigned cpu) { return std::ranges::find(cpus, cpu) == cpus.end(); });
    if (left.empty()) {
        return refuse(list, "cpu " + listed(cpus) +
                                " is all that this process may run on, and leaves none for its "
                                "rank; start it with mpiexec --progress dedicated, bind it to more "
                                "cores, or unset HEADWAY_PROGRESS");
    }
    if (left.size() != allowed.size()) {
        platform::allow_cpus(left);
        int others = 0;
        for (const unsigned cpu : cpus) {
            others = std::max(others, platform::other_threads_on(cpu));
        }
        if (others != 0) {
            platform::write_error("headway: warning: " + std::to_string(others) +
                                  (others == 1 ? " thread" : " threads") +
                                  " of this process may run on the dedicated cpu " + listed(cpus) +
                                  "; start MPI before other threads, or the program with mpiexec "
                                  "--progress dedicated\n");
        }
    }
    return base::Done{};
}

base::Outcome start_on_dedicated_cpus(engine::Node& node)
{
    if (engine::has_dedicated_cpus(node) && !node.agent().start()) {
        return base::Failure{
            "HEADWAY_PROGRESS=dedicated needs a thread, which the system refuses; raise the limit "
            "(ulimit -u)"};
    }
    return base::Done{};
}

}  // namespace headway::object

// SPDX-License-Identifier: Apache-2.0
// Words that end with a zero byte; each list has its length before it.
#include "host_plan.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace headway::launch {
namespace {

constexpr std::string_view mark = "headway-host-plan-3";
/// More of anything is no plan.
constexpr int count_max = 1 << 20;

class Writer {
  public:
    void add(std::string_view word) { text_.append(word).push_back('\0'); }
    void add(std::size_t number) { add(std::string_view(std::to_string(number))); }
    void add(const std::vector<std::string>& words)
    {
        add(words.size());
        for (const std::string& each : words) {
            add(std::string_view(each));
        }
    }
    std::string take() { return std::move(text_); }

  private:
    std::string text_;
};

class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    std::string_view word()
    {
        const std::size_t end = text_.find('\0');
        if (end == std::string_view::npos) {
            is_good_ = false;
            return {};
        }
        const std::string_view found = text_.substr(0, end);
        text_.remove_prefix(end + 1);
        return found;
    }
    int number()
    {
        const std::string_view digits = word();
        int value = 0;
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (error != std::errc() || end != digits.data() + digits.size() || value < 0 ||
            value > count_max) {
            is_good_ = false;
            return 0;
        }
        return value;
    }
    std::vector<std::string> words()
    {
        std::vector<std::string> found;
        for (int left = number(); left > 0 && is_good_; --left) {
            found.emplace_back(word());
        }
        return found;
    }
    bool is_good() const noexcept { return is_good_; }
    bool is_at_end() const noexcept { return text_.empty(); }

  private:
    std::string_view text_;
    bool is_good_ = true;
};

}  // namespace

int HostPlan::rank_count() const noexcept
{
    int count = 0;
    for (const Program& each : programs) {
        count += each.rank_count;
    }
    return count;
}

HostPlan part_of(const HostPlan& whole, int first, int count)
{
    HostPlan part = whole;
    part.first_rank = first;
    part.programs.clear();
    int begin = 0;
    for (const HostPlan::Program& each : whole.programs) {
        const int end = begin + each.rank_count;
        const int ranks_here = std::min(end, first + count) - std::max(begin, first);
        if (ranks_here > 0) {
            part.continues_program = part.programs.empty() ? begin < first : part.continues_program;
            part.programs.push_back(each);
            part.programs.back().rank_count = ranks_here;
        }
        begin = end;
    }
    if (!whole.cpus.empty()) {
        part.cpus.assign(whole.cpus.begin() + first, whole.cpus.begin() + first + count);
    }
    return part;
}

std::string to_bytes(const HostPlan& plan)
{
    Writer writer;
    writer.add(mark);
    writer.add(plan.programs.size());
    for (const HostPlan::Program& each : plan.programs) {
        writer.add(static_cast<std::size_t>(each.rank_count));
        writer.add(std::string_view(each.directory));
        writer.add(each.arguments);
        writer.add(each.environment);
        writer.add(each.shared_libraries);
    }
    writer.add(plan.cpus.size());
    for (const std::vector<int>& each : plan.cpus) {
        writer.add(each.size());
        for (const int cpu : each) {
            writer.add(static_cast<std::size_t>(cpu));
        }
    }
    const HostPlan::Crew& crew = plan.crew;
    for (const int number :
         {plan.first_rank, plan.job_rank_count, plan.stack_kib, crew.workers, crew.seed}) {
        writer.add(static_cast<std::size_t>(number));
    }
    for (const bool is_so : {plan.continues_program, crew.is_wanted, crew.binds_ranks,
                             crew.pins_workers, crew.sleeps_suspend, crew.reports}) {
        writer.add(std::size_t{is_so});
    }
    return writer.take();
}

base::Result<HostPlan> read_plan(std::span<const std::byte> bytes)
{
    Reader reader({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    HostPlan plan;
    bool is_good = reader.word() == mark;
    std::int64_t ranks = 0;
    for (int left = reader.number(); left > 0 && is_good; --left) {
        HostPlan::Program program;
        program.rank_count = reader.number();
        program.directory = reader.word();
        program.arguments = reader.words();
        program.environment = reader.words();
        program.shared_libraries = reader.words();
        ranks += program.rank_count;
        is_good = reader.is_good() && program.rank_count > 0 && !program.arguments.empty() &&
                  ranks <= count_max;
        plan.programs.push_back(std::move(program));
    }
    for (int left = reader.number(); left > 0 && is_good && reader.is_good(); --left) {
        std::vector<int>& cpus = plan.cpus.emplace_back();
        for (int more = reader.number(); more > 0 && reader.is_good(); --more) {
            cpus.push_back(reader.number());
        }
    }
    HostPlan::Crew& crew = plan.crew;
    for (int* const number :
         {&plan.first_rank, &plan.job_rank_count, &plan.stack_kib, &crew.workers, &crew.seed}) {
        *number = reader.number();
    }
    for (bool* const is_so : {&plan.continues_program, &crew.is_wanted, &crew.binds_ranks,
                              &crew.pins_workers, &crew.sleeps_suspend, &crew.reports}) {
        *is_so = reader.number() != 0;
    }
    is_good = is_good && reader.is_good() && reader.is_at_end() && !plan.programs.empty() &&
              (plan.cpus.empty() || plan.cpus.size() == static_cast<std::size_t>(ranks)) &&
              (plan.job_rank_count == 0 || plan.first_rank + ranks <= plan.job_rank_count);
    if (!is_good) {
        return base::Failure{"the plan of the job makes no sense; start the job with mpiexec"};
    }
    return plan;
}

}  // namespace headway::launch

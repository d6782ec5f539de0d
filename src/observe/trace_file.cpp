// SPDX-License-Identifier: Apache-2.0
#include "observe/trace_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

#include "observe/json_text.hpp"
#include "platform/cpu.hpp"

namespace headway::observe {

namespace {

/// Thread numbers within a rank: its own threads from 0, its agent, then the ranks that helped it.
constexpr std::uint32_t agent_lane = 1000;
constexpr std::uint32_t first_helper_lane = 1001;

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

base::Failure cannot_write(const std::string& path, int error)
{
    return {"cannot write '" + path + "' (" + std::strerror(error) + ")"};
}

/// The earliest moment that a trace knows of.
std::int64_t origin_of(const JobTrace& job)
{
    std::int64_t origin = platform::monotonic_ns();
    for (const RankTrace& rank : job.ranks) {
        for (const Ring* ring : rank.rings) {
            ring->visit([&](const Record& record) { origin = std::min(origin, record.begin_ns); });
        }
    }
    return origin;
}

class TraceText {
  public:
    TraceText(std::FILE* file, const JobTrace& job)
        : text_(file), job_(job), origin_ns_(origin_of(job)), end_ns_(platform::monotonic_ns())
    {
    }

    void write()
    {
        text_ << "{\"displayTimeUnit\":\"ns\",\n\"otherData\":";
        write_head();
        text_ << ",\n\"traceEvents\":[\n";
        for (const RankTrace& rank : job_.ranks) {
            begin_event('M', rank.rank, 0);
            text_ << ",\"name\":\"process_name\",\"args\":{\"name\":\"rank " << rank.rank << "\"}}";
            begin_event('M', rank.rank, 0);
            text_ << ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":" << rank.rank
                  << "}}";
            for (std::uint32_t lane = 0; lane < rank.rings.size(); ++lane) {
                write_ring(*rank.rings[lane], lane);
            }
        }
        text_ << "\n]}\n";
        text_.flush();
    }

    int error() const noexcept { return text_.error(); }

  private:
    void write_head()
    {
        text_ << "{\"format\":\"headway-trace-1\",\"version\":";
        text_.quoted(job_.version) << ",\"end\":";
        text_.quoted(job_.end) << ",\"ranks\":" << job_.ranks.size() << ",\"duration_us\":";
        text_.microseconds(end_ns_ - origin_ns_) << ",\n\"counters\":[";
        const char* separator = "\n";
        for (const RankTrace& rank : job_.ranks) {
            text_ << separator << "{\"rank\":" << rank.rank;
            for (const auto& [name, value] : rank.counters) {
                text_ << ",";
                text_.quoted(name) << ":" << value + (name == "call_ns" ? open_ns(rank) : 0);
            }
            text_ << "}";
            separator = ",\n";
        }
        text_ << "],\n\"dropped\":[";
        write_dropped();
        text_ << "]}";
    }

    /// Length so far of the calls that have not ended: the counters do not have them yet.
    std::uint64_t open_ns(const RankTrace& rank) const
    {
        std::int64_t sum = 0;
        for (const Ring* ring : rank.rings) {
            const std::int64_t since_ns = ring->open_since_ns();
            sum += since_ns != 0 && since_ns < end_ns_ ? end_ns_ - since_ns : 0;
        }
        return static_cast<std::uint64_t>(sum);
    }

    void write_dropped()
    {
        const char* separator = "\n";
        for (const RankTrace& rank : job_.ranks) {
            for (std::uint32_t lane = 0; lane < rank.rings.size(); ++lane) {
                const std::uint64_t dropped = rank.rings[lane]->dropped();
                if (dropped != 0) {
                    text_ << separator << "{\"rank\":" << rank.rank
                          << ",\"thread\":" << lane_of(*rank.rings[lane], lane, rank.rank)
                          << ",\"events\":" << dropped << "}";
                    separator = ",\n";
                }
            }
        }
    }

    /// Where the work of a ring's thread for `rank` is shown.
    static std::uint32_t lane_of(const Ring& ring, std::uint32_t lane, std::uint32_t rank)
    {
        if (ring.thread == ThreadKind::agent) {
            return agent_lane;
        }
        return ring.rank == rank ? lane : first_helper_lane + ring.rank;
    }

    void write_ring(const Ring& ring, std::uint32_t lane)
    {
        name_lane(ring, lane, ring.rank);
        ring.visit([&](const Record& record) {
            const std::uint32_t shown = lane_of(ring, lane, record.rank);
            name_lane(ring, lane, record.rank);
            switch (record.kind) {
                case EventKind::call:
                    write_call(record.rank, shown, record.index, record.begin_ns,
                               static_cast<std::int64_t>(record.amount), record.depth);
                    break;
                case EventKind::span:
                    write_span(record, shown);
                    break;
                case EventKind::posted:
                case EventKind::received:
                case EventKind::delivered:
                    write_message(record, shown);
                    break;
                case EventKind::kept:
                case EventKind::matched_late:
                    break;
            }
        });
        const std::int64_t since_ns = ring.open_since_ns();
        if (since_ns != 0 && since_ns < end_ns_) {
            write_call(ring.rank, lane, ring.open_function(), since_ns, end_ns_ - since_ns, 0);
        }
    }

    void begin_event(char phase, std::uint32_t rank, std::uint32_t lane)
    {
        const char quoted[] = {'"', phase, '"'};
        text_ << (is_first_ ? "" : ",\n") << "{\"ph\":" << std::string_view(quoted, sizeof quoted)
              << ",\"pid\":" << rank << ",\"tid\":" << lane;
        is_first_ = false;
    }

    void write_times(std::int64_t begin_ns, std::int64_t length_ns)
    {
        text_ << ",\"ts\":";
        text_.microseconds(begin_ns - origin_ns_) << ",\"dur\":";
        text_.microseconds(length_ns);
    }

    void write_call(std::uint32_t rank, std::uint32_t lane, std::uint16_t function,
                    std::int64_t begin_ns, std::int64_t length_ns, std::uint8_t depth)
    {
        begin_event('X', rank, lane);
        write_times(begin_ns, length_ns);
        text_ << ",\"cat\":\"mpi\",\"name\":\"";
        if (job_.function_name != nullptr) {
            text_ << job_.function_name(function);
        } else {
            text_ << "call " << function;
        }
        text_ << "\"";
        if (depth != 0) {
            text_ << ",\"args\":{\"depth\":" << depth << "}";
        }
        text_ << "}";
    }

    void write_span(const Record& record, std::uint32_t lane)
    {
        begin_event('X', record.rank, lane);
        write_times(record.begin_ns, static_cast<std::int64_t>(record.amount));
        const std::size_t kind = std::min<std::size_t>(record.index, span_names.size() - 1);
        text_ << ",\"cat\":\"span\",\"name\":\"" << span_names[kind] << "\"";
        if (record.peer != record.rank) {
            text_ << ",\"args\":{\"by\":" << record.peer << "}";
        }
        text_ << "}";
    }

    /// Both ends make the same name, so they need not be joined here.
    void write_message(const Record& record, std::uint32_t lane)
    {
        const bool is_posted = record.kind == EventKind::posted;
        const char phase = is_posted ? 's' : (record.kind == EventKind::received ? 't' : 'f');
        const std::uint32_t receiver = is_posted ? record.peer : record.rank;
        begin_event(phase, record.rank, lane);
        text_ << ",\"ts\":";
        text_.microseconds(record.begin_ns - origin_ns_)
            << ",\"cat\":\"message\",\"name\":\"message\"" << (phase == 'f' ? ",\"bp\":\"e\"" : "")
            << ",\"id\":\"" << receiver << "." << record.context << "." << record.source << "."
            << record.sequence;
        if ((record.context & 1U) != 0) {
            text_ << "." << record.tag;  // a step of a collective: its slot is part of its name
        }
        text_ << "\",\"args\":{\"bytes\":" << record.amount << ",\"tag\":" << record.tag
              << ",\"context\":" << record.context;
        if (is_posted) {
            text_ << ",\"to\":" << record.peer;
        }
        text_ << "}}";
    }

    /// Says once what a lane of a rank is called.
    void name_lane(const Ring& ring, std::uint32_t lane, std::uint32_t rank)
    {
        const std::uint32_t shown = lane_of(ring, lane, rank);
        if (!named_.insert({rank, shown}).second) {
            return;
        }
        begin_event('M', rank, shown);
        text_ << ",\"name\":\"thread_name\",\"args\":{\"name\":\"";
        if (shown == agent_lane) {
            text_ << "agent";
        } else if (shown >= first_helper_lane) {
            text_ << "help by rank " << ring.rank;
        } else if (shown == 0) {
            text_ << "main";
        } else {
            text_ << "thread " << shown;
        }
        text_ << "\"}}";
    }

    JsonText text_;
    const JobTrace& job_;
    std::int64_t origin_ns_;
    std::int64_t end_ns_;
    bool is_first_ = true;
    std::set<std::pair<std::uint32_t, std::uint32_t>> named_;
};

}  // namespace

base::Outcome prepare_trace_file(const std::string& path)
{
    const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "w"));
    if (file == nullptr) {
        return cannot_write(path, errno);
    }
    return base::Done{};
}

base::Outcome write_trace_file(const std::string& path, const JobTrace& job)
{
    std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "w"));
    if (file == nullptr) {
        return cannot_write(path, errno);
    }
    TraceText text(file.get(), job);
    text.write();
    if (text.error() != 0) {
        return cannot_write(path, text.error());
    }
    if (std::fclose(file.release()) != 0) {
        return cannot_write(path, errno);
    }
    return base::Done{};
}

}  // namespace headway::observe

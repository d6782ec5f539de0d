// SPDX-License-Identifier: Apache-2.0
#include "object/tool.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>

#include "object/process.hpp"
#include "platform/cpu.hpp"
#include "transport/network.hpp"

namespace headway::object {

namespace {

using config::KnobGroup;
using engine::OwnLane;
using engine::RankCounters;
using engine::ThreadCounters;
using transport::RegionCounts;

/// Of all instances of the rank.
template <typename Count>
std::uint64_t sum(Rank& rank, Count&& count)
{
    std::uint64_t total = 0;
    for (std::uint32_t number = 0; number < rank.instance_count(); ++number) {
        total += count(rank.instance(number));
    }
    return total;
}

template <std::atomic<std::uint64_t> RankCounters::* counter>
std::uint64_t count(Rank& rank)
{
    return sum(rank, [](Instance& each) {
        // Relaxed: statistics, each by itself.
        return (each.driver->rank().counters.*counter).load(std::memory_order_relaxed);
    });
}

template <std::atomic<std::uint64_t> engine::ThreadCounters::* counter>
std::uint64_t count(Rank& rank)
{
    return sum(rank, [](Instance& each) {
        // Relaxed: as above.
        return (each.driver->lock().counters().*counter).load(std::memory_order_relaxed);
    });
}

template <std::atomic<std::uint64_t> OwnLane::* counter>
std::uint64_t count(Rank& rank)
{
    return sum(rank, [](Instance& each) {
        // Relaxed: as above.
        return (each.driver->rank().own_lane.*counter).load(std::memory_order_relaxed);
    });
}

std::uint64_t agent_wakes(Rank& rank)
{
    return sum(rank, [](Instance& each) {
        // Relaxed: as above.
        return each.driver->node().own_entry().agent_wakes.load(std::memory_order_relaxed);
    });
}

template <std::uint64_t RegionCounts::* counter>
std::uint64_t count(Rank& rank)
{
    const transport::Network* const network = rank.driver().node().network;
    return network != nullptr ? network->region_counts().*counter : 0;
}

std::uint64_t live_handles(Rank& rank)
{
    return sum(rank, [](Instance& each) { return each.pool->live_count(); });
}

void count_matching_time(Rank& rank, bool is_wanted)
{
    for (std::uint32_t number = 0; number < rank.instance_count(); ++number) {
        // Relaxed: see RankCounters::times_matching.
        rank.instance(number).driver->rank().counters.times_matching.store(
            is_wanted ? 1 : 0, std::memory_order_relaxed);
    }
}

constexpr int counter = MPI_T_PVAR_CLASS_COUNTER;
constexpr int aggregate = MPI_T_PVAR_CLASS_AGGREGATE;
constexpr int timer = MPI_T_PVAR_CLASS_TIMER;
constexpr int level = MPI_T_PVAR_CLASS_LEVEL;
constexpr int highest = MPI_T_PVAR_CLASS_HIGHWATERMARK;

constexpr PerformanceVariable variables[] = {
    {"calls", counter, false, true, KnobGroup::messages,
     "Calls of the application into MPI, without those inside callbacks.",
     &count<&RankCounters::calls>},
    {"call_time", timer, false, true, KnobGroup::messages, "Nanoseconds spent in these calls.",
     &count<&RankCounters::call_ns>},
    {"sleep_time", timer, false, true, KnobGroup::progress,
     "Nanoseconds that threads of the rank slept inside MPI.", &count<&RankCounters::sleep_ns>},
    {"messages_sent", counter, false, true, KnobGroup::messages,
     "Messages that the rank sent, those of collectives included.",
     &count<&RankCounters::messages_sent>},
    {"bytes_sent", aggregate, false, true, KnobGroup::messages, "Bytes of these messages.",
     &count<&RankCounters::bytes_sent>},
    {"messages_received", counter, false, true, KnobGroup::messages,
     "Messages that the rank received from ranks that are observed too.",
     &count<&RankCounters::messages_received>},
    {"bytes_received", aggregate, false, true, KnobGroup::messages, "Bytes of these messages.",
     &count<&RankCounters::bytes_received>},
    {"messages_unexpected", counter, false, true, KnobGroup::messages,
     "Messages that arrived before their receive.", &count<&RankCounters::messages_kept>},
    {"messages_matched_late", counter, false, true, KnobGroup::messages,
     "Messages that had arrived when their receive was started.",
     &count<&RankCounters::messages_matched_late>},
    {"unexpected_bytes", level, true, false, KnobGroup::memory,
     "Memory held for short messages without a receive.", &count<&RankCounters::unexpected_bytes>},
    {"unexpected_bytes_max", highest, true, false, KnobGroup::memory,
     "The most memory that was held for such messages.",
     &count<&RankCounters::unexpected_bytes_max>},
    {"live_handles", level, true, false, KnobGroup::memory,
     "Handles of communicators, requests, datatypes and other objects that were not freed.",
     &live_handles},
    {"messages_out_of_sequence", counter, false, true, KnobGroup::messages,
     "Messages that arrived after a later one of their sender, who is observed too.",
     &count<&RankCounters::messages_overtaken>},
    {"posted_queue", level, true, false, KnobGroup::messages,
     "Receives that wait for their message, those of collectives included.",
     &count<&RankCounters::posted_queue>},
    {"posted_queue_max", highest, true, false, KnobGroup::messages,
     "The most receives that waited so at once.", &count<&RankCounters::posted_queue_max>},
    {"unexpected_queue", level, true, false, KnobGroup::messages,
     "Messages that wait for their receive, those of collectives included.",
     &count<&RankCounters::unexpected_queue>},
    {"unexpected_queue_max", highest, true, false, KnobGroup::messages,
     "The most messages that waited so at once.", &count<&RankCounters::unexpected_queue_max>},
    {"match_work_time", timer, false, false, KnobGroup::messages,
     "Nanoseconds spent in the tables where receives and messages find each other. Waiting to get "
     "there is a part of lock_wait_time.",
     &count<&RankCounters::match_work_ns>, &count_matching_time},
    {"frames_posted", counter, false, false, KnobGroup::messages, "Frames handed to other ranks.",
     &count<&RankCounters::frames_posted>},
    {"frames_received", counter, false, false, KnobGroup::messages, "Frames from other ranks.",
     &count<&RankCounters::frames_received>},
    {"retries", counter, false, false, KnobGroup::messages,
     "Frames that had to wait, for their lane was full.", &count<&RankCounters::retries>},
    {"offers_for_room", counter, false, false, KnobGroup::messages,
     "Short messages that waited at their sender, for the receiver held too many.",
     &count<&RankCounters::offers_for_room>},
    {"bytes_copied_across", aggregate, false, false, KnobGroup::messages,
     "Bytes that came by one copy out of the memory of another process.",
     &count<&RankCounters::bytes_copied_across>},
    {"bytes_piped", aggregate, false, false, KnobGroup::messages,
     "Bytes that were copied twice, through shared memory.", &count<&RankCounters::bytes_piped>},
    {"bytes_combined", aggregate, false, false, KnobGroup::messages,
     "Bytes of reductions that were combined as they came, instead of stored before.",
     &count<&RankCounters::bytes_combined>},
    {"network_region_hits", counter, false, false, KnobGroup::memory,
     "Long messages of the process to other nodes, and from them, whose memory was registered "
     "already.",
     &count<&RegionCounts::hits>},
    {"network_region_misses", counter, false, false, KnobGroup::memory,
     "Long messages of the process to other nodes, and from them, whose memory had to be "
     "registered.",
     &count<&RegionCounts::misses>},
    {"network_region_evictions", counter, false, false, KnobGroup::memory,
     "Registered regions of memory that made room for others.", &count<&RegionCounts::evictions>},
    {"network_region_invalidations", counter, false, false, KnobGroup::memory,
     "Registered regions of memory that the program has unmapped, moved or emptied.",
     &count<&RegionCounts::invalidations>},
    {"sweeps", counter, false, false, KnobGroup::progress,
     "How often somebody looked at all that could move for the rank.",
     &count<&RankCounters::sweeps>},
    {"parks", counter, false, false, KnobGroup::progress, "How often a wait went to sleep.",
     &count<&RankCounters::parks>},
    {"times_helped", counter, false, false, KnobGroup::progress,
     "How often somebody else worked for the rank while it computed.",
     &count<&RankCounters::times_helped>},
    {"calls_for_help", counter, false, false, KnobGroup::progress,
     "How often the rank asked somebody to work for another one that computed.",
     &count<&RankCounters::calls_for_help>},
    {"agent_wake_ups", counter, false, false, KnobGroup::progress,
     "How often the agent of the rank's process was woken.", &agent_wakes},
    {"locks_contended", counter, false, false, KnobGroup::progress,
     "Calls that found another thread of the rank inside MPI, and waited for it.",
     &count<&ThreadCounters::locks_contended>},
    {"lock_wait_time", timer, false, false, KnobGroup::progress,
     "Nanoseconds that these calls waited, matching and all else that needs the rank included.",
     &count<&ThreadCounters::lock_wait_ns>},
    {"gates_contended", counter, false, false, KnobGroup::progress,
     "Messages between threads of the rank that found another thread just posting one.",
     &count<&OwnLane::gates_contended>},
    {"gate_wait_time", timer, false, false, KnobGroup::progress,
     "Nanoseconds that these messages waited.", &count<&OwnLane::gate_wait_ns>},
    {"turns_given", counter, false, false, KnobGroup::progress,
     "How often a thread that waited inside MPI let another one of its rank in.",
     &count<&ThreadCounters::turns_given>},
    {"threads_woken", counter, false, false, KnobGroup::progress,
     "Wake-ups of threads that slept while another thread of the rank made progress.",
     &count<&ThreadCounters::wake_ups>},
    {"hand_overs", counter, false, false, KnobGroup::progress,
     "How often the thread that made progress for others of its rank left it to them.",
     &count<&ThreadCounters::hand_overs>},
    {"sleeps_beside", counter, false, false, KnobGroup::progress,
     "How often a thread went to sleep while another one of its rank made progress.",
     &count<&ThreadCounters::sleeps_beside>},
};

const EventElement message_elements[] = {
    {MPI_INT32_T, offsetof(MessageEventData, source)},
    {MPI_INT32_T, offsetof(MessageEventData, tag)},
    {MPI_UINT32_T, offsetof(MessageEventData, context)},
    {MPI_UINT64_T, offsetof(MessageEventData, bytes)},
};
const EventElement agent_elements[] = {
    {MPI_UINT64_T, offsetof(AgentEventData, wake_ups)},
};

const ToolEventKind kinds[] = {
    {ToolEvent::message_kept, "message_unexpected", KnobGroup::messages,
     "A message arrived before its receive. Values: source, tag, communicator, bytes.",
     message_elements},
    {ToolEvent::message_matched_late, "message_matched_late", KnobGroup::messages,
     "A receive found a message that had arrived before. Values: source, tag, communicator, bytes.",
     message_elements},
    {ToolEvent::agent_woken, "agent_woken", KnobGroup::progress,
     "The agent of the rank's process was woken. Value: how often since the last event.",
     agent_elements},
};

/// Requires: an event of messages.
observe::EventKind kind_of(ToolEvent event)
{
    return event == ToolEvent::message_kept ? observe::EventKind::kept
                                            : observe::EventKind::matched_late;
}

ToolEventInstance instance_of(const ToolEventKind& kind, const observe::Record& record)
{
    return {
        &kind, record.begin_ns, {{record.source, record.tag, record.context, 0, record.amount}}};
}

/// The callback for an event that asks nothing of it.
struct Chosen {
    EventRegistration* registration;
    MPI_T_event_cb_function* function;
    void* user_data;
};

Chosen choose(EventRegistration& registration)
{
    for (const EventRegistration::Callback& callback : registration.callbacks) {
        if (callback.function != nullptr) {
            return {&registration, callback.function, callback.user_data};
        }
    }
    return {&registration, nullptr, nullptr};
}

void raise(const Chosen& chosen, ToolEventInstance instance)
{
    // It is freed in a callback perhaps, and stays until all have returned.
    if (chosen.function != nullptr && !chosen.registration->is_freed) {
        chosen.function(reinterpret_cast<MPI_T_event_instance>(&instance),
                        reinterpret_cast<MPI_T_event_registration>(chosen.registration),
                        MPI_T_CB_REQUIRE_NONE, chosen.user_data);
    }
}

void raise_agent(Rank& rank, const Chosen& chosen)
{
    const std::uint64_t wakes = agent_wakes(rank);
    const std::uint64_t more = wakes - chosen.registration->wakes_told;
    chosen.registration->wakes_told = wakes;
    if (more != 0) {
        ToolEventInstance instance{chosen.registration->kind, platform::monotonic_ns(), {}};
        instance.agent = {more};
        raise(chosen, instance);
    }
}

void raise_all(Rank& rank, const Chosen& chosen, const observe::Listener& heard)
{
    const ToolEventKind& kind = *chosen.registration->kind;
    if (kind.event == ToolEvent::agent_woken) {
        raise_agent(rank, chosen);
        return;
    }
    for (const observe::Record& record : heard.pending) {
        if (record.kind == kind_of(kind.event)) {
            raise(chosen, instance_of(kind, record));
        }
    }
    const std::uint64_t dropped = heard.dropped[static_cast<std::size_t>(kind_of(kind.event))];
    if (dropped != 0 && chosen.registration->dropped != nullptr && !chosen.registration->is_freed) {
        chosen.registration->dropped(
            static_cast<MPI_Count>(dropped),
            reinterpret_cast<MPI_T_event_registration>(chosen.registration), 0,
            MPI_T_CB_REQUIRE_NONE, chosen.user_data);
    }
}

}  // namespace

std::span<const PerformanceVariable> performance_variables() noexcept
{
    return variables;
}

std::uint64_t read_now(RankAccess* rank, const PerformanceVariable& variable)
{
    const bool is_there = rank != nullptr && as_rank(*rank).was_started();
    return is_there ? variable.read(as_rank(*rank)) : 0;
}

std::span<const ToolEventKind> tool_events() noexcept
{
    return kinds;
}

bool EventRegistration::has_callback() const noexcept
{
    return std::ranges::any_of(callbacks,
                               [](const Callback& each) { return each.function != nullptr; });
}

void count_what_is_wanted(RankAccess* access, const ToolPart& tools)
{
    if (access == nullptr || !as_rank(*access).was_started()) {
        return;
    }
    for (const PerformanceVariable& variable : variables) {
        if (variable.count == nullptr) {
            continue;
        }
        const bool is_wanted = std::ranges::any_of(tools.sessions, [&](const auto& session) {
            return std::ranges::any_of(session->handles, [&](const auto& handle) {
                return handle->variable == &variable && handle->is_started;
            });
        });
        variable.count(as_rank(*access), is_wanted);
    }
}

void apply_tool_settings(config::Knobs& knobs)
{
    AnyTimePart& part = process_any_time();
    const std::lock_guard guard(part.mutex);
    for (const auto& [row, value] : part.tools.values_set) {
        const auto set = row->store;
        set(knobs, value);
    }
    for (const auto& [row, text] : part.tools.texts_set) {
        row->store_text(knobs, text);
    }
}

config::Knobs knobs_in_effect(RankAccess* rank)
{
    if (rank != nullptr) {
        Process& process = as_rank(*rank).process();
        return process.is_joined() ? process.node().knobs : process.knobs();
    }
    const auto loaded = config::load_knobs(platform::Environment::of_process());
    config::Knobs knobs = loaded ? loaded.value() : config::Knobs{};
    apply_tool_settings(knobs);
    return knobs;
}

bool set_late_knob(RankAccess& access, const config::KnobRow& row, std::uint64_t value)
{
    Rank& rank = as_rank(access);
    if (rank.process().ranks_here() != 1 || !rank.process().is_joined()) {
        return false;
    }
    // The rank's threads read it under their instance's lock.
    const auto set = row.store;
    rank.door->enter();
    for (std::uint32_t number = 0; number < rank.instance_count(); ++number) {
        const Inside inside(rank.instance(number));
        set(rank.process().node(number).knobs, value);
    }
    rank.door->leave();
    return true;
}

void deliver_tool_events(RankAccess& access)
{
    Rank& rank = as_rank(access);
    if (!rank.has_listener()) {
        return;
    }
    AnyTimePart& part = rank.any_time();
    std::vector<Chosen> chosen;
    {
        const std::lock_guard guard(part.mutex);
        if (part.tools.delivering != 0) {
            return;  // a call inside a callback: the outer one goes on afterwards
        }
        for (const auto& registration : part.tools.registrations) {
            chosen.push_back(choose(*registration));
        }
        part.tools.delivering = 1;
    }
    // Callbacks may cause more; those come at the end of the next call.
    const observe::Listener heard = rank.take_tool_events();
    for (const Chosen& each : chosen) {
        raise_all(rank, each, heard);
    }
    const std::lock_guard guard(part.mutex);
    part.tools.delivering = 0;
    std::erase_if(part.tools.registrations,
                  [](const auto& registration) { return registration->is_freed; });
}

}  // namespace headway::object

// SPDX-License-Identifier: Apache-2.0
// What the tool information interface (MPI-5.0 chapter 15) keeps of a rank, and what it shows:
// knobs as control variables, the rank's counters as performance variables, events.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/knobs.hpp"
#include "mpi.h"
#include "object/info.hpp"

namespace headway::object {

class Rank;
struct RankAccess;

/// A performance variable: a count that the rank keeps anyway, or in an observed rank.
struct PerformanceVariable {
    std::string_view name;
    int variable_class;
    bool is_continuous;  ///< has a value whether or not a handle was started; nobody may set it
    bool is_observed;    ///< the rank is observed from the first handle on
    config::KnobGroup group;
    std::string_view about;
    std::uint64_t (*read)(Rank& rank);
    /// Begins and ends to count; null: it is counted anyway.
    void (*count)(Rank& rank, bool is_wanted) = nullptr;
};
std::span<const PerformanceVariable> performance_variables() noexcept;

/// The value now; 0 where the rank never communicated.
std::uint64_t read_now(RankAccess* rank, const PerformanceVariable& variable);

/// One value that an event carries.
struct EventElement {
    MPI_Datatype type;
    MPI_Aint displacement;
};
enum class ToolEvent : std::uint8_t { message_kept, message_matched_late, agent_woken };
struct ToolEventKind {
    ToolEvent event;
    std::string_view name;
    config::KnobGroup group;
    std::string_view about;
    std::span<const EventElement> elements;
};
std::span<const ToolEventKind> tool_events() noexcept;

/// What a callback can read of one event, laid out as the elements of its kind say.
struct MessageEventData {
    std::int32_t source;  ///< rank in the communicator
    std::int32_t tag;
    std::uint32_t context;  ///< number of the communicator in its rank
    std::uint32_t unused;
    std::uint64_t bytes;
};
struct AgentEventData {
    std::uint64_t wake_ups;  ///< since the last event of the kind
};
struct ToolEventInstance {
    const ToolEventKind* kind;
    std::int64_t timestamp_ns;
    union {
        MessageEventData message;
        AgentEventData agent;
    };
};

constexpr int safety_levels = 4;

struct EventRegistration {
    struct Callback {
        MPI_T_event_cb_function* function = nullptr;
        void* user_data = nullptr;
        Info hints;
    };

    const ToolEventKind* kind;
    std::array<Callback, safety_levels> callbacks;  ///< by level of safety
    MPI_T_event_dropped_cb_function* dropped = nullptr;
    Info hints;
    std::uint64_t wakes_told = 0;  ///< of the agent, when its last event was raised
    bool is_freed = false;         ///< in a callback of its own; goes when that returns

    bool has_callback() const noexcept;
};

struct ControlHandle {
    const config::KnobRow* row;
};

struct PerformanceHandle {
    const PerformanceVariable* variable;
    bool is_started = false;
    std::uint64_t base = 0;   ///< the variable's value when it was started
    std::uint64_t value = 0;  ///< gathered before that
};

struct PerformanceSession {
    std::vector<std::unique_ptr<PerformanceHandle>> handles;
};

/// Thread rule: under the mutex of the AnyTimePart it lies in.
struct ToolPart {
    int users = 0;  ///< MPI_T_init_thread without MPI_T_finalize
    bool wants_observation = false;
    /// Of knobs, from before there was a process that has read them.
    std::map<const config::KnobRow*, std::uint64_t> values_set;
    std::map<const config::KnobRow*, std::string> texts_set;
    std::vector<std::unique_ptr<ControlHandle>> controls;
    std::vector<std::unique_ptr<PerformanceSession>> sessions;
    std::vector<std::unique_ptr<EventRegistration>> registrations;
    int delivering = 0;  ///< callbacks that run now, one inside the other
};

/// Begins to count what a started handle wants to know and is not counted anyway, and ends to count
/// what none does any more. Requires the mutex of the AnyTimePart that `tools` lie in.
void count_what_is_wanted(RankAccess* rank, const ToolPart& tools);

/// What tools have set in this program before it began to communicate.
void apply_tool_settings(config::Knobs& knobs);

/// The knobs in effect: of the rank's process, or what one would read now.
config::Knobs knobs_in_effect(RankAccess* rank);

/// Sets a late knob for the calling rank's process. False: other ranks of it would read it, too.
bool set_late_knob(RankAccess& rank, const config::KnobRow& row, std::uint64_t value);

/// Calls the callbacks of what came up in this rank. At the end of a call of an observed rank,
/// inside its door; callbacks may call MPI.
void deliver_tool_events(RankAccess& rank);

}  // namespace headway::object

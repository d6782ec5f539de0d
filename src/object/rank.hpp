// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/driver.hpp"
#include "engine/siblings.hpp"
#include "object/any_time.hpp"
#include "object/attribute.hpp"
#include "object/communicator.hpp"
#include "object/context_ids.hpp"
#include "object/datatype.hpp"
#include "object/group.hpp"
#include "object/handle_table.hpp"
#include "object/instance.hpp"
#include "object/rank_access.hpp"
#include "observe/tracer.hpp"
#include "platform/device_memory.hpp"
#include "platform/process.hpp"

namespace headway::object {

class Process;
class SendBuffer;
class Session;

/// An MPI rank: what of it is private to its process. Its progress state lies in the node heap.
/// Thread rule: the rank's threads, one at a time (its lock sees to that).
class Rank : public RankAccess {
  public:
    Rank(Process& process, int world_rank);
    ~Rank();
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;

    /// MPI_Init: lets the rank communicate where it does not yet, and makes the predefined
    /// communicators. Failure: the node heap is exhausted.
    base::Outcome open(int thread_level);
    /// What sessions need of it: everything but these communicators. No effect on a rank that
    /// communicates.
    base::Outcome start(int thread_level);
    /// MPI_Finalize, after the last communication of MPI_COMM_WORLD.
    void close_world();
    /// Ends the rank's communication, which start() may begin again. Requires: no world, no
    /// session, no operation open.
    void close();

    bool is_running() const noexcept { return phase == Phase::running; }
    /// Where the rank stands with MPI_Init and MPI_Finalize, whatever its sessions do.
    Phase world_phase() const noexcept { return world_phase_; }
    /// Whether it ever communicated.
    bool was_started() const noexcept { return first_.driver != nullptr; }

    /// The library's own communicator of all ranks, in the order of their numbers; made at first
    /// use. Null: the node heap is exhausted.
    Communicator* ground();
    /// A communicator that holds this rank, for operations that have none. Requires: is_running().
    Communicator& any_own() noexcept { return self != nullptr ? *self : *ground_; }

    /// Held while the rank's communication begins or ends, in a process with several ranks.
    std::mutex& opening() noexcept { return opening_; }
    std::vector<std::unique_ptr<Session>>& sessions() noexcept { return sessions_; }
    /// Null: it is over, or `number` is 0.
    Session* find_session(std::uint32_t number) noexcept;
    /// A number for a session, never 0.
    std::uint32_t number_session() noexcept { return ++sessions_made_; }

    Process& process() noexcept { return process_; }
    /// Of the first instance, as the next.
    engine::Driver& driver() noexcept { return *first_.driver; }
    HandlePool& pool() noexcept { return *first_.pool; }
    Instance& first() noexcept { return first_; }
    Instance& instance(std::uint32_t number) noexcept
    {
        return number == 0 ? first_ : *more_[number - 1];
    }
    std::uint32_t instance_count() const noexcept
    {
        return static_cast<std::uint32_t>(more_.size()) + 1;
    }
    /// Where an op of this rank belongs.
    Instance& instance_of(const engine::Op& op) noexcept { return instance(op.owner->instance); }
    /// Of messages in that context.
    Instance& instance_of_context(std::uint32_t context) noexcept;
    /// Whether threads may use several instances at once. User-level ranks share cores that would
    /// have to look at all of them.
    bool spreads_communicators() const noexcept;
    /// A communicator uses it.
    void open_instance(Instance& used) noexcept
    {
        if (used.number != 0) {
            siblings_.open(used.number);
            is_spread.store(true, std::memory_order_relaxed);  // relaxed: see there
        }
    }
    /// A communicator without references, last used outside of the first instance: it goes with the
    /// next call of reap(). Thread rule: any thread of the rank.
    void bury(Communicator& comm);
    /// Requires: inside the first instance.
    void reap();
    /// No communicator has this context any more: what the instances know of it is given back; of
    /// those that other threads are in, at a later call. Requires: inside the first instance.
    void forget_context(std::uint32_t context);
    AnyTimePart& any_time() noexcept { return *any_time_; }
    KeyvalTable& keyvals() noexcept { return keyvals_; }
    /// By handle; those of derived types lie in these.
    std::unordered_map<HandleBits, TypeNotes>& predefined_type_notes() noexcept
    {
        return predefined_type_notes_;
    }
    /// Datatypes of Fortran by combiner, precision and range, which stay as long as the rank.
    std::map<std::array<int, 3>, MPI_Datatype>& fortran_types() noexcept { return fortran_types_; }
    /// What its program is started with, where that is not what its process is started with.
    /// Before the program starts.
    void name_program(std::vector<std::string> words) { program_words_ = std::move(words); }
    /// What is known of the program without a running MPI.
    Info describe_own_program() const;
    /// What MPI_INFO_ENV stands for.
    const Info& environment_info() const noexcept { return environment_info_; }

    /// The value of a predefined key of communicators (MPI_TAG_UB, ...), or null where there is
    /// none. Stays while the rank does.
    const int* predefined_attribute(int keyval) const noexcept;

    /// The buffer for sends in buffered mode on communicators that have none; null: none attached.
    std::unique_ptr<SendBuffer>& send_buffer() noexcept { return send_buffer_; }

    /// Why the last op failed that failed with OpError::types_differ.
    const std::string& complaint() const noexcept { return complaint_; }
    void complain(std::string sentence) { complaint_ = std::move(sentence); }

    /// Asked about buffers below plain_address_min. Requires that the rank is open.
    platform::DeviceMemory& device_memory() noexcept { return *device_memory_; }

    ContextIds& contexts() noexcept { return contexts_; }
    /// A context id for a communicator that this rank leads; 0: too many are alive.
    std::uint32_t pick_context();

    /// That MPI_Init provided.
    /// Counts and listens for tools from now on, if the rank communicates; else when it begins to.
    /// Requires: inside a call, or before the first.
    void observe_for_tools();
    /// What came up since the last time; moved out.
    observe::Listener take_tool_events();
    /// Whether tools listen to it.
    bool has_listener() const noexcept { return tool_tracer_ != nullptr; }

    int thread_level() const noexcept { return thread_level_; }
    /// What all of the rank's threads together may do.
    int thread_level_max() const noexcept
    {
        return first_.door.lock().is_enabled() ? MPI_THREAD_MULTIPLE : thread_level_;
    }
    bool is_main_thread() const noexcept { return main_thread_ == platform::thread_id(); }

  private:
    base::Outcome make_parts();
    bool make_instance(Instance& made);
    bool start_instance(Instance& started);
    base::Outcome make_predefined();
    void share_among_threads();
    void describe_environment();

    Process& process_;
    ContextIds contexts_;
    Instance first_;
    std::vector<std::unique_ptr<Instance>> more_;
    engine::Siblings siblings_;
    std::mutex burying_;
    std::vector<Communicator*> buried_;
    struct ContextAt {
        std::uint32_t instance;
        std::uint32_t context;
    };
    std::vector<ContextAt> contexts_to_forget_;  ///< see forget_context()
    std::unique_ptr<Group> empty_group_;
    Communicator* ground_ = nullptr;
    Phase world_phase_ = Phase::before_init;
    std::unique_ptr<observe::Tracer> tool_tracer_;
    observe::Listener listener_;
    std::mutex opening_;
    std::vector<std::unique_ptr<Session>> sessions_;
    std::uint32_t sessions_made_ = 0;
    std::unique_ptr<SendBuffer> send_buffer_;
    std::string complaint_;
    /// Of its own where the process has several ranks.
    std::unique_ptr<AnyTimePart> own_any_time_;
    AnyTimePart* any_time_;
    KeyvalTable keyvals_;
    std::unordered_map<HandleBits, TypeNotes> predefined_type_notes_;
    std::map<std::array<int, 3>, MPI_Datatype> fortran_types_;
    std::vector<std::string> program_words_;  ///< none: the process's
    Info environment_info_;
    int universe_size_ = 0;
    platform::DeviceMemory* device_memory_ = nullptr;  ///< the process's
    int thread_level_ = MPI_THREAD_SINGLE;
    std::int32_t main_thread_ = 0;
};

/// Driver::advance() in each instance. Requires: inside the first one.
void advance_all(Rank& rank);

/// The calling thread's rank as the object layer knows it. Requires one.
inline Rank& as_rank(RankAccess& access) noexcept
{
    return static_cast<Rank&>(access);
}

}  // namespace headway::object

// SPDX-License-Identifier: Apache-2.0
// One call of the application into MPI: who calls, which function, whose error handler.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include <abi_functions.hpp>
#include <mpi-ext.h>
#include <mpi.h>

#include "object/communicator.hpp"
#include "object/count_array.hpp"
#include "object/error_handler.hpp"
#include "object/instance.hpp"
#include "object/rank_access.hpp"

namespace headway::engine {
struct SyncObject;
}

namespace headway::abi {

// The `_c` twins share their hand-written functions, also for arguments that are MPI_Aint in one.
static_assert(std::is_same_v<MPI_Aint, MPI_Count>);

/// A user function that comes in two widths; exactly one is set.
template <typename Narrow, typename Wide>
struct EitherFunction {
    Narrow* narrow = nullptr;
    Wide* wide = nullptr;
};

struct AnyTime {};
constexpr AnyTime any_time{};

/// Lives on the stack of an entry point for the length of a call.
class Call {
  public:
    /// Ends the job with one sentence where MPI is not running.
    explicit Call(Function function) noexcept : function_(function), rank_(object::current_rank())
    {
        if (rank_ == nullptr || rank_->phase != object::Phase::running) [[unlikely]] {
            refuse_phase();
        }
        at_ = rank_->first_instance;
        enter();
    }

    // Calls about messages go in where the messages of what they are given belong.
    Call(Function function, MPI_Comm comm) noexcept
        : function_(function), rank_(object::current_rank())
    {
        enter_at([&] { return object::instance_of(*rank_, comm); });
    }
    Call(Function function, MPI_Comm comm, int tag) noexcept
        : function_(function), rank_(object::current_rank())
    {
        enter_at([&] { return object::instance_of(*rank_, comm, tag); });
    }
    /// Requests that were not checked: null perhaps.
    Call(Function function, const MPI_Request* requests, int count) noexcept
        : function_(function), rank_(object::current_rank())
    {
        enter_at([&] { return object::instance_of(*rank_, requests, count); });
    }
    Call(Function function, const MPI_Message* message) noexcept
        : function_(function), rank_(object::current_rank())
    {
        enter_at([&] { return object::instance_of(*rank_, message); });
    }

    /// For functions that may be called before MPI_Init and after MPI_Finalize.
    Call(Function function, AnyTime) noexcept : function_(function), rank_(object::current_rank())
    {
        if (rank_ != nullptr) {
            at_ = rank_->first_instance;
            enter(false);
        }
    }

    ~Call()
    {
        if (is_inside_) [[likely]] {
            if (is_recorded_) [[unlikely]] {
                end_record();
            }
            at_->door.leave();
        }
    }

    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    /// Requires a function that is not any_time.
    object::RankAccess& rank() const noexcept { return *rank_; }
    /// Null before MPI_Init and after MPI_Finalize.
    object::RankAccess* rank_or_null() const noexcept { return rank_; }
    /// The instance of the rank that the call is inside; the first unless the call says otherwise.
    object::Instance& instance() const noexcept { return *at_; }
    /// Leaves it for another one of the rank.
    void move_to(object::Instance& other)
    {
        if (&other != at_) {
            at_->door.leave();
            at_ = &other;
            at_->door.enter();
        }
    }

    /// "MPI_Send".
    const char* name() const noexcept { return function_name(function_); }

    /// Its place in the list of functions, by which traces name it.
    std::uint16_t function_index() const noexcept { return static_cast<std::uint16_t>(function_); }
    /// The `_c` twin was called.
    bool is_large() const noexcept { return std::string_view(name()).ends_with("_c"); }

    /// Errors of this call go to the handler of `source` (null: see source_of_others()).
    void set_error_source(object::Communicator* source) noexcept { source_ = source; }

    /// Errors of this call go to `handler`, whose function is told of the object behind
    /// `holder_bits`: one that is no communicator, or the null handle of one yet to be made.
    void set_error_holder(object::ErrorHandler* handler, object::HandleBits holder_bits) noexcept
    {
        holder_handler_ = handler;
        holder_bits_ = holder_bits;
        has_holder_ = true;
    }

    /// Says why the call fails; the entry point raises the class that the hand-written function
    /// returns. The text is a clause in lower case without a full stop, with the cure. Returns
    /// `error_class`.
    [[gnu::format(printf, 3, 4), gnu::cold]] int fail(int error_class, const char* format,
                                                      ...) noexcept;

    /// Last step of every call: passes success on, raises anything else.
    int leave(int error_class)
    {
        if (error_class == MPI_SUCCESS) [[likely]] {
            return MPI_SUCCESS;
        }
        return raise(error_class);
    }

    /// Invokes the error handler. Returns `error_class` where the handler returns; a user's handler
    /// may throw instead, so nothing between here and the application may be noexcept.
    [[gnu::cold]] int raise(int error_class);
    /// Raises MPI_ERR_UNSUPPORTED_OPERATION, through the handler of `source` as above.
    [[gnu::cold]] int raise_unsupported(object::Communicator* source);
    /// The same for file functions: the default file handler is MPI_ERRORS_RETURN.
    [[gnu::cold]] int raise_unsupported_file() { return MPI_ERR_UNSUPPORTED_OPERATION; }

    /// The communicator behind a handle, from now on the source of error handlers; null, and
    /// nothing recorded, where there is none.
    object::Communicator* communicator(MPI_Comm handle) noexcept
    {
        source_ = object::find_communicator(*rank_, handle);
        return source_;
    }

  private:
    [[gnu::cold, noreturn]] void refuse_phase() noexcept;
    [[gnu::cold, noreturn]] void end_job(int error_class, std::string_view sentence) noexcept;
    object::ErrorHandler* handler() const noexcept;
    /// Whose handler errors meet that belong to no object: MPI_COMM_SELF (MPI-5.0 section 9.3).
    /// Before MPI-4 it was MPI_COMM_WORLD, and programs choose a handler there: while they have
    /// chosen none for MPI_COMM_SELF, it counts. Null outside of the world model.
    object::Communicator* source_of_others() const noexcept;
    void run_user_handler(object::ErrorHandler& chosen, int error_class);

    /// `may_adopt`: the calling thread gets a ring if it has none; functions that any thread may
    /// call at any time are not ordered with the rank's other calls, so they give none.
    void enter(bool may_adopt = true) noexcept
    {
        if (rank_->tracer != nullptr) [[unlikely]] {
            enter_observed(may_adopt);
        } else {
            at_->door.enter();
        }
        is_inside_ = true;
    }
    template <typename Find>
    [[gnu::always_inline]] void enter_at(const Find& find) noexcept
    {
        if (rank_ == nullptr || rank_->phase != object::Phase::running) [[unlikely]] {
            refuse_phase();
        }
        // Relaxed: see there.
        at_ = rank_->is_spread.load(std::memory_order_relaxed) ? find() : rank_->first_instance;
        enter();
    }
    [[gnu::cold]] void enter_observed(bool may_adopt) noexcept;
    [[gnu::cold]] void end_record() noexcept;

    static constexpr std::size_t detail_bytes = 384;

    Function function_;
    bool has_detail_ = false;
    bool is_inside_ = false;  ///< false also where the rank comes to be in this call
    bool is_recorded_ = false;
    bool has_holder_ = false;
    object::RankAccess* rank_;
    object::Instance* at_;  ///< set where rank_ is
    object::Communicator* source_ = nullptr;
    std::int64_t begin_ns_;                 ///< set where the call is recorded
    object::ErrorHandler* holder_handler_;  ///< set where has_holder_, as the next
    object::HandleBits holder_bits_;
    /// Meaningful only where has_detail_; left unset so that a call that succeeds never touches it.
    char detail_[detail_bytes];
};

}  // namespace headway::abi

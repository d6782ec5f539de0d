// SPDX-License-Identifier: Apache-2.0
#include "abi/call.hpp"

#include <cstdarg>
#include <cstdio>
#include <string>

#include "object/error_class.hpp"
#include "object/observed_call.hpp"
#include "platform/cpu.hpp"

namespace headway::abi {

namespace {

/// "headway: rank 3: MPI_Send: text [MPI_ERR_RANK]\n".
std::string make_sentence(const object::RankAccess* rank, const char* function, const char* text,
                          const char* error_name)
{
    std::string sentence = "headway: ";
    if (rank != nullptr && rank->world_rank >= 0) {
        sentence += "rank " + std::to_string(rank->world_rank) + ": ";
    }
    sentence.append(function).append(": ").append(text);
    if (error_name != nullptr) {
        sentence.append(" [").append(error_name).append("]");
    }
    return sentence + "\n";
}

}  // namespace

void Call::enter_observed(bool may_adopt) noexcept
{
    // Waiting for another thread of the rank is time in the call.
    begin_ns_ = platform::monotonic_ns();
    at_->door.enter();
    is_recorded_ = true;
    object::begin_observed_call(*rank_, function_index(), begin_ns_, may_adopt);
}

void Call::end_record() noexcept
{
    object::end_observed_call(*rank_, function_index(), begin_ns_);
}

int Call::fail(int error_class, const char* format, ...) noexcept
{
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(detail_, detail_bytes, format, arguments);
    va_end(arguments);
    has_detail_ = true;
    return error_class;
}

void Call::end_job(int error_class, std::string_view sentence) noexcept
{
    std::fwrite(sentence.data(), 1, sentence.size(), stderr);
    std::fflush(stderr);
    object::abort_job(rank_, error_class);
}

object::ErrorHandler* Call::handler() const noexcept
{
    if (has_holder_) {
        return holder_handler_;
    }
    if (source_ != nullptr) {
        return source_->error_handler();
    }
    const object::Communicator* const source = source_of_others();
    return source != nullptr ? source->error_handler() : object::initial_error_handler(rank_);
}

object::Communicator* Call::source_of_others() const noexcept
{
    if (rank_ == nullptr || rank_->phase != object::Phase::running || rank_->self == nullptr) {
        return nullptr;
    }
    return !rank_->self->is_handler_chosen() && rank_->world->is_handler_chosen() ? rank_->world
                                                                                  : rank_->self;
}

void Call::run_user_handler(object::ErrorHandler& chosen, int error_class)
{
    int code = error_class;
    if (chosen.is_for(object::ErrorHandler::Suits::session)) {
        auto session = object::handle_from<MPI_Session>(holder_bits_);
        chosen.session_function()(&session, &code);
        return;
    }
    const object::Communicator* const source = source_ != nullptr ? source_ : source_of_others();
    MPI_Comm comm = has_holder_ ? object::handle_from<MPI_Comm>(holder_bits_) : source->handle();
    chosen.communicator_function()(&comm, &code);
}

int Call::raise(int error_class)
{
    using Action = object::ErrorHandler::Action;
    object::ErrorHandler* const chosen = handler();
    if (chosen->action() == Action::give_back) {
        return error_class;
    }
    if (chosen->action() == Action::user) {
        // What it calls may go in by the first door, which comes before all others.
        if (is_inside_) {
            move_to(*rank_->first_instance);
        }
        run_user_handler(*chosen, error_class);
        return error_class;
    }
    const char* const class_text = object::error_class_text(error_class);
    const char* const text = has_detail_ ? detail_ : class_text;
    end_job(error_class, make_sentence(rank_, name(), text != nullptr ? text : "failed",
                                       object::error_class_name(error_class)));
}

int Call::raise_unsupported(object::Communicator* source)
{
    source_ = source;
    return raise(
        fail(MPI_ERR_UNSUPPORTED_OPERATION, "this version of Headway does not have the function"));
}

void Call::refuse_phase() noexcept
{
    const object::Phase phase = object::current_phase();
    const char* const text = phase == object::Phase::forked ? object::forked_text
                             : phase == object::Phase::finalized
                                 ? "called after MPI_Finalize; move the call before it"
                                 : "called before MPI_Init; call MPI_Init, MPI_Init_thread or "
                                   "MPI_Session_init first";
    end_job(MPI_ERR_OTHER, make_sentence(rank_, name(), text, nullptr));
}

}  // namespace headway::abi

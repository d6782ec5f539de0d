// SPDX-License-Identifier: Apache-2.0
// Start, end and surroundings of a program (MPI-5.0 chapters 9 and 11).
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "abi/any_time.hpp"
#include "abi/call_order.hpp"
#include "abi/message_calls.hpp"
#include "abi_calls.hpp"
#include "engine/observation.hpp"
#include "object/startup.hpp"
#include "object/version.hpp"
#include "platform/cpu.hpp"
#include "platform/process.hpp"

namespace headway::abi {
namespace {

constexpr std::size_t allocation_alignment = 64;
static_assert(function_count <= engine::CallTable::functions_max);

/// The call that makes the rank could not be recorded when it began.
void observe_start(object::Rank& rank, std::uint16_t function, std::int64_t begin_ns)
{
    rank.tracer->set_function_names(
        [](std::uint16_t index) { return function_name(static_cast<Function>(index)); });
    engine::observe_thread(rank.driver(), observe::ThreadKind::application);
    if (engine::CallTable* const calls = rank.driver().rank().calls; calls != nullptr) {
        calls->began_ns = begin_ns;  // what this call took counts, too
    }
    engine::begin_call(rank.driver(), function, begin_ns);
    engine::end_call(rank.driver(), function, begin_ns);
}

object::Phase world_phase(Call& call)
{
    object::RankAccess* const rank = call.rank_or_null();
    return rank != nullptr ? object::as_rank(*rank).world_phase() : object::Phase::before_init;
}

int refuse_without_world(Call& call)
{
    return call.fail(MPI_ERR_OTHER,
                     "MPI_Init has not been called, or MPI_Finalize has; a session alone has no "
                     "MPI_COMM_WORLD");
}

int start(Call& call, int thread_level)
{
    if (object::current_phase() == object::Phase::forked) {
        return call.fail(MPI_ERR_OTHER, "%s", object::forked_text);
    }
    const object::Phase phase = world_phase(call);
    if (phase == object::Phase::running) {
        return call.fail(MPI_ERR_OTHER, "MPI has been initialized before; call it once");
    }
    if (phase == object::Phase::finalized) {
        return call.fail(MPI_ERR_OTHER, "MPI cannot be initialized again after MPI_Finalize");
    }
    const std::int64_t begin_ns = platform::monotonic_ns();
    object::initialize(thread_level);
    if (object::RankAccess* made = object::current_rank(); made->tracer != nullptr) {
        observe_start(object::as_rank(*made), call.function_index(), begin_ns);
    }
    return MPI_SUCCESS;
}

bool is_thread_level(int level)
{
    return level == MPI_THREAD_SINGLE || level == MPI_THREAD_FUNNELED ||
           level == MPI_THREAD_SERIALIZED || level == MPI_THREAD_MULTIPLE;
}

}  // namespace

namespace call {

int Init(Call& call, int* /*argc*/, char*** /*argv*/)
{
    return start(call, MPI_THREAD_SINGLE);
}

int Init_thread(Call& call, int* /*argc*/, char*** /*argv*/, int required, int* provided)
{
    if (!is_thread_level(required)) {
        return call.fail(MPI_ERR_ARG,
                         "required = %d is no thread level; use MPI_THREAD_SINGLE, "
                         "_FUNNELED, _SERIALIZED or _MULTIPLE",
                         required);
    }
    const int error = start(call, required);
    if (error == MPI_SUCCESS) {
        *provided = required;
    }
    return error;
}

int Finalize(Call& call)
{
    // While MPI still works, as if MPI_COMM_SELF were freed (MPI-5.0 section 11.2.4).
    object::Rank& rank = rank_of(call);
    if (rank.world == nullptr) {
        return refuse_without_world(call);
    }
    const int code = object::delete_attributes(rank.self->attributes(), MPI_COMM_SELF);
    if (code != MPI_SUCCESS) {
        return call.fail(code,
                         "the delete callback of an attribute of MPI_COMM_SELF answered %d; "
                         "MPI goes on",
                         code);
    }
    if (const int error = check_order(call, *rank.world); error != MPI_SUCCESS) [[unlikely]] {
        return error;
    }
    object::finalize(rank);
    return MPI_SUCCESS;
}

int Initialized(Call& call, int* flag)
{
    *flag = world_phase(call) != object::Phase::before_init ? 1 : 0;
    return MPI_SUCCESS;
}

int Finalized(Call& call, int* flag)
{
    *flag = world_phase(call) == object::Phase::finalized ? 1 : 0;
    return MPI_SUCCESS;
}

int Query_thread(Call& call, int* provided)
{
    if (rank_of(call).world == nullptr) {
        return refuse_without_world(call);
    }
    *provided = rank_of(call).thread_level();
    return MPI_SUCCESS;
}

int Is_thread_main(Call& call, int* flag)
{
    if (rank_of(call).world == nullptr) {
        return refuse_without_world(call);
    }
    *flag = rank_of(call).is_main_thread() ? 1 : 0;
    return MPI_SUCCESS;
}

int Abort(Call& call, object::Communicator* /*comm*/, int errorcode)
{
    const std::string line = "headway: rank " + std::to_string(call.rank().world_rank) +
                             ": the program called MPI_Abort with code " +
                             std::to_string(errorcode) + "\n";
    platform::write_error(line);
    object::abort_job(&call.rank(), errorcode);
}

int Get_library_version(Call& /*call*/, char* version, int* resultlen)
{
    std::memcpy(version, object::library_version.data(), object::library_version.size());
    version[object::library_version.size()] = '\0';
    *resultlen = static_cast<int>(object::library_version.size());
    return MPI_SUCCESS;
}

int Get_processor_name(Call& /*call*/, char* name, int* resultlen)
{
    const std::string host = platform::host_name();
    const std::size_t length = std::min<std::size_t>(host.size(), MPI_MAX_PROCESSOR_NAME - 1);
    std::memcpy(name, host.data(), length);
    name[length] = '\0';
    *resultlen = static_cast<int>(length);
    return MPI_SUCCESS;
}

int Alloc_mem(Call& call, MPI_Aint size, MPI_Info /*info*/, void* baseptr)
{
    void* memory = nullptr;
    if (::posix_memalign(&memory, allocation_alignment, static_cast<std::size_t>(size)) != 0) {
        return call.fail(MPI_ERR_NO_MEM, "the system has no %lld bytes of memory left",
                         static_cast<long long>(size));
    }
    std::memcpy(baseptr, &memory, sizeof memory);
    return MPI_SUCCESS;
}

int Free_mem(Call& /*call*/, void* base)
{
    std::free(base);
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi

// SPDX-License-Identifier: Apache-2.0
#include "stand_in.hpp"

#include <cstdlib>

#include "abi/check.hpp"
#include "object/observed_call.hpp"
#include "platform/current_rank.hpp"

namespace headway::test {

StandIn& StandIn::instance()
{
    static StandIn stand_in;
    return stand_in;
}

StandIn::StandIn()
{
    access_.door = &first_.door;
    access_.first_instance = &first_;
    access_.handles = &table_;
    access_.empty_group = &empty_;
    access_.world_rank = 1;
    reset(object::predefined_error_handler(object::bits_of(MPI_ERRORS_RETURN)));
}

void StandIn::set_phase(object::Phase phase)
{
    access_.phase = phase;
    platform::set_only_rank(phase == object::Phase::running ? &access_ : nullptr);
}

void StandIn::reset(object::ErrorHandler* handler)
{
    world_ = std::make_unique<object::Communicator>(4, 1, MPI_COMM_WORLD, handler);
    self_ = std::make_unique<object::Communicator>(1, 0, MPI_COMM_SELF, handler);
    access_.world = world_.get();
    access_.self = self_.get();
    set_phase(object::Phase::running);
    reached = 0;
    answer = MPI_SUCCESS;
    wide_answer = 0;
}

MPI_Comm StandIn::make_communicator()
{
    made_ = std::make_unique<object::Communicator>(4, 1, MPI_COMM_NULL, world_->error_handler());
    return pool_.acquire<MPI_Comm>(made_.get());
}

void StandIn::free_communicator(MPI_Comm handle)
{
    pool_.release(handle);
}

}  // namespace headway::test

namespace headway::abi {

engine::SyncObject* find_sync(const Call& /*call*/, MPIX_Sync /*handle*/) noexcept
{
    return nullptr;
}

}  // namespace headway::abi

// The stand-in's rank never communicates, so it leaves nothing behind.
namespace headway::engine {

void Door::come_back()
{
    std::abort();
}

void Door::leave_others() {}

void Door::go_away()
{
    std::abort();
}

}  // namespace headway::engine

namespace headway::object {

ErrorHandler* initial_error_handler(RankAccess* /*rank*/)
{
    return predefined_error_handler(bits_of(MPI_ERRORS_ARE_FATAL));
}

Phase current_phase() noexcept
{
    return test::StandIn::instance().phase();
}

HandleTable* current_handles() noexcept
{
    return test::StandIn::instance().access()->handles;
}

const char* device_driver_of(RankAccess& /*rank*/, const void* /*address*/) noexcept
{
    return nullptr;
}

// Asked of observed ranks only, which the stand-in has none of.
void begin_observed_call(RankAccess&, std::uint16_t, std::int64_t, bool) noexcept
{
    std::abort();
}

void end_observed_call(RankAccess&, std::uint16_t, std::int64_t) noexcept
{
    std::abort();
}

// Asked where communicators are spread.
Instance* instance_of(RankAccess&, MPI_Comm) noexcept
{
    std::abort();
}

Instance* instance_of(RankAccess&, MPI_Comm, int) noexcept
{
    std::abort();
}

Instance* instance_of(RankAccess&, const MPI_Request*, int) noexcept
{
    std::abort();
}

Instance* instance_of(RankAccess&, const MPI_Message*) noexcept
{
    std::abort();
}

void abort_job(RankAccess*, int code) noexcept
{
    std::_Exit(code);
}

}  // namespace headway::object

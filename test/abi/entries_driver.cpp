// SPDX-License-Identifier: Apache-2.0
// Calls the generated entry points over a stand-in rank and over hand-written functions that only
// note that they were reached (both written by entries_test.py), so that the abi layer is tested
// without an engine.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <mpi.h>

#include "abi/call.hpp"
#include "object/error_class.hpp"
#include "object/group.hpp"
#include "stand_in.hpp"

namespace headway::abi {
namespace {

using test::StandIn;

MPI_Comm handler_comm = nullptr;
int handler_code = 0;

void note_error(MPI_Comm* comm, int* code, ...)
{
    handler_comm = *comm;
    handler_code = *code;
}

class EntriesTest : public testing::Test {
  protected:
    EntriesTest() : stand_in_(StandIn::instance())
    {
        stand_in_.reset(object::predefined_error_handler(object::bits_of(MPI_ERRORS_RETURN)));
    }

    /// Refused with that class, and nothing was reached.
    void refused(int error_class, const std::function<int()>& call)
    {
        stand_in_.reached = 0;
        EXPECT_EQ(call(), error_class) << object::error_class_name(error_class);
        EXPECT_EQ(stand_in_.reached, 0);
    }

    void accepted(const std::function<int()>& call)
    {
        stand_in_.reached = 0;
        EXPECT_EQ(call(), MPI_SUCCESS);
        EXPECT_EQ(stand_in_.reached, 1);
    }

    StandIn& stand_in_;
    std::array<int, 8> buffer_{};
    std::array<int, 8> other_{};
    MPI_Request request_ = MPI_REQUEST_NULL;
    MPI_Status status_{};
    int value_ = 0;
};

TEST_F(EntriesTest, good_arguments_reach_the_function)
{
    MPI_Comm made = MPI_COMM_NULL;
    const MPI_Comm world = MPI_COMM_WORLD;
    accepted([&] { return MPI_Send(buffer_.data(), 8, MPI_INT, 3, 0, world); });
    accepted([&] { return MPI_Send_c(buffer_.data(), 8, MPI_INT, 3, 0, world); });
    accepted([&] { return MPI_Send(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, world); });
    accepted([&] {
        return MPI_Recv(buffer_.data(), 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world,
                        MPI_STATUS_IGNORE);
    });
    accepted([&] { return MPI_Bcast(buffer_.data(), 8, MPI_INT, 2, world); });
    accepted([&] { return MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE); });
    accepted([&] { return MPI_Comm_split(world, MPI_UNDEFINED, -5, &made); });
}

TEST_F(EntriesTest, send_names_each_wrong_argument)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    int* const data = buffer_.data();
    refused(MPI_ERR_COMM, [&] { return MPI_Send(data, 1, MPI_INT, 0, 0, MPI_COMM_NULL); });
    refused(MPI_ERR_COMM, [&] { return MPI_Send(data, 1, MPI_INT, 0, 0, nullptr); });
    refused(MPI_ERR_COUNT, [&] { return MPI_Send(data, -1, MPI_INT, 0, 0, world); });
    refused(MPI_ERR_TYPE, [&] { return MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, world); });
    refused(MPI_ERR_TYPE, [&] { return MPI_Send(data, 1, MPI_REAL2, 0, 0, world); });
    refused(MPI_ERR_RANK, [&] { return MPI_Send(data, 1, MPI_INT, 4, 0, world); });
    refused(MPI_ERR_RANK, [&] { return MPI_Send(data, 1, MPI_INT, MPI_ANY_SOURCE, 0, world); });
    refused(MPI_ERR_TAG, [&] { return MPI_Send(data, 1, MPI_INT, 0, MPI_ANY_TAG, world); });
    refused(MPI_ERR_BUFFER, [&] { return MPI_Send(nullptr, 1, MPI_INT, 0, 0, world); });
    refused(MPI_ERR_BUFFER, [&] { return MPI_Send(MPI_IN_PLACE, 1, MPI_INT, 0, 0, world); });
    refused(MPI_ERR_ARG, [&] { return MPI_Isend(data, 1, MPI_INT, 0, 0, world, nullptr); });
}

TEST_F(EntriesTest, receive_and_probe_take_wildcards_and_nothing_else)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    int* const data = buffer_.data();
    refused(MPI_ERR_RANK, [&] { return MPI_Recv(data, 1, MPI_INT, -7, 0, world, &status_); });
    refused(MPI_ERR_TAG, [&] { return MPI_Recv(data, 1, MPI_INT, 0, -5, world, &status_); });
    refused(MPI_ERR_ARG, [&] { return MPI_Iprobe(0, 0, world, nullptr, MPI_STATUS_IGNORE); });
    refused(MPI_ERR_RANK, [&] {
        return MPI_Sendrecv(data, 1, MPI_INT, 0, 0, other_.data(), 1, MPI_INT, 9, 0, world,
                            &status_);
    });
}

TEST_F(EntriesTest, a_freed_communicator_is_refused)
{
    const MPI_Comm comm = stand_in_.make_communicator();
    accepted([&] { return MPI_Barrier(comm); });
    stand_in_.free_communicator(comm);
    refused(MPI_ERR_COMM, [&] { return MPI_Barrier(comm); });
    refused(MPI_ERR_COMM, [&] { return MPI_Barrier(MPI_Comm_fromint(MPI_Comm_toint(comm))); });
    MPI_Comm none = MPI_COMM_NULL;
    refused(MPI_ERR_COMM, [&] { return MPI_Comm_free(&none); });
    refused(MPI_ERR_ARG, [&] { return MPI_Comm_free(nullptr); });
}

TEST_F(EntriesTest, collectives_look_at_what_counts_on_this_rank)
{
    const MPI_Comm world = MPI_COMM_WORLD;  // the stand-in is rank 1 of 4
    int* const data = buffer_.data();
    int* const out = other_.data();
    accepted([&] { return MPI_Gather(data, 1, MPI_INT, nullptr, -1, nullptr, 0, world); });
    refused(MPI_ERR_BUFFER,
            [&] { return MPI_Gather(data, 1, MPI_INT, nullptr, 1, MPI_INT, 1, world); });
    accepted([&] { return MPI_Gather(MPI_IN_PLACE, -1, nullptr, out, 1, MPI_INT, 1, world); });
    refused(MPI_ERR_BUFFER,
            [&] { return MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, out, 1, MPI_INT, 0, world); });
    accepted([&] { return MPI_Scatter(nullptr, 0, nullptr, out, 1, MPI_INT, 0, world); });
    accepted([&] { return MPI_Scatter(data, 1, MPI_INT, MPI_IN_PLACE, 0, nullptr, 1, world); });
    refused(MPI_ERR_ROOT, [&] { return MPI_Bcast(data, 1, MPI_INT, 4, world); });
    refused(MPI_ERR_ROOT, [&] { return MPI_Bcast(data, 1, MPI_INT, MPI_ROOT, world); });
    refused(MPI_ERR_OP, [&] { return MPI_Allreduce(data, out, 1, MPI_INT, MPI_OP_NULL, world); });
    refused(MPI_ERR_COUNT,
            [&] { return MPI_Allreduce(MPI_IN_PLACE, out, -1, MPI_INT, MPI_SUM, world); });
    refused(MPI_ERR_BUFFER,
            [&] { return MPI_Allreduce(data, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, world); });
    refused(MPI_ERR_BUFFER, [&] { return MPI_Allreduce(data, data, 1, MPI_INT, MPI_SUM, world); });
    accepted([&] { return MPI_Reduce(data, nullptr, 1, MPI_INT, MPI_SUM, 0, world); });
    refused(MPI_ERR_BUFFER,
            [&] { return MPI_Reduce(data, nullptr, 1, MPI_INT, MPI_SUM, 1, world); });
}

TEST_F(EntriesTest, groups_and_arrays)
{
    const MPI_Group empty = MPI_GROUP_EMPTY;
    const std::array ranks = {0};
    MPI_Group made = nullptr;
    refused(MPI_ERR_GROUP, [&] { return MPI_Group_size(MPI_GROUP_NULL, &value_); });
    refused(MPI_ERR_RANK, [&] { return MPI_Group_incl(empty, 1, ranks.data(), &made); });
    refused(MPI_ERR_ARG, [&] { return MPI_Group_incl(empty, -1, ranks.data(), &made); });
    refused(MPI_ERR_ARG, [&] { return MPI_Group_incl(empty, 1, nullptr, &made); });
    accepted([&] { return MPI_Group_incl(empty, 0, nullptr, &made); });
    const std::array<int, 1> null_rank = {MPI_PROC_NULL};
    accepted([&] { return MPI_Group_translate_ranks(empty, 1, null_rank.data(), empty, &value_); });
    refused(MPI_ERR_COUNT, [&] { return MPI_Waitall(-1, &request_, MPI_STATUSES_IGNORE); });
    refused(MPI_ERR_ARG, [&] { return MPI_Waitall(1, nullptr, MPI_STATUSES_IGNORE); });
    refused(MPI_ERR_ARG, [&] { return MPI_Wait(nullptr, MPI_STATUS_IGNORE); });
    refused(MPI_ERR_ARG, [&] { return MPI_Get_count(nullptr, MPI_INT, &value_); });
}

TEST_F(EntriesTest, the_rest_of_the_objects)
{
    MPI_Op op = MPI_OP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    void* memory = nullptr;
    refused(MPI_ERR_ARG, [&] { return MPI_Op_create(nullptr, 1, &op); });
    refused(MPI_ERR_ERRHANDLER,
            [&] { return MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRHANDLER_NULL); });
    accepted([&] { return MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); });
    refused(MPI_ERR_COMM, [&] { return MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_NULL, &value_); });
    refused(MPI_ERR_ARG, [&] { return MPI_Comm_split(MPI_COMM_WORLD, -7, 0, &made); });
    refused(MPI_ERR_ARG, [&] { return MPI_Comm_size(MPI_COMM_WORLD, nullptr); });
    refused(MPI_ERR_ARG, [&] { return MPI_Alloc_mem(-1, MPI_INFO_NULL, &memory); });
    refused(MPI_ERR_INFO, [&] { return MPI_Alloc_mem(1, nullptr, &memory); });
    refused(MPI_ERR_TYPE, [&] { return MPI_Type_size(MPI_DATATYPE_NULL, &value_); });
    accepted([&] { return MPI_Type_size(MPI_REAL2, &value_); });
}

TEST_F(EntriesTest, int_outputs_say_undefined_for_what_does_not_fit)
{
    stand_in_.wide_answer = MPI_Count{1} << 40;
    MPI_Count wide = 0;
    accepted([&] { return MPI_Get_count(&status_, MPI_INT, &value_); });
    EXPECT_EQ(value_, MPI_UNDEFINED);
    accepted([&] { return MPI_Get_count_c(&status_, MPI_INT, &wide); });
    EXPECT_EQ(wide, MPI_Count{1} << 40);
    stand_in_.wide_answer = 77;
    accepted([&] { return MPI_Get_count(&status_, MPI_INT, &value_); });
    EXPECT_EQ(value_, 77);
}

TEST_F(EntriesTest, a_user_handler_gets_the_communicator_and_the_class)
{
    object::ErrorHandler handler(&note_error);
    stand_in_.reset(&handler);
    EXPECT_EQ(MPI_Send(buffer_.data(), 1, MPI_INT, 9, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    EXPECT_EQ(handler_comm, MPI_COMM_WORLD);
    EXPECT_EQ(handler_code, MPI_ERR_RANK);
    EXPECT_EQ(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    EXPECT_EQ(handler_comm, MPI_COMM_SELF);
}

[[noreturn]] void throw_error(MPI_Comm*, int* code, ...)
{
    throw *code;
}

TEST_F(EntriesTest, a_user_handler_may_throw)
{
    object::ErrorHandler handler(&throw_error);
    stand_in_.reset(&handler);
    const auto thrown_by = [](const std::function<int()>& call) {
        try {
            return -call();
        } catch (int code) {
            return code;
        }
    };
    char port[MPI_MAX_PORT_NAME];
    EXPECT_EQ(thrown_by([&] { return MPI_Barrier(MPI_COMM_NULL); }), MPI_ERR_COMM);
    EXPECT_EQ(thrown_by([&] { return MPI_Open_port(MPI_INFO_NULL, port); }),
              MPI_ERR_UNSUPPORTED_OPERATION);
    stand_in_.answer = MPI_ERR_OTHER;
    EXPECT_EQ(thrown_by([&] { return MPI_Barrier(MPI_COMM_WORLD); }), MPI_ERR_OTHER);
}

TEST_F(EntriesTest, errors_of_the_function_itself_are_raised)
{
    stand_in_.answer = MPI_ERR_TRUNCATE;
    EXPECT_EQ(MPI_Recv(buffer_.data(), 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status_),
              MPI_ERR_TRUNCATE);
    EXPECT_EQ(stand_in_.reached, 1);
}

TEST_F(EntriesTest, what_is_not_built_fails_through_the_right_door)
{
    MPI_Win made = MPI_WIN_NULL;
    MPI_File file = MPI_FILE_NULL;
    const auto create = [&](MPI_Comm comm, MPI_Win* win) {
        return MPI_Win_create(buffer_.data(), 1, 1, MPI_INFO_NULL, comm, win);
    };
    refused(MPI_ERR_UNSUPPORTED_OPERATION, [&] { return create(MPI_COMM_WORLD, &made); });
    refused(MPI_ERR_UNSUPPORTED_OPERATION, [&] { return create(MPI_COMM_NULL, &made); });
    refused(MPI_ERR_UNSUPPORTED_OPERATION, [&] { return create(MPI_COMM_WORLD, nullptr); });
    refused(MPI_ERR_UNSUPPORTED_OPERATION, [&] { return MPI_Win_fence(0, MPI_WIN_NULL); });
    // The default file handler returns even where communicators are fatal.
    stand_in_.reset(object::predefined_error_handler(object::bits_of(MPI_ERRORS_ARE_FATAL)));
    refused(MPI_ERR_UNSUPPORTED_OPERATION, [&] {
        return MPI_File_open(MPI_COMM_WORLD, "f", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    });
}

TEST_F(EntriesTest, plain_calls)
{
    int major = 0;
    int minor = -1;
    EXPECT_EQ(MPI_Get_version(&major, &minor), MPI_SUCCESS);
    EXPECT_EQ(major, MPI_VERSION);
    EXPECT_EQ(minor, MPI_SUBVERSION);
    EXPECT_EQ(MPI_Abi_get_version(&major, &minor), MPI_SUCCESS);
    EXPECT_EQ(major, MPI_ABI_VERSION);
    EXPECT_EQ(MPI_Get_version(nullptr, &minor), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Aint_add(-4, 8), 4);
    EXPECT_EQ(MPI_Aint_diff(4, 8), -4);
    EXPECT_EQ(MPI_Type_fromint(MPI_Type_toint(MPI_INT)), MPI_INT);
    EXPECT_EQ(MPI_Op_toint(MPI_SUM), 0x21);
    EXPECT_EQ(MPI_Pcontrol(1, "unused"), MPI_SUCCESS);
    const double before = MPI_Wtime();
    EXPECT_LE(before, MPI_Wtime());
    EXPECT_GT(MPI_Wtick(), 0.0);
    EXPECT_EQ(MPI_Status_set_source(&status_, 5), MPI_SUCCESS);
    EXPECT_EQ(MPI_Status_get_source(&status_, &value_), MPI_SUCCESS);
    EXPECT_EQ(value_, 5);
    EXPECT_EQ(MPI_Status_set_cancelled(&status_, 1), MPI_SUCCESS);
    EXPECT_EQ(MPI_Test_cancelled(&status_, &value_), MPI_SUCCESS);
    EXPECT_EQ(value_, 1);
    EXPECT_EQ(MPI_Status_set_elements(&status_, MPI_DOUBLE, 3), MPI_SUCCESS);
    EXPECT_EQ(MPI_Status_set_elements(&status_, MPI_DOUBLE, -3), MPI_ERR_COUNT);
}

using EntriesDeathTest = EntriesTest;

TEST_F(EntriesDeathTest, fatal_is_one_sentence_with_cause_and_cure)
{
    stand_in_.reset(object::predefined_error_handler(object::bits_of(MPI_ERRORS_ARE_FATAL)));
    EXPECT_EXIT(MPI_Send(buffer_.data(), 1, MPI_INT, 7, 0, MPI_COMM_WORLD),
                testing::ExitedWithCode(6),
                "^headway: rank 1: MPI_Send: destination 7 \\(argument dest\\) is outside the "
                "communicator's 4 ranks \\(use 0 to 3 or MPI_PROC_NULL\\) \\[MPI_ERR_RANK\\]\n$");
    MPI_Win made = MPI_WIN_NULL;
    EXPECT_EXIT(MPI_Win_create_c(buffer_.data(), 1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made),
                testing::ExitedWithCode(MPI_ERR_UNSUPPORTED_OPERATION),
                "rank 1: MPI_Win_create_c: .*MPI_ERR_UNSUPPORTED_OPERATION");
    const MPI_Comm comm = stand_in_.make_communicator();
    stand_in_.free_communicator(comm);
    EXPECT_EXIT(MPI_Barrier(comm), testing::ExitedWithCode(MPI_ERR_COMM), "was freed");
}

TEST_F(EntriesDeathTest, calls_outside_of_init_and_finalize)
{
    stand_in_.set_phase(object::Phase::before_init);
    EXPECT_EXIT(MPI_Comm_size(MPI_COMM_WORLD, &value_), testing::ExitedWithCode(MPI_ERR_OTHER),
                "^headway: MPI_Comm_size: called before MPI_Init; .*\n$");
    EXPECT_EQ(MPI_Get_version(&value_, &value_), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_toint(MPI_COMM_SELF), 0x102);
    accepted([&] { return MPI_Initialized(&value_); });
    stand_in_.set_phase(object::Phase::finalized);
    EXPECT_EXIT(MPI_Barrier(MPI_COMM_WORLD), testing::ExitedWithCode(MPI_ERR_OTHER),
                "MPI_Barrier: called after MPI_Finalize");
    accepted([&] { return MPI_Finalized(&value_); });
}

}  // namespace
}  // namespace headway::abi

// SPDX-License-Identifier: Apache-2.0
#include "object/error_code.hpp"

#include <gtest/gtest.h>

#include <mpi.h>

namespace headway::object {
namespace {

using Refusal = ErrorCodes::Refusal;

TEST(ErrorCodes, NumbersFollowThoseOfTheStandard)
{
    ErrorCodes codes;
    EXPECT_EQ(codes.last_used(), MPI_ERR_LASTCODE);
    const int error_class = codes.add_class();
    EXPECT_EQ(error_class, MPI_ERR_LASTCODE + 1);
    const auto code = codes.add_code(error_class);
    ASSERT_TRUE(code);
    EXPECT_EQ(codes.last_used(), *code);
    EXPECT_EQ(codes.class_of(*code), error_class);
    EXPECT_EQ(codes.class_of(MPI_ERR_RANK), MPI_ERR_RANK);
    EXPECT_FALSE(codes.class_of(*code + 1));
}

TEST(ErrorCodes, ACodeIsNoClass)
{
    ErrorCodes codes;
    const auto code = codes.add_code(MPI_ERR_OTHER);
    ASSERT_TRUE(code);
    EXPECT_EQ(codes.class_of(*code), MPI_ERR_OTHER);
    EXPECT_FALSE(codes.add_code(*code));
    EXPECT_EQ(codes.remove_class(*code), Refusal::wrong_kind);
}

TEST(ErrorCodes, StringsAreEmptyUntilAdded)
{
    ErrorCodes codes;
    const int error_class = codes.add_class();
    EXPECT_EQ(codes.text_of(error_class), "");
    EXPECT_EQ(codes.remove_string(error_class), Refusal::no_string);
    EXPECT_EQ(codes.add_string(error_class, "first"), Refusal::none);
    EXPECT_EQ(codes.add_string(error_class, "second"), Refusal::none);
    EXPECT_EQ(codes.text_of(error_class), "second");
    EXPECT_EQ(codes.remove_string(error_class), Refusal::none);
    EXPECT_EQ(codes.text_of(error_class), "");
    EXPECT_EQ(codes.text_of(MPI_ERR_RANK)->find("MPI_ERR_RANK: "), 0U);
    EXPECT_FALSE(codes.text_of(error_class + 1));
}

TEST(ErrorCodes, AreRemovedFromTheLeavesOn)
{
    ErrorCodes codes;
    const int error_class = codes.add_class();
    const int code = *codes.add_code(error_class);
    ASSERT_EQ(codes.add_string(code, "text"), Refusal::none);
    EXPECT_EQ(codes.remove_class(error_class), Refusal::has_codes);
    EXPECT_EQ(codes.remove_code(code), Refusal::has_string);
    EXPECT_EQ(codes.remove_string(code), Refusal::none);
    EXPECT_EQ(codes.remove_code(code), Refusal::none);
    EXPECT_EQ(codes.remove_code(code), Refusal::unknown);
    EXPECT_EQ(codes.remove_class(error_class), Refusal::none);
    EXPECT_EQ(codes.remove_class(error_class), Refusal::unknown);
    // Numbers are not used again.
    EXPECT_GT(codes.add_class(), code);
}

TEST(ErrorCodes, ThoseOfTheStandardStay)
{
    ErrorCodes codes;
    EXPECT_EQ(codes.add_string(MPI_ERR_RANK, "text"), Refusal::predefined);
    EXPECT_EQ(codes.remove_class(MPI_SUCCESS), Refusal::predefined);
    EXPECT_EQ(codes.remove_code(MPI_ERR_RANK), Refusal::predefined);
    EXPECT_EQ(codes.remove_string(MPI_ERR_RANK), Refusal::predefined);
}

}  // namespace
}  // namespace headway::object

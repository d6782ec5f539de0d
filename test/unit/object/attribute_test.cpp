// SPDX-License-Identifier: Apache-2.0
#include "object/attribute.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace headway::object {
namespace {

/// What callbacks saw, and what they answer.
struct Record {
    std::vector<int> copied;
    std::vector<int> deleted;
    int copy_answer = MPI_SUCCESS;
    int delete_answer = MPI_SUCCESS;
    bool copies = true;
};

int note_copy(MPI_Comm, int key, void* extra_state, void* value, void* out, int* flag)
{
    auto* record = static_cast<Record*>(extra_state);
    record->copied.push_back(key);
    *static_cast<void**>(out) = static_cast<char*>(value) + 1;
    *flag = record->copies ? 1 : 0;
    return record->copy_answer;
}

int note_delete(MPI_Comm, int key, void*, void* extra_state)
{
    auto* record = static_cast<Record*>(extra_state);
    record->deleted.push_back(key);
    return record->delete_answer;
}

int throw_delete(MPI_Comm, int, void*, void*)
{
    throw std::runtime_error("delete");
}

class AttributeTest : public testing::Test {
  protected:
    std::shared_ptr<const Keyval> make_key()
    {
        const int number =
            keys.create<MPI_Comm>(Keyed::communicator, &note_copy, &note_delete, &record);
        return keys.find(Keyed::communicator, number);
    }

    char values[4] = {};
    Record record;
    KeyvalTable keys;
    AttributeSet set;
};

TEST_F(AttributeTest, AFreedKeyExistsWhileAnAttributeHasIt)
{
    auto key = make_key();
    const int number = key->number;
    ASSERT_EQ(set_attribute(set, MPI_COMM_SELF, key, values), MPI_SUCCESS);
    key.reset();
    keys.free(number);
    keys.free(number);
    for (int i = 0; i < 200; ++i) {
        const int other = make_key()->number;
        keys.free(other);
        EXPECT_FALSE(keys.exists(Keyed::communicator, other));
    }
    EXPECT_EQ(keys.find(Keyed::communicator, number), nullptr);
    EXPECT_TRUE(keys.exists(Keyed::communicator, number));
    EXPECT_FALSE(keys.exists(Keyed::datatype, number));
    ASSERT_EQ(delete_attribute(set, MPI_COMM_SELF, number), MPI_SUCCESS);
    EXPECT_FALSE(keys.exists(Keyed::communicator, number));
}

TEST_F(AttributeTest, KeysHaveAKindAndAreNotUsedAgain)
{
    const auto key = make_key();
    ASSERT_NE(key, nullptr);
    EXPECT_GT(key->number, MPI_WIN_MODEL);
    EXPECT_EQ(keys.find(Keyed::datatype, key->number), nullptr);
    keys.free(key->number);
    EXPECT_EQ(keys.find(Keyed::communicator, key->number), nullptr);
    EXPECT_NE(make_key()->number, key->number);
}

TEST_F(AttributeTest, AReplacedValueIsDeletedFirst)
{
    const auto key = make_key();
    EXPECT_EQ(set_attribute(set, MPI_COMM_SELF, key, &values[0]), MPI_SUCCESS);
    EXPECT_TRUE(record.deleted.empty());
    EXPECT_EQ(set_attribute(set, MPI_COMM_SELF, key, &values[1]), MPI_SUCCESS);
    EXPECT_EQ(record.deleted, std::vector{key->number});
    EXPECT_EQ(set.find(key->number)->value, &values[1]);
    record.delete_answer = 7;
    EXPECT_EQ(set_attribute(set, MPI_COMM_SELF, key, &values[2]), 7);
    EXPECT_EQ(set.find(key->number)->value, &values[1]);
}

TEST_F(AttributeTest, AreCopiedInOrderAndDeletedInReverse)
{
    const auto first = make_key();
    const auto second = make_key();
    set_attribute(set, MPI_COMM_SELF, second, &values[0]);
    set_attribute(set, MPI_COMM_SELF, first, &values[1]);
    AttributeSet copy;
    EXPECT_EQ(copy_attributes(set, MPI_COMM_SELF, copy), MPI_SUCCESS);
    EXPECT_EQ(record.copied, (std::vector{second->number, first->number}));
    EXPECT_EQ(copy.find(second->number)->value, &values[1]);
    EXPECT_EQ(delete_attributes(set, MPI_COMM_SELF), MPI_SUCCESS);
    EXPECT_EQ(record.deleted, (std::vector{first->number, second->number}));
    EXPECT_TRUE(set.is_empty());
}

TEST_F(AttributeTest, CallbacksDecideWhatIsCopied)
{
    set_attribute(set, MPI_COMM_SELF, make_key(), &values[0]);
    record.copies = false;
    AttributeSet copy;
    EXPECT_EQ(copy_attributes(set, MPI_COMM_SELF, copy), MPI_SUCCESS);
    EXPECT_TRUE(copy.is_empty());
    record.copy_answer = 9;
    EXPECT_EQ(copy_attributes(set, MPI_COMM_SELF, copy), 9);
}

TEST_F(AttributeTest, PredefinedFunctionsAreNotCalled)
{
    const auto make = [&](MPI_Comm_copy_attr_function* copy_function) {
        const int number = keys.create<MPI_Comm>(Keyed::communicator, copy_function,
                                                 MPI_COMM_NULL_DELETE_FN, nullptr);
        return keys.find(Keyed::communicator, number);
    };
    const auto not_copied = make(MPI_COMM_NULL_COPY_FN);
    const auto copied = make(MPI_COMM_DUP_FN);
    set_attribute(set, MPI_COMM_SELF, not_copied, &values[0]);
    set_attribute(set, MPI_COMM_SELF, copied, &values[1]);
    AttributeSet copy;
    EXPECT_EQ(copy_attributes(set, MPI_COMM_SELF, copy), MPI_SUCCESS);
    EXPECT_EQ(copy.find(not_copied->number), nullptr);
    EXPECT_EQ(copy.find(copied->number)->value, &values[1]);
    EXPECT_EQ(delete_attributes(set, MPI_COMM_SELF), MPI_SUCCESS);
}

TEST_F(AttributeTest, AFreedKeyWorksUntilItsLastAttributeIsGone)
{
    auto key = make_key();
    const int number = key->number;
    set_attribute(set, MPI_COMM_SELF, key, &values[0]);
    const std::weak_ptr<const Keyval> watched = key;
    key.reset();
    keys.free(number);
    EXPECT_FALSE(watched.expired());
    EXPECT_EQ(delete_attributes(set, MPI_COMM_SELF), MPI_SUCCESS);
    EXPECT_EQ(record.deleted, std::vector{number});
    EXPECT_TRUE(watched.expired());
}

TEST_F(AttributeTest, AThrowingCallbackLeavesTheAttribute)
{
    const int number =
        keys.create<MPI_Comm>(Keyed::communicator, MPI_COMM_NULL_COPY_FN, &throw_delete, nullptr);
    set_attribute(set, MPI_COMM_SELF, keys.find(Keyed::communicator, number), &values[0]);
    EXPECT_THROW((void)delete_attributes(set, MPI_COMM_SELF), std::runtime_error);
    EXPECT_NE(set.find(number), nullptr);
}

}  // namespace
}  // namespace headway::object

// SPDX-License-Identifier: Apache-2.0
// The client of PMIx over a library that the test plays, and its declarations beside the header.
#include "boot/pmix.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "boot/pmix_library.hpp"

#ifdef HEADWAY_HAS_PMIX_HEADER
#include <pmix.h>
#endif

namespace headway::boot {
namespace {

using pmix::Code;
using pmix::Info;
using pmix::Type;
using pmix::Value;

constexpr Code refused = -1;

/// What the played server knows and says; one at a time.
struct Played {
    Code init = pmix::success;
    Code fence = pmix::success;
    Code put = pmix::success;
    pmix::Rank rank = 1;
    std::map<std::pair<pmix::Rank, std::string>, std::uint32_t> numbers{
        {{pmix::whole_job, "pmix.job.size"}, 3}};
    std::map<std::pair<pmix::Rank, std::string>, std::string> texts;
    int commits = 0;
    bool collects = false;
    std::string aborted;
};

Played* played = nullptr;

Code play_init(pmix::Process* own, Info*, std::size_t)
{
    std::strcpy(own->job, "prterun-here-7@1");
    own->rank = played->rank;
    return played->init;
}

Code play_finalize(const Info*, std::size_t)
{
    return pmix::success;
}

Code play_put(pmix::Scope, const char* key, Value* value)
{
    played->texts[{played->rank, key}] = value->data.string;
    return played->put;
}

Code play_commit()
{
    ++played->commits;
    return pmix::success;
}

Code play_fence(const pmix::Process*, std::size_t, const Info* settings, std::size_t count)
{
    played->collects =
        count == 1 && std::string(settings->key) == "pmix.collect" && settings->value.data.boolean;
    return played->fence;
}

Code play_get(const pmix::Process* whose, const char* key, const Info*, std::size_t, Value** value)
{
    const std::pair name{whose->rank, std::string(key)};
    const auto number = played->numbers.find(name);
    const auto text = played->texts.find(name);
    if (number == played->numbers.end() && text == played->texts.end()) {
        return pmix::not_found;
    }
    *value = static_cast<Value*>(std::calloc(1, sizeof(Value)));
    if (number != played->numbers.end()) {
        (*value)->type = Type::number32;
        (*value)->data.number32 = number->second;
    } else {
        (*value)->type = Type::string;
        (*value)->data.string = ::strdup(text->second.c_str());
    }
    return pmix::success;
}

Code play_abort(int code, const char* message, pmix::Process*, std::size_t)
{
    played->aborted = std::to_string(code) + " " + message;
    return refused;
}

const char* play_error_string(Code code)
{
    return code == pmix::not_found ? "NOT-FOUND" : "REFUSED";
}

class Pmix : public testing::Test {
  protected:
    Pmix() { played = &server_; }
    ~Pmix() override { played = nullptr; }

    static base::Result<std::unique_ptr<Boot>> open()
    {
        return PmixBoot::open({play_init, play_finalize, play_put, play_commit, play_fence,
                               play_get, play_abort, play_error_string});
    }

    Played server_;
};

TEST_F(Pmix, JoinsTheJob)
{
    const auto boot = open();
    ASSERT_TRUE(boot) << boot.sentence();
    EXPECT_EQ(boot.value()->process_index(), 1);
    EXPECT_EQ(boot.value()->process_count(), 3);
    EXPECT_EQ(boot.value()->job(), "prterun-here-7_1");
    EXPECT_EQ(boot.value()->launcher(), "PMIx server");
}

TEST_F(Pmix, SaysWhyItCannotJoin)
{
    server_.init = refused;
    EXPECT_NE(open().sentence().find("does not answer (PMIx says REFUSED)"), std::string::npos);
    server_.init = pmix::success;
    server_.rank = 3;
    EXPECT_NE(open().sentence().find("process 3 of 3, which cannot be"), std::string::npos);
    server_.numbers.clear();
    EXPECT_NE(open().sentence().find("did not say the size"), std::string::npos);
    server_.texts[{pmix::whole_job, "pmix.job.size"}] = "three";
    EXPECT_NE(open().sentence().find("did not say the size"), std::string::npos);
}

TEST_F(Pmix, NodesComeByNumberElseByHostElseNotAtAll)
{
    auto boot = std::move(open().value());
    EXPECT_TRUE(boot->node_map().value().empty());
    for (const auto& [rank, host] : {std::pair{0U, "a"}, {1U, "b"}, {2U, "a"}}) {
        server_.texts[{rank, "pmix.hname"}] = host;
        server_.numbers[{rank, "pmix.nodeid"}] = rank + 4;
    }
    EXPECT_EQ(boot->node_map().value(), (std::vector<int>{4, 5, 6}));
    server_.numbers.erase({1, "pmix.nodeid"});
    EXPECT_EQ(boot->node_map().value(), (std::vector<int>{0, 1, 0}));
}

TEST_F(Pmix, PutsFencesAndAsksWhoHasPut)
{
    auto boot = std::move(open().value());
    EXPECT_TRUE(boot->put("key-1", "value"));
    EXPECT_TRUE(boot->fence());
    EXPECT_EQ(server_.commits, 1);
    EXPECT_TRUE(server_.collects);
    EXPECT_EQ(boot->get("key-1").value(), "value");
    const auto missing = boot->get("key-2");
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.sentence().find("'key-2' (PMIx says NOT-FOUND)"), std::string::npos);
    server_.texts[{pmix::any_rank, "word"}] = "x";
    EXPECT_EQ(boot->get("word").value(), "x");
    EXPECT_FALSE(boot->put("", "x"));
    EXPECT_FALSE(boot->put(std::string(600, 'k'), "x"));
    EXPECT_TRUE(boot->finalize());
}

TEST_F(Pmix, FailuresAreSentences)
{
    auto boot = std::move(open().value());
    server_.put = refused;
    EXPECT_NE(boot->put("k-1", "v").sentence().find("does not take 'k-1'"), std::string::npos);
    server_.fence = refused;
    EXPECT_NE(boot->fence().sentence().find("cannot meet (PMIx says REFUSED)"), std::string::npos);
    boot->abort(7, "why");
    EXPECT_EQ(server_.aborted, "7 why");
}

TEST(PmixLibrary, SaysWhatWasTriedOrIsMissing)
{
    const auto none = pmix::open_library({"/nowhere/libpmix.so.2", "libpmix_of_nobody.so"});
    ASSERT_FALSE(none);
    EXPECT_NE(none.sentence().find("/nowhere/libpmix.so.2"), std::string::npos);
    EXPECT_NE(none.sentence().find("libpmix_of_nobody.so"), std::string::npos);
    const auto other = pmix::open_library({"libm.so.6"});
    ASSERT_FALSE(other);
    EXPECT_NE(other.sentence().find("libm.so.6 has no function PMIx_Init"), std::string::npos);
}

TEST(PmixLibrary, LooksBelowThePrefixFirst)
{
    const auto paths = pmix::library_paths("/opt/x");
    ASSERT_GE(paths.size(), 3U);
    EXPECT_EQ(paths.front(), "/opt/x/lib/libpmix.so.2");
    EXPECT_EQ(paths.back(), "libpmix.so.2");
}

TEST(PmixTypes, AreThoseOfTheHeader)
{
#ifdef HEADWAY_HAS_PMIX_HEADER
    static_assert(sizeof(pmix::Process) == sizeof(pmix_proc_t));
    static_assert(offsetof(pmix::Process, rank) == offsetof(pmix_proc_t, rank));
    static_assert(sizeof(Value) == sizeof(pmix_value_t));
    static_assert(offsetof(Value, data) == offsetof(pmix_value_t, data));
    static_assert(sizeof(Info) == sizeof(pmix_info_t));
    static_assert(offsetof(Info, flags) == offsetof(pmix_info_t, flags));
    static_assert(offsetof(Info, value) == offsetof(pmix_info_t, value));
    EXPECT_EQ(static_cast<int>(Type::undefined), PMIX_UNDEF);
    EXPECT_EQ(static_cast<int>(Type::boolean), PMIX_BOOL);
    EXPECT_EQ(static_cast<int>(Type::string), PMIX_STRING);
    EXPECT_EQ(static_cast<int>(Type::integer), PMIX_INT);
    EXPECT_EQ(static_cast<int>(Type::number32), PMIX_UINT32);
    EXPECT_EQ(static_cast<int>(pmix::Scope::global), PMIX_GLOBAL);
    EXPECT_EQ(pmix::any_rank, PMIX_RANK_UNDEF);
    EXPECT_EQ(pmix::whole_job, PMIX_RANK_WILDCARD);
    EXPECT_EQ(pmix::success, PMIX_SUCCESS);
    EXPECT_EQ(pmix::not_found, PMIX_ERR_NOT_FOUND);
    EXPECT_STREQ(pmix::job_size_key, PMIX_JOB_SIZE);
    EXPECT_STREQ(pmix::node_key, PMIX_NODEID);
    EXPECT_STREQ(pmix::host_key, PMIX_HOSTNAME);
    EXPECT_STREQ(pmix::collect_key, PMIX_COLLECT_DATA);
    EXPECT_STREQ(pmix::known_here_key, PMIX_OPTIONAL);
    EXPECT_STREQ(pmix::patience_key, PMIX_TIMEOUT);
#else
    GTEST_SKIP() << "NOT TESTED: no header of PMIx (Debian: libpmix-dev)";
#endif
}

}  // namespace
}  // namespace headway::boot

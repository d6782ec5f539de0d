// SPDX-License-Identifier: Apache-2.0
#include "engine/presence.hpp"

#include <gtest/gtest.h>

#include "platform/process.hpp"
#include "platform/thread.hpp"

namespace headway::engine {
namespace {

TEST(Presence, WhoNeverCameIsNowhere)
{
    const Presence presence;
    EXPECT_FALSE(presence.is_beside(0));
    EXPECT_FALSE(presence.is_at(0));
}

TEST(Presence, KnowsWhereTheRankRunsAndWhereItRan)
{
    Presence presence;
    for (const std::uint32_t processor : {0U, 1U, 255U}) {
        presence.come(processor);
        EXPECT_TRUE(presence.is_at(processor));
        EXPECT_TRUE(presence.is_beside(processor + 1));
        EXPECT_FALSE(presence.is_beside(processor)) << "the caller runs there itself";
        presence.go();
        EXPECT_TRUE(presence.is_at(processor));
        EXPECT_FALSE(presence.is_beside(processor + 1)) << "it has given its core away";
        EXPECT_FALSE(presence.is_at(processor + 1));
    }
}

TEST(Presence, AThreadMovesAndKeepsThePlacesWhereItMayRun)
{
    const std::vector<unsigned> before = platform::allowed_cpus();
    const unsigned here = platform::current_processor();
    const bool has_moved = platform::change_processor();
    EXPECT_EQ(has_moved, before.size() > 1);
    EXPECT_EQ(platform::allowed_cpus(), before);
    if (has_moved) {
        platform::allow_cpus({here});
        EXPECT_EQ(platform::current_processor(), here);
        EXPECT_FALSE(platform::change_processor()) << "it may run on one processor only";
        EXPECT_EQ(platform::allowed_cpus(), std::vector<unsigned>{here});
        platform::allow_cpus(before);
    }
}

}  // namespace
}  // namespace headway::engine

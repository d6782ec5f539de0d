// SPDX-License-Identifier: Apache-2.0
// Which launcher open_boot() takes from the environment.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "boot/boot.hpp"

namespace headway::boot {
namespace {

class OpenBoot : public testing::Test {
  protected:
    OpenBoot() { forget_all(); }
    ~OpenBoot() override { forget_all(); }

    static void forget_all()
    {
        for (const char* name :
             {"PMI_FD", "PMI_RANK", "PMI_SIZE", "PMI_PORT", "PMI_ID", "PMIX_NAMESPACE", "PMIX_RANK",
              "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}) {
            ::unsetenv(name);
        }
    }
    static void set(const char* name, const char* value) { ::setenv(name, value, 1); }

    /// Why open_boot() refuses; empty when it does not.
    static std::string refusal()
    {
        const auto boot = open_boot();
        return boot ? "" : boot.sentence();
    }
};

TEST_F(OpenBoot, WithoutLauncherIsASingleton)
{
    auto opened = open_boot();
    ASSERT_TRUE(opened);
    Boot& boot = *opened.value();
    EXPECT_EQ(boot.process_count(), 1);
    EXPECT_EQ(boot.process_index(), 0);
    EXPECT_EQ(boot.job(), "");
    EXPECT_TRUE(boot.put("k", "v"));
    EXPECT_TRUE(boot.put("k", "w"));
    EXPECT_TRUE(boot.fence());
    EXPECT_EQ(boot.get("k").value(), "w");
    EXPECT_FALSE(boot.get("l"));
    EXPECT_EQ(boot.node_map().value(), std::vector<int>{0});
    EXPECT_TRUE(boot.finalize());
}

TEST_F(OpenBoot, TellsTheProcessesBeforeItWhereTheEnvironmentDoes)
{
    EXPECT_EQ(told_process_count(), 1);
    set("PMI_FD", "9");
    EXPECT_EQ(told_process_count(), std::nullopt);
    set("PMI_SIZE", "five");
    EXPECT_EQ(told_process_count(), std::nullopt);
    set("PMI_SIZE", "5");
    EXPECT_EQ(told_process_count(), 5);
    forget_all();
    set("PMIX_NAMESPACE", "prterun-1");
    EXPECT_EQ(told_process_count(), std::nullopt);
    forget_all();
    set("SLURM_STEP_ID", "0");
    set("SLURM_PROCID", "0");
    set("SLURM_STEP_NUM_TASKS", "2");
    EXPECT_EQ(told_process_count(), std::nullopt);
}

TEST_F(OpenBoot, TakesTheWayThatIsAskedForOnly)
{
    const auto by_pmi1 = open_boot(Way::pmi1);
    ASSERT_FALSE(by_pmi1);
    EXPECT_NE(by_pmi1.sentence().find("HEADWAY_BOOT is 'pmi1'"), std::string::npos);
    const auto by_pmix = open_boot(Way::pmix);
    ASSERT_FALSE(by_pmix);
    EXPECT_NE(by_pmix.sentence().find("not set PMIX_NAMESPACE"), std::string::npos);
    set("PMIX_NAMESPACE", "prterun-1");
    set("PMI_FD", "0");
    const auto alone = open_boot(Way::single);
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone.value()->launcher(), "none (singleton)");
}

TEST_F(OpenBoot, SrunWithoutPmiIsRefusedForSeveralTasksOnly)
{
    set("SLURM_STEP_ID", "0");
    set("SLURM_PROCID", "0");
    EXPECT_EQ(refusal(), "");
    set("SLURM_STEP_NUM_TASKS", "1");
    EXPECT_EQ(refusal(), "");
    set("SLURM_STEP_NUM_TASKS", "2");
    EXPECT_NE(refusal().find("--mpi=pmi2"), std::string::npos);
}

TEST_F(OpenBoot, VariablesAreGoneAfterwardsAlsoOnFailure)
{
    set("PMI_FD", "1000000");
    set("PMI_RANK", "0");
    set("PMI_SIZE", "2");
    EXPECT_NE(refusal().find("not open"), std::string::npos);
    EXPECT_EQ(std::getenv("PMI_FD"), nullptr);
    EXPECT_EQ(std::getenv("PMI_RANK"), nullptr);
    EXPECT_EQ(std::getenv("PMI_SIZE"), nullptr);
}

TEST_F(OpenBoot, NumbersMustBeNumbers)
{
    set("PMI_FD", "-1");
    EXPECT_NE(refusal().find("PMI_FD is '-1'"), std::string::npos);
    set("PMI_FD", "3");
    set("PMI_RANK", "one");
    EXPECT_NE(refusal().find("PMI_RANK is 'one'"), std::string::npos);
}

}  // namespace
}  // namespace headway::boot

// SPDX-License-Identifier: Apache-2.0
#include "hand_over.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace headway::launch {
namespace {

const Launchers all = {"/bin/srun", "/bin/mpiexec.hydra", "/bin/prterun"};

Options job_of(int ranks)
{
    Options options;
    Program program;
    program.rank_count = ranks;
    program.has_count = true;
    program.arguments = {"./program", "-x"};
    options.programs.push_back(program);
    return options;
}

Allocation on(const std::string& hosts, bool is_slurm = false)
{
    Allocation allocation = read_host_list(hosts).value();
    allocation.is_slurm = is_slurm;
    return allocation;
}

std::string line_of(const Options& options, const Allocation& hosts, const Launchers& launchers)
{
    const auto command = command_on_hosts(options, hosts, launchers);
    if (!command) {
        return command.sentence();
    }
    std::string line;
    for (const std::string& word : command.value().words) {
        line += (line.empty() ? "" : " ") + word;
    }
    return line;
}

class HandOver : public ::testing::Test {
  protected:
    void SetUp() override { ::unsetenv("SLURM_JOB_ID"); }
};

TEST_F(HandOver, HydraFillsHostsBySlots)
{
    EXPECT_EQ(line_of(job_of(4), on("a:2,b:2"), all),
              "/bin/mpiexec.hydra -hosts a:2,b:2 -n 4 ./program -x");
}

TEST_F(HandOver, HydraGetsWhatTheOptionsSay)
{
    Options options = job_of(1);
    options.programs[0].has_count = false;
    options.programs[0].directory = "/work";
    options.programs[0].environment.set = {{"A", "1"}};
    options.environment.kept.emplace();
    options.environment.set = {{"B", "2"}};
    options.per_host = 3;
    options.binding = Binding::core;
    options.cpus_per_rank = 2;
    options.has_label = true;
    options.gives_stdin = false;
    options.for_hydra = {"-iface", "eth1"};
    options.programs.push_back(job_of(5).programs[0]);
    EXPECT_EQ(line_of(options, on("a,b:9"), all),
              "/bin/mpiexec.hydra -iface eth1 -hosts a,b -ppn 3 -bind-to core:2 -prepend-rank "
              "-s none -genvnone -genv B 2 -n 6 -wdir /work -env A 1 ./program -x "
              ": -n 5 ./program -x");
}

TEST_F(HandOver, HydraEndsAJobInTime)
{
    Options options = job_of(2);
    options.timeout_s = 2.5;
    const auto command = command_on_hosts(options, on("a,b"), all);
    ASSERT_TRUE(command);
    const std::vector<std::pair<std::string, std::string>> wanted = {{"MPIEXEC_TIMEOUT", "3"}};
    EXPECT_EQ(command.value().set, wanted);
}

TEST_F(HandOver, SrunWithinAJobOfSlurm)
{
    Options options = job_of(4);
    EXPECT_EQ(line_of(options, on("a,b", true), all),
              "/bin/srun --mpi=pmi2 --ntasks=4 ./program -x");
    options.per_host = 2;
    options.binding = Binding::none;
    options.has_label = true;
    options.environment.set = {{"B", "2"}};
    options.environment.kept = {"PATH"};
    ::setenv("SLURM_JOB_ID", "3", 1);
    EXPECT_EQ(line_of(options, on("a,b"), all),
              "/bin/srun --mpi=pmi2 --ntasks=4 --ntasks-per-node=2 --nodes=2 --nodelist=a,b "
              "--cpu-bind=none --label --export=PATH,B ./program -x");
    EXPECT_EQ(command_on_hosts(options, on("a,b"), all).value().set.size(), 1U);
    options.programs.push_back(options.programs[0]);
    EXPECT_NE(line_of(options, on("a,b"), all).find("one program"), std::string::npos);
    EXPECT_EQ(line_of(job_of(2), on("a,b", true), {"", "/bin/mpiexec.hydra", ""}),
              "/bin/mpiexec.hydra -hosts a:1,b:1 -n 2 ./program -x");
}

TEST_F(HandOver, WhatCannotBeIsSaidInOneSentence)
{
    EXPECT_EQ(line_of(job_of(2), on("a,b"), {"/bin/srun", "", "/bin/prterun"}),
              "the job is for a, b (--hosts), and no mpiexec.hydra is on PATH (prterun is; "
              "start the job by it instead of mpiexec); load a module that has one, such as "
              "MPICH, or give --hosts localhost");
    EXPECT_NE(line_of(job_of(2), on("a,b,c,d,e,f", true), {}).find("a, b, c, d and 2 more"),
              std::string::npos);
    Options options = job_of(2);
    options.reports_bindings = true;
    EXPECT_NE(
        line_of(options, on("a,b"), all).find("--report-bindings is for jobs on this machine only"),
        std::string::npos);
    options.reports_bindings = false;
    options.timeout_s = 3;
    EXPECT_NE(line_of(options, on("a,b", true), all).find("srun ends jobs by whole minutes only"),
              std::string::npos);
    options.timeout_s = 0;
    options.rank_host = RankHost::ult;
    EXPECT_NE(line_of(options, on("a,b"), all).find("headway-host -n 1"), std::string::npos);
}

}  // namespace
}  // namespace headway::launch

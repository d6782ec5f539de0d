// SPDX-License-Identifier: Apache-2.0
#include "allocation.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace headway::launch {
namespace {

using Names = std::vector<std::string>;
using Hosts = std::vector<Host>;

/// A file that is gone when the test ends.
class TextFile {
  public:
    explicit TextFile(const std::string& text)
        : path_(std::filesystem::temp_directory_path() /
                ("headway-allocation-" + std::to_string(::getpid())))
    {
        std::ofstream(path_) << text;
    }
    ~TextFile() { std::filesystem::remove(path_); }
    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;
    std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

Allocation found(const Names& environment)
{
    const auto allocation = find_allocation(environment);
    EXPECT_TRUE(allocation.has_value()) << (allocation ? "" : allocation.sentence());
    return allocation ? allocation.value() : Allocation{};
}

std::string refusal(const Names& environment)
{
    const auto allocation = find_allocation(environment);
    return allocation ? "" : allocation.sentence();
}

TEST(HostNames, ShortFormsOfSlurmStandForTheirNames)
{
    const std::vector<std::pair<std::string, Names>> rows = {
        {"login", {"login"}},
        {"a,b", {"a", "b"}},
        {"tux[1-3]", {"tux1", "tux2", "tux3"}},
        {"tux[08-10,2]-ib", {"tux08-ib", "tux09-ib", "tux10-ib", "tux2-ib"}},
        {"r[0-1]n[1,3],x", {"r0n1", "r0n3", "r1n1", "r1n3", "x"}},
        {"[7-8]", {"7", "8"}},
    };
    for (const auto& [text, names] : rows) {
        const auto expanded = expand_host_names(text);
        ASSERT_TRUE(expanded.has_value()) << text;
        EXPECT_EQ(expanded.value(), names) << text;
    }
}

TEST(HostNames, WhatMakesNoSenseIsRefused)
{
    for (const char* text :
         {"", "a,,b", "a[", "a[1", "a]", "a[]", "a[3-1]", "a[x-y]", "a[1-]", "a[-3]",
          "a[1-99999999999]", "a[0-2000000000]", "a[0-999]b[0-999]", "a[[1]]"}) {
        EXPECT_FALSE(expand_host_names(text).has_value()) << text;
    }
}

TEST(HostList, NamesSlotsAndNamesThatComeAgain)
{
    const auto list = read_host_list("a,b:3,a:2,fe80::1");
    ASSERT_TRUE(list.has_value());
    EXPECT_EQ(list.value().hosts, (Hosts{{"a", 3}, {"b", 3}, {"fe80::1", 1}}));
    EXPECT_EQ(list.value().list(",", true), "a:3,b:3,fe80::1:1");
    for (const char* text : {"", ",", "a:0", "a:x", ":3", "a:", "-x", "a:-1", "a:99999999999"}) {
        EXPECT_FALSE(read_host_list(text).has_value()) << text;
    }
}

TEST(HostFile, BothWellKnownForms)
{
    const TextFile file("# hosts\n\na:2\nb slots=4 max_slots=8\nc # last\na\n");
    const auto hosts = read_host_file(file.path());
    ASSERT_TRUE(hosts.has_value()) << hosts.sentence();
    EXPECT_EQ(hosts.value().hosts, (Hosts{{"a", 3}, {"b", 4}, {"c", 1}}));
    const TextFile bad("a\nb slots=many\n");
    EXPECT_NE(read_host_file(bad.path()).sentence().find("'b slots=many'"), std::string::npos);
    const TextFile empty("# none\n");
    EXPECT_FALSE(read_host_file(empty.path()).has_value());
    EXPECT_FALSE(read_host_file("/does/not/exist").has_value());
}

TEST(Batch, NoneOrHalfOfOneIsThisMachine)
{
    EXPECT_TRUE(found({}).hosts.empty());
    EXPECT_FALSE(found({}).leaves_this_machine());
    EXPECT_TRUE(found({"PATH=/bin", "SLURM_JOB_ID=3", "JOB_ID=7", "PBS_JOBID=9"}).hosts.empty());
    EXPECT_TRUE(found({"SLURM_JOB_NODELIST=a", "PE_HOSTFILE=/x", "PBS_NODEFILE=/x"}).hosts.empty());
}

TEST(Batch, Slurm)
{
    const Allocation job =
        found({"SLURM_JOB_ID=4711", "SLURM_JOB_NODELIST=node[01-03],big",
               "SLURM_TASKS_PER_NODE=2(x3),16", "SLURM_JOB_CPUS_PER_NODE=8(x3),64"});
    EXPECT_EQ(job.source, "Slurm job 4711");
    EXPECT_TRUE(job.is_slurm);
    EXPECT_EQ(job.hosts, (Hosts{{"node01", 2}, {"node02", 2}, {"node03", 2}, {"big", 16}}));
    EXPECT_TRUE(job.leaves_this_machine());
    EXPECT_EQ(
        found({"SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_JOB_CPUS_PER_NODE=4(x2)"})
            .hosts,
        (Hosts{{"n1", 4}, {"n2", 4}}));
    for (const char* counts : {"2", "2(x3", "2(x)", "(x2)", "0(x2)", "2(x2)x", "a,b", "1,1,1"}) {
        EXPECT_NE(refusal({"SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=n[1-2]",
                           std::string("SLURM_TASKS_PER_NODE=") + counts})
                      .find("SLURM_TASKS_PER_NODE"),
                  std::string::npos)
            << counts;
    }
    EXPECT_NE(refusal({"SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=n[2-1]"}).find("SLURM_JOB_NODELIST"),
              std::string::npos);
}

TEST(Batch, Pbs)
{
    const TextFile file("n1\nn1\nn2\nn1\n");
    const Allocation job = found({"PBS_JOBID=12.server", "PBS_NODEFILE=" + file.path()});
    EXPECT_EQ(job.source, "PBS job 12.server");
    EXPECT_EQ(job.hosts, (Hosts{{"n1", 3}, {"n2", 1}}));
    EXPECT_NE(refusal({"PBS_JOBID=1", "PBS_NODEFILE=/gone"}).find("PBS job 1: cannot read '/gone'"),
              std::string::npos);
}

TEST(Batch, Lsf)
{
    const Allocation job = found({"LSB_JOBID=5", "LSB_MCPU_HOSTS=hostA 4 hostB 2 "});
    EXPECT_EQ(job.source, "LSF job 5");
    EXPECT_EQ(job.hosts, (Hosts{{"hostA", 4}, {"hostB", 2}}));
    const TextFile file("hostC\nhostC\n");
    EXPECT_EQ(
        found({"LSB_JOBID=5", "LSB_MCPU_HOSTS=x 1", "LSB_DJOB_HOSTFILE=" + file.path()}).hosts,
        (Hosts{{"hostC", 2}}));
    for (const char* text : {"hostA", "hostA four", "hostA 4 hostB"}) {
        EXPECT_NE(
            refusal({"LSB_JOBID=5", std::string("LSB_MCPU_HOSTS=") + text}).find("LSB_MCPU_HOSTS"),
            std::string::npos)
            << text;
    }
}

TEST(Batch, GridEngine)
{
    const TextFile file("n1.site 4 all.q@n1.site UNDEFINED\nn2.site 2 all.q@n2.site <NULL>\n");
    const Allocation job = found({"JOB_ID=8", "PE_HOSTFILE=" + file.path()});
    EXPECT_EQ(job.source, "Grid Engine job 8");
    EXPECT_EQ(job.hosts, (Hosts{{"n1.site", 4}, {"n2.site", 2}}));
    const TextFile bad("n1.site\n");
    EXPECT_FALSE(refusal({"JOB_ID=8", "PE_HOSTFILE=" + bad.path()}).empty());
}

TEST(Batch, AJobOnThisMachineStaysHere)
{
    char name[256] = {};
    ASSERT_EQ(::gethostname(name, sizeof name - 1), 0);
    const std::string own(name);
    const auto is_here = [](const std::string& host) {
        return !found({"SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=" + host}).leaves_this_machine();
    };
    EXPECT_TRUE(is_here(own));
    EXPECT_TRUE(is_here("localhost"));
    EXPECT_TRUE(is_here(own.substr(0, own.find('.'))));
    EXPECT_TRUE(own.find('.') != std::string::npos || is_here(own + ".site.example"));
    EXPECT_FALSE(is_here(own + "2"));
    EXPECT_FALSE(is_here(own + ",elsewhere"));
}

}  // namespace
}  // namespace headway::launch

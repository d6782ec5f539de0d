// SPDX-License-Identifier: Apache-2.0
// The client against a server that the test plays, line by line.
#include "boot/pmi1.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "boot/descriptor_message.hpp"

namespace headway::boot {
namespace {

using namespace std::chrono_literals;

/// Both ends of a connection. The thread of `serve` is joined before the ends are closed.
class Line {
  public:
    Line()
    {
        if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()) != 0) {
            std::abort();
        }
    }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;
    ~Line()
    {
        if (server_.joinable()) {
            server_.join();
        }
        hang_up();
    }

    int client() const { return ends_[0]; }
    int server() const { return ends_[1]; }
    void hang_up()
    {
        if (ends_[1] >= 0) {
            ::close(std::exchange(ends_[1], -1));
        }
    }
    void say(const std::string& bytes) const
    {
        EXPECT_EQ(::send(ends_[1], bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }
    std::string hear() const
    {
        std::string line;
        char byte = 0;
        while (::read(ends_[1], &byte, 1) == 1 && byte != '\n') {
            line += byte;
        }
        return line;
    }
    /// Answers each request in turn; what was heard is in heard() after join().
    void serve(std::vector<std::string> answers)
    {
        server_ = std::thread([this, lines = std::move(answers)] {
            for (const std::string& answer : lines) {
                heard_.push_back(hear());
                say(answer);
            }
        });
    }
    const std::vector<std::string>& heard()
    {
        server_.join();
        return heard_;
    }

  private:
    std::array<int, 2> ends_{-1, -1};
    std::thread server_;
    std::vector<std::string> heard_;  ///< written by the server's thread, read after its end
};

const std::vector<std::string> greetings = {
    "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
    "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0\n",
    "cmd=my_kvsname kvsname=kvs_1/2 rc=0\n"};

std::vector<std::string> after_greetings(std::vector<std::string> answers)
{
    answers.insert(answers.begin(), greetings.begin(), greetings.end());
    return answers;
}

base::Result<std::unique_ptr<Boot>> open(const Line& line, std::string headway_job = "",
                                         std::chrono::milliseconds patience = pmi1_patience)
{
    Pmi1Address address;
    address.descriptor = line.client();
    address.process_index = 1;
    address.process_count = 3;
    address.headway_job = std::move(headway_job);
    return Pmi1Boot::open(address, patience);
}

TEST(Pmi1, GreetsAndNamesTheJob)
{
    Line line;
    line.serve(greetings);
    auto boot = open(line);
    ASSERT_TRUE(boot) << boot.sentence();
    EXPECT_EQ(boot.value()->process_index(), 1);
    EXPECT_EQ(boot.value()->process_count(), 3);
    EXPECT_EQ(boot.value()->job(), "kvs_1_2");
    EXPECT_EQ(boot.value()->launcher(), "PMI-1 server");
    EXPECT_EQ(line.heard(), (std::vector<std::string>{"cmd=init pmi_version=1 pmi_subversion=1",
                                                      "cmd=get_maxes", "cmd=get_my_kvsname"}));
    EXPECT_EQ(::fcntl(line.client(), F_GETFD), FD_CLOEXEC);
}

TEST(Pmi1, KnowsItsOwnLauncher)
{
    Line line;
    line.serve(greetings);
    auto boot = open(line, "kvs_1/2");
    ASSERT_TRUE(boot);
    EXPECT_EQ(boot.value()->launcher(), "headway mpiexec");
}

TEST(Pmi1, PutsFencesAndGets)
{
    Line line;
    line.serve(after_greetings({"cmd=put_result rc=0 msg=success\n", "cmd=barrier_out\n",
                                "cmd=get_result rc=0 msg=success value=a=b\n",
                                "cmd=get_result rc=-1 msg=key_not_found value=unknown\n",
                                "cmd=get_result rc=0 value=(vector,(0,3,1))\n",
                                "cmd=finalize_ack rc=0\n"}));
    auto opened = open(line);
    ASSERT_TRUE(opened);
    Boot& boot = *opened.value();
    EXPECT_TRUE(boot.put("k", "v"));
    EXPECT_TRUE(boot.fence());
    EXPECT_EQ(boot.get("k").value(), "a=b");
    EXPECT_FALSE(boot.get("other"));
    EXPECT_EQ(boot.node_map().value(), (std::vector<int>{0, 1, 2}));
    EXPECT_TRUE(boot.finalize());
    const auto& heard = line.heard();
    EXPECT_EQ(heard[3], "cmd=put kvsname=kvs_1/2 key=k value=v");
    EXPECT_EQ(heard[4], "cmd=barrier_in");
    EXPECT_EQ(heard[5], "cmd=get kvsname=kvs_1/2 key=k");
    EXPECT_EQ(heard[8], "cmd=finalize");
}

std::vector<std::string> greetings_that_share()
{
    std::vector<std::string> answers = greetings;
    answers[0].insert(answers[0].size() - 1, " headway_descriptor=1");
    return answers;
}

TEST(Pmi1, SharesADescriptorOnlyWithServersThatSaySo)
{
    Line line;
    line.serve(greetings);
    auto opened = open(line);
    ASSERT_TRUE(opened);
    EXPECT_FALSE(opened.value()->can_share_descriptor());
}

TEST(Pmi1, SharesAndTakesDescriptors)
{
    Line line;
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    std::thread server([&line] {
        for (const std::string& answer : greetings_that_share()) {
            line.hear();
            line.say(answer);
        }
        // What comes with the client's line goes back with the answer to its next one.
        std::array<char, 200> bytes{};
        int beside = -1;
        while (receive_with_descriptor(line.server(), bytes, &beside) < 0) {
            std::this_thread::yield();
        }
        EXPECT_STREQ(bytes.data(), "cmd=headway_share\n");
        ASSERT_GE(beside, 0);
        EXPECT_EQ(::fcntl(beside, F_GETFD), FD_CLOEXEC);
        line.say("cmd=headway_share_result rc=0\n");
        EXPECT_EQ(line.hear(), "cmd=headway_take");
        EXPECT_GT(send_with_descriptor(line.server(), "cmd=headway_take_result rc=0\n", beside), 0);
        ::close(beside);
        EXPECT_EQ(line.hear(), "cmd=headway_take");
        line.say("cmd=headway_take_result rc=0\n");
    });
    auto opened = open(line);
    EXPECT_TRUE(opened);
    Boot& boot = *opened.value();
    EXPECT_TRUE(boot.can_share_descriptor());
    EXPECT_TRUE(boot.share_descriptor(pipe_ends[1]));
    const auto taken = boot.take_descriptor();
    EXPECT_TRUE(taken);
    EXPECT_EQ(::fcntl(taken.value(), F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(::write(taken.value(), "x", 1), 1);
    char byte = 0;
    EXPECT_EQ(::read(pipe_ends[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'x');
    // An answer without one: it found no room in this process.
    const auto lost = boot.take_descriptor();
    EXPECT_FALSE(lost);
    EXPECT_NE(lost.sentence().find("ulimit -n"), std::string::npos) << lost.sentence();
    server.join();
    for (const int each : {pipe_ends[0], pipe_ends[1], taken.value()}) {
        ::close(each);
    }
}

TEST(Pmi1, RefusesWhatPmiCannotCarryBeforeItIsSent)
{
    Line line;
    line.serve(greetings);
    auto opened = open(line);
    ASSERT_TRUE(opened);
    Boot& boot = *opened.value();
    EXPECT_FALSE(boot.put("", "v"));
    EXPECT_FALSE(boot.put("k", ""));
    EXPECT_FALSE(boot.put("k k", "v"));
    EXPECT_FALSE(boot.put("k=", "v"));
    EXPECT_FALSE(boot.put("k", "v\nw"));
    EXPECT_FALSE(boot.put(std::string(64, 'k'), "v"));
    const auto too_long = boot.put("k", std::string(1024, 'v'));
    ASSERT_FALSE(too_long);
    EXPECT_NE(too_long.sentence().find("1024"), std::string::npos) << too_long.sentence();
    EXPECT_FALSE(boot.get("k k"));
}

TEST(Pmi1, TakesAnswersByteByByte)
{
    Line line;
    std::thread server([&line] {
        for (const std::string& answer : greetings) {
            line.hear();
            for (const char byte : answer) {
                line.say(std::string(1, byte));
            }
        }
    });
    EXPECT_TRUE(open(line));
    server.join();
}

TEST(Pmi1, AServerThatHangsUpIsAFailure)
{
    Line line;
    std::thread server([&line] {
        line.hear();
        line.say("cmd=response_to");
        line.hang_up();
    });
    const auto boot = open(line);
    server.join();
    ASSERT_FALSE(boot);
    EXPECT_NE(boot.sentence().find("has closed"), std::string::npos) << boot.sentence();
}

TEST(Pmi1, AServerThatStopsInMidLineIsAFailure)
{
    Line line;
    line.say("cmd=response_to");
    const auto boot = open(line, "", 20ms);
    ASSERT_FALSE(boot);
    EXPECT_NE(boot.sentence().find("has not answered"), std::string::npos) << boot.sentence();
}

TEST(Pmi1, ABarrierWaitsLongerThanTheServersPatience)
{
    Line line;
    line.serve(greetings);
    auto opened = open(line, "", 20ms);
    ASSERT_TRUE(opened);
    static_cast<void>(line.heard());
    std::thread server([&line] {
        line.hear();
        // Several times the patience; the barrier owes no answer in time.
        std::this_thread::sleep_for(100ms);
        line.say("cmd=barrier_out\n");
    });
    EXPECT_TRUE(opened.value()->fence());
    server.join();
}

TEST(Pmi1, ABarrierThatBreaksOffInMidLineIsAFailure)
{
    Line line;
    line.serve(after_greetings({"cmd=barr"}));
    auto opened = open(line, "", 20ms);
    ASSERT_TRUE(opened);
    EXPECT_FALSE(opened.value()->fence());
}

TEST(Pmi1, ADescriptorThatIsNotOpenIsAFailure)
{
    Pmi1Address address;
    address.descriptor = 1000000;
    const auto boot = Pmi1Boot::open(address);
    ASSERT_FALSE(boot);
    EXPECT_NE(boot.sentence().find("not open"), std::string::npos) << boot.sentence();
}

TEST(Pmi1, AWriteToADeadPipeIsAFailureAndNoSignal)
{
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    ::close(ends[0]);
    Pmi1Connection connection(ends[1], 1000ms);
    EXPECT_FALSE(connection.send("cmd=init"));
}

TEST(Pmi1, AbortTellsOnlyItsOwnLauncherWhy)
{
    Line line;
    line.serve(greetings);
    auto opened = open(line, "kvs_1/2");
    ASSERT_TRUE(opened);
    static_cast<void>(line.heard());
    std::thread server([&line] {
        EXPECT_EQ(line.hear(), "cmd=abort exitcode=7 message=no good ");
        line.hang_up();
    });
    opened.value()->abort(7, "no\ngood\n");
    server.join();
}

}  // namespace
}  // namespace headway::boot

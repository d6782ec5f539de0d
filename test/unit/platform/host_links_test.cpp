// SPDX-License-Identifier: Apache-2.0
#include "platform/host_links.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace headway::platform {
namespace {

constexpr std::chrono::seconds patience(60);

std::string loopback()
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(7);  // of another socket; it does not matter
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return std::string(reinterpret_cast<const char*>(&address), sizeof address);
}

class HostLinksTest : public ::testing::Test {
  protected:
    HostLinksTest() : there(std::make_unique<HostLinks>(patience))
    {
        where = there->listen(loopback()).value();
        EXPECT_TRUE(here.listen(loopback()));
    }

    base::Outcome connect()
    {
        return here.connect({.where = where, .process = "rank 5", .host = "host 'b' (rank 5)"});
    }
    /// Sleeps until there is something to see, and looks.
    const HostLinks::Loss* look_when_called()
    {
        pollfd asked{here.descriptor(), POLLIN, 0};
        EXPECT_EQ(::poll(&asked, 1, 30'000), 1);
        here.alert();
        return here.look(0);
    }

    HostLinks here{patience};
    std::unique_ptr<HostLinks> there;
    std::string where;
};

TEST_F(HostLinksTest, WhoNeverAcceptsIsThere)
{
    ASSERT_TRUE(connect());
    EXPECT_EQ(look_when_called(), nullptr) << "the connection was made";
    here.alert();
    EXPECT_EQ(here.look(0), nullptr);
}

TEST_F(HostLinksTest, AProcessThatHasEndedIsLost)
{
    ASSERT_TRUE(connect());
    ASSERT_EQ(look_when_called(), nullptr);
    there.reset();
    const HostLinks::Loss* const loss = look_when_called();
    ASSERT_NE(loss, nullptr);
    EXPECT_TRUE(loss->has_ended);
    EXPECT_TRUE(loss->sentence.starts_with("rank 5 on host 'b' (rank 5) has ended in mid-job"))
        << loss->sentence;
    EXPECT_EQ(here.look(0), loss) << "it stays lost";
}

TEST_F(HostLinksTest, WhereNobodyListensNobodyIsReached)
{
    there.reset();
    const base::Outcome connected = connect();
    const std::string sentence = connected ? look_when_called()->sentence : connected.sentence();
    EXPECT_TRUE(sentence.starts_with("host 'b' (rank 5) cannot be reached at 127.0.0.1,"))
        << sentence;
}

TEST_F(HostLinksTest, ALookIsDueAfterAnAlertOrATime)
{
    ASSERT_TRUE(connect());
    ASSERT_EQ(look_when_called(), nullptr);
    there.reset();
    pollfd asked{here.descriptor(), POLLIN, 0};
    ASSERT_EQ(::poll(&asked, 1, 30'000), 1);
    EXPECT_FALSE(here.is_alerted());
    EXPECT_EQ(here.look(1), nullptr) << "it was looked just before";
    EXPECT_NE(here.look(1'000'000'000), nullptr);
}

TEST(HostLinks, OtherAddressesThanOfIpAreRefused)
{
    HostLinks links(patience);
    EXPECT_FALSE(links.listen(""));
    EXPECT_FALSE(links.listen(std::string(200, 'x')));
    EXPECT_FALSE(links.listen(std::string(16, '\0')));
}

TEST(HostLinks, WhereThatMakesNoSenseIsRefused)
{
    HostLinks links(patience);
    ASSERT_TRUE(links.listen(loopback()));
    for (const char* where :
         {"", "127.0.0.1", "127.0.0.1,", "127.0.0.1,x", "127.0.0.1,99999", "nowhere,80", ",80"}) {
        EXPECT_FALSE(links.connect({.where = where, .process = "rank 1", .host = "host 'c'"}))
            << where;
    }
}

}  // namespace
}  // namespace headway::platform

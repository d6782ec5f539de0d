// SPDX-License-Identifier: Apache-2.0
#include "platform/timer.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "platform/cpu.hpp"

namespace headway::platform {
namespace {

class Signal {
  public:
    Signal() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
    ~Signal() { ::close(descriptor_); }
    Signal(const Signal&) = delete;
    Signal& operator=(const Signal&) = delete;

    int descriptor() const { return descriptor_; }
    void raise() const
    {
        const std::uint64_t one = 1;
        ASSERT_EQ(::write(descriptor_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
    }

  private:
    int descriptor_;
};

TEST(TimerSleep, TellsADescriptorFromTheTimer)
{
    const Signal signal;
    TimerSleep sleep;
    ASSERT_TRUE(sleep.open());
    ASSERT_TRUE(sleep.listen(signal.descriptor()));
    sleep.set(Deadline::at_ns(0));
    EXPECT_FALSE(sleep.sleep()) << "nobody has raised the signal";
    signal.raise();
    EXPECT_TRUE(sleep.sleep());
}

TEST(TimerSleep, HearsOfADescriptorOnceForEachTimeItListens)
{
    const Signal signal;
    TimerSleep sleep;
    ASSERT_TRUE(sleep.open());
    signal.raise();
    ASSERT_TRUE(sleep.listen(signal.descriptor()));
    EXPECT_TRUE(sleep.sleep()) << "it could be read before";
    sleep.set(Deadline::at_ns(0));
    EXPECT_FALSE(sleep.sleep()) << "it still can, but nobody has listened again";
    ASSERT_TRUE(sleep.listen(signal.descriptor()));
    EXPECT_TRUE(sleep.sleep());
}

TEST(TimerSleep, AnAlarmIsHeardAgainWithEachNews)
{
    const Signal alarm;
    const Signal other;
    TimerSleep sleep;
    ASSERT_TRUE(sleep.open());
    ASSERT_TRUE(sleep.set_alarm(alarm.descriptor()));
    alarm.raise();
    EXPECT_FALSE(sleep.sleep()) << "an alarm is no call";
    EXPECT_TRUE(sleep.has_alarm());
    sleep.set(Deadline::at_ns(0));
    EXPECT_FALSE(sleep.sleep());
    EXPECT_FALSE(sleep.has_alarm()) << "nobody has read it, but nothing is new";
    alarm.raise();
    EXPECT_FALSE(sleep.sleep());
    EXPECT_TRUE(sleep.has_alarm());
    ASSERT_TRUE(sleep.listen(other.descriptor()));
    other.raise();
    EXPECT_TRUE(sleep.sleep());
    EXPECT_FALSE(sleep.has_alarm());
}

TEST(TimerSleep, HearsNothingOfWhatIsNoDescriptor)
{
    TimerSleep sleep;
    ASSERT_TRUE(sleep.open());
    EXPECT_FALSE(sleep.listen(-1));
}

}  // namespace
}  // namespace headway::platform

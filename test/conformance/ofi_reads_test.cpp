// SPDX-License-Identifier: Apache-2.0
//
// Reads both ways between two processes: what one asks for does not wait until the other one has
// got all that it has asked for.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "conformance/ofi_link.hpp"

namespace headway::transport {
namespace {

/// More than the system keeps in sockets between two processes.
constexpr std::size_t long_bytes = std::size_t{128} << 20;
constexpr std::size_t short_bytes = 4096;

/// Memory of a port's process that others read; hidden again in the end.
class Readable {
  public:
    Readable(Port& port, std::size_t bytes) : port_(port), memory_(bytes, std::byte{7})
    {
        exposed_ = port.expose(memory_.data(), bytes, &exposure);
    }
    ~Readable() { port_.conceal(exposed_); }
    Readable(const Readable&) = delete;
    Readable& operator=(const Readable&) = delete;

    Exposure exposure;

  private:
    Port& port_;
    std::vector<std::byte> memory_;
    void* exposed_ = nullptr;
};

class OfiReadsTest : public OfiTransferTest {
  protected:
    void SetUp() override
    {
        link.open(GetParam());
        if (!link.why_not().empty()) {
            GTEST_SKIP() << link.why_not();
        }
        // Connections are made.
        const Readable first(link.port(0), short_bytes);
        const Readable second(link.port(1), short_bytes);
        std::vector<std::byte> target(short_bytes);
        for (const std::uint32_t rank : {0U, 1U}) {
            read(rank, rank == 0 ? second : first, target);
            await([&] { return has_read(rank); });
        }
    }

    void TearDown() override
    {
        EXPECT_EQ(frames_[0], 0);
        EXPECT_EQ(frames_[1], 0);
    }

    /// `rank` reads all that there is room for in `target`.
    void read(std::uint32_t rank, const Readable& from, std::vector<std::byte>& target)
    {
        await([&] {
            return link.port(rank).read(1 - rank, from.exposure, 0, target.data(), target.size(),
                                        nullptr, 1) == base::Status::done;
        });
    }
    bool has_read(std::uint32_t rank)
    {
        std::uint64_t cookie = 0;
        return link.port(rank).poll_transfer(cookie);
    }
};

TEST_P(OfiReadsTest, AShortOneOvertakesALongOneOfTheOtherWay)
{
    const Readable of_first(link.port(0), long_bytes);
    const Readable of_second(link.port(1), short_bytes);
    std::vector<std::byte> long_target(long_bytes);
    std::vector<std::byte> short_target(short_bytes);
    read(1, of_first, long_target);
    // The first one gives what the second one has asked for, as much as sockets take, before it
    // asks for something itself.
    for (int looks = 0; looks < 100; ++looks) {
        look(0);
    }
    read(0, of_second, short_target);
    bool is_long_there = false;
    await([&] {
        is_long_there = is_long_there || has_read(1);
        return has_read(0);
    });
    EXPECT_FALSE(is_long_there);
    EXPECT_EQ(short_target, std::vector<std::byte>(short_bytes, std::byte{7}));
    await([&] { return is_long_there || has_read(1); });
    EXPECT_EQ(long_target, std::vector<std::byte>(long_bytes, std::byte{7}));
}

INSTANTIATE_TEST_SUITE_P(Providers, OfiReadsTest, ::testing::Values("net"), &name_of_provider);

}  // namespace
}  // namespace headway::transport

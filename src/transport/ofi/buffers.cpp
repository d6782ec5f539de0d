// SPDX-License-Identifier: Apache-2.0
#include "transport/ofi/buffers.hpp"

#include <utility>

namespace headway::transport::ofi {

namespace {

// Keys where the provider does not choose them.
constexpr std::uint64_t send_key = 1;
constexpr std::uint64_t receive_key = 2;

// With several frames a block, few large ones: a block that is nearly full is given back when the
// longest frame may not fit any more, and the others go on.
constexpr std::size_t large_blocks = 8;
constexpr std::size_t large_block_bytes = 128 * 1024;
constexpr std::size_t single_blocks = 128;

}  // namespace

base::Outcome SendSlots::open(const Fabric& fabric, std::size_t slot_bytes)
{
    memory_.resize(count * slot_bytes);
    auto region = Region::open(fabric, memory_.data(), memory_.size(), FI_SEND, send_key);
    if (!region) {
        return base::Failure{region.sentence()};
    }
    region_ = std::move(region.value());
    slots_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        slots_[i].bytes = memory_.data() + i * slot_bytes;
        slots_[i].next_free = free_;
        free_ = &slots_[i];
    }
    return base::Done{};
}

base::Outcome ReceiveBlocks::open(const Fabric& fabric, std::size_t frame_bytes)
{
    fabric_ = &fabric;
    takes_several_ = (fabric.info->caps & FI_MULTI_RECV) != 0;
    block_bytes_ = takes_several_ ? large_block_bytes : frame_bytes;
    const std::size_t count = takes_several_ ? large_blocks : single_blocks;
    if (takes_several_) {
        std::size_t least = frame_bytes;
        const int code = fi_setopt(&fabric.endpoint->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
                                   &least, sizeof least);
        if (code != 0) {
            return describe_failure("fi_setopt", code);
        }
    }
    memory_.resize(count * block_bytes_);
    auto region = Region::open(fabric, memory_.data(), memory_.size(), FI_RECV, receive_key);
    if (!region) {
        return base::Failure{region.sentence()};
    }
    region_ = std::move(region.value());
    blocks_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        blocks_[i].kind = Target::Kind::receive;
        blocks_[i].bytes = memory_.data() + i * block_bytes_;
        if (const long code = post(blocks_[i]); code != 0) {
            return describe_failure("fi_recv", code);
        }
    }
    return base::Done{};
}

long ReceiveBlocks::post(ReceiveBlock& block) noexcept
{
    iovec bytes{block.bytes, block_bytes_};
    void* descriptor = region_.descriptor();
    fi_msg message{};
    message.msg_iov = &bytes;
    message.desc = &descriptor;
    message.iov_count = 1;
    message.addr = FI_ADDR_UNSPEC;
    message.context = &block.context;
    return fi_recvmsg(fabric_->endpoint.get(), &message, takes_several_ ? FI_MULTI_RECV : 0);
}

}  // namespace headway::transport::ofi

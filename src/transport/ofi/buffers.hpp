// SPDX-License-Identifier: Apache-2.0
//
// Memory that frames leave from and arrive in. Registered once; frames are copied in and out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "transport/ofi/fabric.hpp"

namespace headway::transport::ofi {

/// Keys below are those of the buffers here, where the provider does not choose keys itself.
inline constexpr std::uint64_t first_free_key = 16;

/// What a completion leads back to: the provider's context, which comes first.
struct Target {
    fi_context2 context{};
    enum class Kind : std::uint8_t {
        send,     ///< a SendSlot
        receive,  ///< a ReceiveBlock
        // TransferSlots:
        read,
        push,
        take,   ///< of a push, to where its receiver wants it
        drain,  ///< likewise, into memory of the port
    } kind = Kind::send;
};

class OfiPort;

/// A packet on its way out: frames of one rank to another one, each at a multiple of
/// `frame_alignment` in it.
struct SendSlot : Target {
    std::byte* bytes = nullptr;
    std::size_t used = 0;     ///< bytes of frames in it
    OfiPort* port = nullptr;  ///< who sends it
    std::uint32_t rank = 0;   ///< whom it is for
    SendSlot* next_free = nullptr;
};

class SendSlots {
  public:
    static constexpr std::size_t count = 64;

    base::Outcome open(const Fabric& fabric, std::size_t slot_bytes);
    /// Null: all are on their way.
    SendSlot* acquire() noexcept
    {
        SendSlot* const slot = free_;
        if (slot != nullptr) {
            free_ = slot->next_free;
        }
        return slot;
    }
    void release(SendSlot* slot) noexcept
    {
        slot->next_free = free_;
        free_ = slot;
    }
    void* descriptor() const noexcept { return region_.descriptor(); }

  private:
    std::vector<std::byte> memory_;
    std::vector<SendSlot> slots_;
    Region region_;
    SendSlot* free_ = nullptr;
};

/// Bytes of a long message on their way without frames.
struct TransferSlot : Target {
    std::size_t bytes = 0;
    OfiPort* port = nullptr;  ///< whose transfer it is
    std::uint32_t rank = 0;   ///< the other end
    std::uint64_t cookie = 0;
    std::uint64_t number = 0;  ///< of a push
};

/// Memory that the provider fills with frames from its beginning on, one after the other where it
/// can (FI_MULTI_RECV), else with one.
struct ReceiveBlock : Target {
    std::byte* bytes = nullptr;
    std::uint32_t pins = 0;  ///< frames in it that ports look at
    bool is_spent = false;   ///< nothing more comes in it
};

class ReceiveBlocks {
  public:
    /// Posts all of them.
    base::Outcome open(const Fabric& fabric, std::size_t frame_bytes);
    /// Gives a block back to the provider; 0 or a negative errno of libfabric.
    long post(ReceiveBlock& block) noexcept;

  private:
    const Fabric* fabric_ = nullptr;
    bool takes_several_ = false;
    std::size_t block_bytes_ = 0;
    std::vector<std::byte> memory_;
    std::vector<ReceiveBlock> blocks_;
    Region region_;
};

}  // namespace headway::transport::ofi

// SPDX-License-Identifier: Apache-2.0
//
// Frames to ranks of other nodes over libfabric: one endpoint a process. Each pair of ranks has a
// window of bytes that the receiver has not taken; what it has taken comes back with its own
// frames, or alone when a quarter of the window is due.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/network.hpp"
#include "transport/ofi/buffers.hpp"
#include "transport/ofi/fabric.hpp"
#include "transport/ofi/wire.hpp"

namespace headway::transport::ofi {

class OfiNetwork final : public Network {
  public:
    static base::Result<std::unique_ptr<OfiNetwork>> open(const NetworkOptions& options);

    const std::string& address() const noexcept override { return address_; }
    const std::string& socket_address() const noexcept override { return socket_address_; }
    const std::string& description() const noexcept override { return description_; }
    void join_job(const base::Secret& secret) noexcept override;
    base::Outcome introduce(std::uint32_t rank, std::string_view address,
                            std::string_view host) override;
    bool knows(std::uint32_t rank) const noexcept override
    {
        return peers_[rank] != nullptr && peers_[rank]->is_known;
    }

    std::size_t frame_bytes_max() const noexcept override { return payload_bytes_max_; }
    base::Status post(std::uint32_t rank, FrameKind kind, const FrameHeader& header,
                      const void* payload, std::size_t payload_bytes) noexcept override;
    bool poll(Frame& frame, std::uint32_t& sender) noexcept override;
    void release() noexcept override;

    bool can_read() const noexcept override { return (fabric_.info->caps & FI_RMA) != 0; }
    void* expose(const void* address, std::size_t bytes, Exposure* exposure) noexcept override;
    void conceal(void* exposed) noexcept override;
    bool prepare_target(void* address, std::size_t bytes, void** target) noexcept override;
    void release_target(void* target) noexcept override;
    base::Status read(std::uint32_t rank, const Exposure& exposure, std::uint64_t offset,
                      void* address, std::size_t bytes, void* target,
                      std::uint64_t cookie) noexcept override;
    bool poll_read(std::uint64_t& cookie) noexcept override;

    bool takes_eager(std::uint32_t rank) const noexcept override
    {
        return peers_[rank] == nullptr || peers_[rank]->takes_eager;
    }
    void announce_full(bool is_full) noexcept override;

    bool has_unsent() const noexcept override { return slots_.are_in_use() || !owing_.empty(); }
    bool has_unconnected() const noexcept override { return unconnected_ != 0; }
    int descriptor() const noexcept override { return descriptor_; }
    bool prepare_sleep() noexcept override;
    const std::string& failure() const noexcept override { return failure_; }

  private:
    struct Peer {
        std::uint32_t rank = 0;
        fi_addr_t address = FI_ADDR_UNSPEC;
        std::string name;  ///< for sentences
        bool is_known = false;
        bool takes_eager = true;
        bool is_owed = false;  ///< in owing_
        bool is_unconnected = false;
        // Bytes of frames since the start, headers included.
        std::uint64_t sent = 0;
        std::uint64_t acknowledged = 0;  ///< of those, taken by the peer
        std::uint64_t taken = 0;         ///< of the peer's frames, by us
        std::uint64_t told = 0;          ///< of those, the peer knows
        std::uint32_t frames_sent = 0;
        std::uint32_t frames_received = 0;
    };
    /// A frame that was polled and not released yet.
    struct Current {
        Frame frame;
        Peer* peer = nullptr;
        ReceiveBlock* spent_block = nullptr;  ///< nothing more comes in it
    };

    OfiNetwork(Fabric fabric, const NetworkOptions& options);

    base::Outcome prepare();
    Peer& peer_of(std::uint32_t rank);
    base::Status transmit(Peer& peer, FrameKind kind, const FrameHeader& header,
                          const void* payload, std::size_t payload_bytes) noexcept;
    void note(Peer& peer, bool is_unconnected) noexcept;
    void end_read(ReadSlot& slot) noexcept;
    void owe(Peer& peer) noexcept;
    void pay() noexcept;
    bool read_completions() noexcept;
    void read_error() noexcept;
    void lose_arrival(ReceiveBlock* block, std::uint64_t flags, const std::string& why) noexcept;
    bool take_completion(const fi_cq_data_entry& entry) noexcept;
    bool take_arrival(ReceiveBlock& block, const fi_cq_data_entry& entry) noexcept;
    enum class Order : std::uint8_t { next, past, broken };
    Order place(const WireHeader& header) const noexcept;
    void accept(const WireHeader& header) noexcept;
    void give_back(ReceiveBlock* block) noexcept;
    void fail(std::string sentence) noexcept;
    std::string describe(std::uint32_t rank) const;

    Fabric fabric_;
    Judge judge_;
    const std::uint64_t window_bytes_;
    const bool are_hosts_watched_;
    std::size_t payload_bytes_max_ = 0;
    std::string address_;
    std::string socket_address_;
    std::string description_;
    std::string failure_;
    int descriptor_ = -1;
    bool is_full_ = false;

    std::vector<std::unique_ptr<Peer>> peers_;  ///< by rank; made with the first contact
    std::vector<Peer*> owing_;                  ///< who is to be told what was taken
    std::uint32_t unconnected_ = 0;             ///< peers that are
    SendSlots slots_;
    ReceiveBlocks blocks_;

    static constexpr std::size_t batch = 16;
    std::vector<std::unique_ptr<ReadSlot>> reads_;  ///< made when first needed
    std::vector<ReadSlot*> reads_free_;
    std::vector<std::uint64_t> reads_ended_;
    std::uint64_t next_key() noexcept;
    std::uint64_t keys_used_ = 0;

    std::array<fi_cq_data_entry, batch> events_{};
    std::size_t next_event_ = 0;
    std::size_t event_count_ = 0;
    Current current_;
};

}  // namespace headway::transport::ofi

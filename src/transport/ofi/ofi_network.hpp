// SPDX-License-Identifier: Apache-2.0
//
// Frames to ranks of other nodes over libfabric: one endpoint a process, and a port on it for each
// of its ranks. Threads of several ranks use the endpoint in turns, under one lock, since libfabric
// is asked for no more (FI_THREAD_DOMAIN); in a process of one rank nobody but its watch contends
// for it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "transport/network.hpp"
#include "transport/ofi/buffers.hpp"
#include "transport/ofi/fabric.hpp"
#include "transport/ofi/ofi_port.hpp"
#include "transport/ofi/regions.hpp"
#include "transport/ofi/wire.hpp"

namespace headway::transport::ofi {

/// Where frames for a rank go.
struct Destination {
    // Of its process, which other ranks may share.
    fi_addr_t address = FI_ADDR_UNSPEC;
    /// Of its pusher; unspecified: nothing is pushed there.
    fi_addr_t push_address = FI_ADDR_UNSPEC;
    std::string name;  ///< for sentences
};

class OfiNetwork final : public Network {
  public:
    static base::Result<std::unique_ptr<OfiNetwork>> open(const NetworkOptions& options);

    const std::string& address() const noexcept override { return address_; }
    const std::string& socket_address() const noexcept override { return socket_address_; }
    const std::string& description() const noexcept override { return description_; }
    void join_job(const base::Secret& secret) noexcept override;
    base::Outcome introduce(std::uint32_t rank, std::string_view address,
                            std::string_view host) override;
    bool knows(std::uint32_t rank) const noexcept override;

    std::size_t frame_bytes_max() const noexcept override { return payload_bytes_max_; }
    bool can_read() const noexcept override { return (fabric_.info->caps & FI_RMA) != 0; }
    Port& port(std::uint32_t rank) noexcept override { return port_of(rank); }

    int descriptor() const noexcept override { return descriptor_; }
    Delivery deliver(std::vector<std::uint32_t>& called) noexcept override;
    bool send_held(std::vector<std::uint32_t>& called) noexcept override;
    void declare_lasting(const void* address, std::uint64_t bytes) noexcept override;
    RegionCounts region_counts() const noexcept override;
    const std::string& failure() const noexcept override;

  private:
    friend class OfiPort;

    OfiNetwork(Fabric fabric, const NetworkOptions& options);

    base::Outcome prepare();
    void open_regions(const NetworkOptions& options);
    fi_addr_t insert_address(std::string_view hex) noexcept;
    OfiPort& port_of(std::uint32_t rank) noexcept { return *ports_[rank - judge_.own_rank]; }
    /// Whoever looks, and where he finds whom to ring.
    struct Look {
        OfiPort* port = nullptr;  ///< null: the watch
        std::vector<std::uint32_t>* called = nullptr;
    };
    /// Whether long messages may leave before they are asked for. A stream that waits for one rank
    /// of a process would keep others of it waiting.
    bool pushes() const noexcept
    {
        return push_bytes_max_ != 0 && fabric_.pusher != nullptr && ports_.size() == 1 &&
               !fabric_.has_mode(FI_MR_LOCAL);
    }
    // All below: under the lock.
    bool look_for(OfiPort& port) noexcept;
    bool settle(OfiPort& port) noexcept;
    bool take_events(const Look& look) noexcept;
    bool take_in(const Look& look) noexcept;
    void count_sleeping(std::int32_t change) noexcept;
    void end_sleep(OfiPort& port) noexcept;
    void call(OfiPort& port, const Look& look) noexcept;
    void make_room(const Look& look) noexcept;
    bool read_completions(const Look& look) noexcept;
    void read_error(const Look& look) noexcept;
    void lose_arrival(ReceiveBlock* block, std::uint64_t flags, const std::string& why) noexcept;
    void lose_transfer(const TransferSlot& slot, const std::string& why) noexcept;
    void fail_push(std::uint32_t rank) noexcept;
    bool take_completion(const fi_cq_data_entry& entry, const Look& look) noexcept;
    bool take_arrival(ReceiveBlock& block, const fi_cq_data_entry& entry,
                      const Look& look) noexcept;
    bool take_packet(const Look& look) noexcept;
    bool take_frame(const std::byte* bytes, const WireHeader& header, Verdict verdict,
                    const Look& look) noexcept;
    bool hand_over(OfiPort::Letter letter, OfiPort& port, const Look& look) noexcept;
    void end_send(SendSlot& slot, const Look& look) noexcept;
    void unpin(ReceiveBlock& block) noexcept;
    void give_back(ReceiveBlock& block) noexcept;
    int clear_descriptor() noexcept;
    void fail(std::string sentence) noexcept;
    std::string describe(std::uint32_t rank) const;

    Fabric fabric_;
    Judge judge_;
    const std::uint64_t window_bytes_;
    const std::uint64_t push_bytes_max_;
    const bool are_hosts_watched_;
    const bool may_hold_;
    std::size_t packet_bytes_max_ = 0;
    std::size_t payload_bytes_max_ = 0;
    std::string address_;
    std::string socket_address_;
    std::string description_;
    int descriptor_ = -1;

    mutable std::mutex lock_;  ///< of all below, and of the ports
    std::vector<std::unique_ptr<OfiPort>> ports_;
    std::map<std::string, Destination, std::less<>>
        processes_;  ///< by what they say their address is; without names
    std::unordered_map<std::uint32_t, Destination> destinations_;  ///< by rank
    SendSlots slots_;
    ReceiveBlocks blocks_;
    RegionRegistrar registrar_{fabric_, judge_.secret};
    std::unique_ptr<platform::MemoryWatch> memory_watch_;  ///< null: no memory is kept registered
    std::unique_ptr<RegistrationCache> regions_;
    std::atomic<std::uint32_t> sleeping_{0};  ///< ports that want to be called; read without, too
    std::uint32_t wanting_ = 0;               ///< ports that want room
    /// Of ports, since the last delivery or prepare_absence(). A hint, which the watch resets.
    std::atomic<std::uint32_t> looks_{0};
    std::string failure_;
    const std::string no_failure_;
    std::atomic<bool> has_failed_{false};  ///< failure_ changes no more

    /// What has not been dealt with of a packet; it pins the block.
    struct Packet {
        ReceiveBlock* block = nullptr;
        const std::byte* next = nullptr;
        std::size_t bytes = 0;
    };
    Packet packet_;

    static constexpr std::size_t batch = 16;
    std::array<fi_cq_data_entry, batch> events_{};
    std::size_t next_event_ = 0;
    std::size_t event_count_ = 0;
};

}  // namespace headway::transport::ofi

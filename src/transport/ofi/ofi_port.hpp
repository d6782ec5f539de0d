// SPDX-License-Identifier: Apache-2.0
//
// A rank's end of the process's endpoint. Each pair of ranks has a window of bytes that the
// receiver has not taken; what it has taken comes back with its own frames, or alone when a quarter
// of the window is due.
//
// Everything here is under the network's lock but what is marked as the owner's: the holder of the
// rank's ownership word.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "transport/network.hpp"
#include "transport/ofi/buffers.hpp"
#include "transport/ofi/wire.hpp"

namespace headway::transport::ofi {

class OfiNetwork;
struct Destination;

class OfiPort final : public Port {
  public:
    OfiPort(OfiNetwork& network, std::uint32_t rank) : network_(network), rank_(rank) {}

    base::Status post(std::uint32_t rank, FrameKind kind, const FrameHeader& header,
                      const void* payload, std::size_t payload_bytes) noexcept override;
    bool poll(Frame& frame, std::uint32_t& sender) noexcept override;
    bool poll_next(Frame& frame, std::uint32_t& sender) noexcept override;
    void release() noexcept override;
    bool is_from_stranger() const noexcept override
    {
        return current_.peer->destination == nullptr;
    }
    bool poll_called(std::uint32_t& rank) noexcept override;

    void* expose(const void* address, std::size_t bytes, Exposure* exposure) noexcept override;
    void conceal(void* exposed) noexcept override;
    bool prepare_target(void* address, std::size_t bytes, void** target) noexcept override;
    void release_target(void* target) noexcept override;
    base::Status read(std::uint32_t rank, const Exposure& exposure, std::uint64_t offset,
                      void* address, std::size_t bytes, void* target,
                      std::uint64_t cookie) noexcept override;

    std::uint64_t reserve_push(std::uint32_t rank, std::size_t bytes) noexcept override;
    base::Status push(const Pushed& to, const void* address,
                      std::uint64_t cookie) noexcept override;
    void leave_pushed(const Pushed& what) noexcept override;
    base::Status take_pushed(const Pushed& what, void* address, std::size_t bytes,
                             std::uint64_t cookie) noexcept override;
    bool poll_transfer(std::uint64_t& cookie) noexcept override;

    bool takes_eager(std::uint32_t rank) noexcept override;
    void announce_full(bool is_full) noexcept override;

    bool has_unsent() const noexcept override
    {
        // Relaxed: the owner's own posts count up, and whoever counts down does so for him.
        return in_flight_.load(std::memory_order_relaxed) != 0 || !owing_.empty();
    }
    bool has_held() const noexcept override
    {
        // Relaxed: the owner's own posts count up, and who sends for him sees to the frames.
        return held_count_.load(std::memory_order_relaxed) != 0;
    }
    std::uint64_t bytes_under_way() const noexcept override
    {
        // Relaxed: a hint.
        return bytes_under_way_.load(std::memory_order_relaxed);
    }
    bool settle() noexcept override;
    bool has_unconnected() const noexcept override { return unconnected_ != 0; }
    bool prepare_sleep() noexcept override;
    bool prepare_absence() noexcept override;

  private:
    friend class OfiNetwork;

    /// What was pushed to this rank, and is not where its receiver wants it: there is no receive
    /// yet, or one that does not take all of it.
    struct Waiting {
        std::uint64_t bytes = 0;
        std::unique_ptr<std::byte[]> memory;  ///< null: it is still on its way
        bool is_here = false;                 ///< in `memory`
        // Of its receive, once there is one.
        bool is_wanted = false;
        void* target = nullptr;
        std::size_t target_bytes = 0;
        std::uint64_t cookie = 0;
    };
    /// What lies between this rank and another one.
    struct Peer {
        std::uint32_t rank = 0;
        const Destination* destination = nullptr;  ///< null: perhaps not introduced yet; owner's
        bool takes_eager = true;
        bool is_owed = false;                 ///< in owing_
        bool is_unconnected = false;          ///< for frames
        bool are_reads_unconnected = false;   ///< they have a connection of their own
        bool are_pushes_unconnected = false;  ///< likewise
        // Bytes of frames since the start, headers included.
        std::uint64_t sent = 0;
        std::uint64_t acknowledged = 0;  ///< of those, taken by the peer
        std::uint64_t taken = 0;         ///< of the peer's frames, by us
        std::uint64_t told = 0;          ///< of those, the peer knows
        // The same of pushes.
        std::uint64_t pushed = 0;
        std::uint64_t pushes_acknowledged = 0;
        std::uint64_t pushes_taken = 0;
        std::uint64_t pushes_told = 0;
        std::uint64_t pushes_reserved = 0;  ///< numbers up to this one
        std::uint64_t pushes_begun = 0;     ///< likewise
        std::uint64_t latest_taken = 0;  ///< highest number of a push of the peer that had a place
        std::map<std::uint64_t, Waiting> waiting;  ///< pushes of the peer, by number
        std::uint32_t frames_sent = 0;
        std::uint32_t frames_received = 0;
        SendSlot* held = nullptr;  ///< frames that wait for others; the peer is in held_
        // The newest frame that might have been held.
        std::int64_t posted_ns = 0;
        std::uint32_t posted_turn = 0;  ///< turn_ then
        std::uint32_t burst = 0;        ///< such frames before it, one soon after the other
    };
    /// A frame that was polled and not released yet, or one that waits to be polled.
    struct Letter {
        Frame frame;
        Peer* peer = nullptr;
        ReceiveBlock* block = nullptr;       ///< where it lies; or
        std::unique_ptr<std::byte[]> bytes;  ///< where it was put
    };

    Peer* find_peer(std::uint32_t rank) noexcept;
    Peer& peer_of(std::uint32_t rank);
    Peer* introduced_peer_of(std::uint32_t rank);
    void let_go() noexcept;
    base::Status transmit(Peer& peer, FrameKind kind, const FrameHeader& header,
                          const void* payload, std::size_t payload_bytes) noexcept;
    bool may_hold(Peer& peer, FrameKind kind, std::size_t payload_bytes) noexcept;
    void hold(Peer& peer, SendSlot* slot);
    base::Status send_off(Peer& peer, SendSlot& slot) noexcept;
    base::Status send_held_of(Peer& peer) noexcept;
    bool send_held() noexcept;
    base::Status refuse(base::Status why) noexcept;
    void note(bool& was_unconnected, bool is_unconnected) noexcept;
    void owe(Peer& peer) noexcept;
    void pay() noexcept;
    void begin_look() noexcept;
    bool has_news() const noexcept;
    void leave_nothing() noexcept;
    void fall_asleep() noexcept;
    bool take_letter() noexcept;

    enum class Order : std::uint8_t { next, past, broken };
    Order place(const WireHeader& header) noexcept;
    Peer& accept(const WireHeader& header) noexcept;

    /// What ended with a transfer; taken note of by the owner.
    struct Ended {
        std::uint64_t cookie = 0;
        Peer* pusher = nullptr;  ///< null: nothing of a peer's pushes was taken
        std::uint64_t bytes = 0;
    };
    struct TransferName {
        Target::Kind kind = Target::Kind::read;
        std::uint32_t rank = 0;
        std::size_t bytes = 0;
        std::uint64_t cookie = 0;
        std::uint64_t number = 0;
    };
    TransferSlot& next_transfer(const TransferName& name);
    void begin_transfer(TransferSlot& slot) noexcept;
    void end_transfer(TransferSlot& slot) noexcept;
    std::uint64_t tag_of(std::uint32_t sender, std::uint32_t receiver,
                         std::uint64_t number) const noexcept;
    base::Status receive_pushed(const TransferName& name, void* address) noexcept;
    void drain(Peer& peer, std::uint64_t number, Waiting& what) noexcept;
    void drain_before(Peer& peer, std::uint64_t number) noexcept;
    void hand_out(Peer& peer, std::uint64_t number) noexcept;

    OfiNetwork& network_;
    const std::uint32_t rank_;

    std::unordered_map<std::uint32_t, Peer> peers_;  ///< by rank; made with the first contact
    Peer* latest_peer_ = nullptr;                    ///< that was looked for; null: none yet
    std::vector<Peer*> owing_;                       ///< who is to be told what was taken: owner's
    std::vector<Peer*> held_;                        ///< whose frames are held
    std::atomic<std::uint32_t> held_count_{0};       ///< of held_; changed under the lock
    std::uint32_t turn_ = 0;                         ///< looks of the owner
    bool is_left_ = false;                           ///< frames left while nobody looked for it
    std::uint32_t unconnected_ = 0;                  ///< ways to peers that are: owner's
    std::atomic<std::uint32_t> in_flight_{0};        ///< packets; changed under the lock
    std::deque<Letter> letters_;                     ///< that others have taken in
    Letter current_;                                 ///< owner's
    bool is_full_ = false;                           ///< owner's

    std::vector<std::uint32_t> called_;  ///< by looks of this port: owner's
    bool is_called_ = false;             ///< something was taken in for it, by others
    bool sleeps_ = false;                ///< and wants to be called
    bool wants_room_ = false;            ///< a frame or a read was refused

    std::atomic<std::uint64_t> bytes_under_way_{0};         ///< changed under the lock
    std::vector<std::unique_ptr<TransferSlot>> transfers_;  ///< made when first needed
    std::vector<TransferSlot*> transfers_free_;
    std::vector<Ended> transfers_ended_;
    std::uint32_t reads_under_way_ = 0;
    std::uint32_t pushes_under_way_ = 0;
};

}  // namespace headway::transport::ofi

// SPDX-License-Identifier: Apache-2.0
//
// A process's way to ranks of other nodes. What implements it is a module beside the library
// (src/transport/ofi), opened when a second node appears.
//
// One network serves all ranks of the process; each has a port of its own, which keeps what lies
// between it and other ranks. Whoever polls takes in what has come for any of them: what is for
// another one waits at that one's port, and the poller is told whom to ring.
//
// Ranks are named by their numbers in the job. All state is private to the process. Thread rules:
// of a port, the holder of the ownership word of its rank, one at a time; of a network, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/secret.hpp"
#include "base/status.hpp"
#include "transport/frame.hpp"

namespace headway::transport {

struct NetworkOptions {
    std::uint32_t own_rank = 0;    ///< the first of this process
    std::uint32_t own_count = 1;   ///< ranks of this process, neighbours
    std::uint32_t rank_count = 0;  ///< of the job
    /// Most bytes of frames to one rank that it has not taken yet.
    std::uint64_t window_bytes = std::uint64_t{1} << 20;
    /// Most bytes of pushes to one rank that it has not received yet; 0: nothing is pushed.
    std::uint64_t push_bytes_max = 0;
    std::string provider;  ///< name of a libfabric provider; empty: the best there is
    /// Others find out what has become of hosts, so a frame that was lost on its way in is nobody's
    /// end: anybody may have begun to send it.
    bool are_hosts_watched = false;
    /// Short frames of a burst may wait for those behind them: see Port::has_held().
    bool may_hold = false;
    std::string interface;  ///< name of a network interface; empty: the first that leaves the node
    /// Registered memory of long messages that is kept while nobody uses it, where the provider has
    /// to know memory: regions (0: none), and bytes of them.
    std::uint64_t regions_kept_max = 0;
    std::uint64_t region_bytes_max = 0;
    /// All memory is registered as hardware would want it, whatever the provider asks for.
    bool registers_all = false;
};

/// What has become of memory of long messages, since the network was opened.
struct RegionCounts {
    std::uint64_t hits = 0;           ///< was registered already
    std::uint64_t misses = 0;         ///< had to be registered
    std::uint64_t evictions = 0;      ///< unused regions that made room for others
    std::uint64_t invalidations = 0;  ///< regions of memory that has changed
};

/// Memory of a process as ranks of other nodes name it.
struct Exposure {
    static constexpr std::uint64_t no_key = UINT64_MAX;

    std::uint64_t address = 0;
    std::uint64_t key = no_key;
};

/// Bytes that a rank has pushed, as their receiver names them.
struct Pushed {
    std::uint32_t rank = 0;
    std::uint64_t number = 0;  ///< among the pushes of that rank to this one, from 1 on
    std::uint64_t bytes = 0;
};

/// A rank's end of the network.
class Port {
  public:
    Port() = default;
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;
    virtual ~Port() = default;

    /// As the concept of transport.hpp: done, retry_lane_full (the window, or the provider has no
    /// room, or the rank takes no eager messages and this is one), retry_not_connected,
    /// retry_unknown (the rank has to be introduced first); or failed, see Network::failure().
    virtual base::Status post(std::uint32_t rank, FrameKind kind, const FrameHeader& header,
                              const void* payload, std::size_t payload_bytes) noexcept = 0;
    /// The oldest unreleased frame of some rank, or false; also what moves everything else. False
    /// too while another thread looks: it takes in what is for this port, and has it called.
    virtual bool poll(Frame& frame, std::uint32_t& sender) noexcept = 0;
    /// release(), and the same among what polls have brought in already, which asks the system for
    /// nothing. After a poll() that found something, until it is false: what waits here may be for
    /// other ranks.
    virtual bool poll_next(Frame& frame, std::uint32_t& sender) noexcept = 0;
    /// Gives back the frame of the last successful poll, exactly once.
    virtual void release() noexcept = 0;
    /// Whether nothing has been posted to the sender of the last frame polled, nor a frame of his
    /// been released, since he was introduced: perhaps he has not been.
    virtual bool is_from_stranger() const noexcept = 0;
    /// Another rank of this process for which polls here have taken something in: the caller has
    /// to ring it. False: there is none any more.
    virtual bool poll_called(std::uint32_t& rank) noexcept = 0;

    /// Lets others read `bytes` bytes at `address` until conceal() of what this returns. Null: the
    /// provider refuses, and the bytes have to go in frames.
    virtual void* expose(const void* address, std::size_t bytes, Exposure* exposure) noexcept = 0;
    virtual void conceal(void* exposed) noexcept = 0;
    /// Before the first read into `bytes` bytes at `address`, and release_target() of what this
    /// returns after the last one; it may be null. False: the provider refuses.
    virtual bool prepare_target(void* address, std::size_t bytes, void** target) noexcept = 0;
    virtual void release_target(void* target) noexcept = 0;
    /// Starts reading `bytes` bytes from `offset` on. done: poll_transfer() will answer `cookie`;
    /// retry_*, failed: as post().
    virtual base::Status read(std::uint32_t rank, const Exposure& exposure, std::uint64_t offset,
                              void* address, std::size_t bytes, void* target,
                              std::uint64_t cookie) noexcept = 0;

    /// The number of a push of `bytes` bytes to `rank`, to be begun after those with lower numbers;
    /// or 0: too much that it has not received is on its way, or nothing is pushed to it, or it has
    /// to be introduced first. The receiver learns the number, and the bytes, from a frame.
    virtual std::uint64_t reserve_push(std::uint32_t rank, std::size_t bytes) noexcept = 0;
    /// Starts sending the bytes at `address` to `to.rank`, which need not have said where they go:
    /// until it does they wait on the way, and later pushes behind them. done: poll_transfer() will
    /// answer `cookie` when the memory is the caller's again; retry_*, failed: as post().
    virtual base::Status push(const Pushed& to, const void* address,
                              std::uint64_t cookie) noexcept = 0;
    /// What was pushed here, and nobody has a place for yet: if it keeps a later push from coming
    /// in it is taken into memory of the port, until take_pushed(). Once for each number; what does
    /// not go with what has come makes the network fail, here and there.
    virtual void leave_pushed(const Pushed& what) noexcept = 0;
    /// Takes what was pushed here to `address`, the first `bytes` bytes of it. done:
    /// poll_transfer() will answer `cookie`; retry_*, failed: as post().
    virtual base::Status take_pushed(const Pushed& what, void* address, std::size_t bytes,
                                     std::uint64_t cookie) noexcept = 0;

    /// A read, a push, or the taking of one that has ended, found by a poll() before. False: there
    /// is none.
    virtual bool poll_transfer(std::uint64_t& cookie) noexcept = 0;

    /// Whether `rank` takes eager messages, by the newest frame from it.
    virtual bool takes_eager(std::uint32_t rank) noexcept = 0;
    /// What frames from here say about this rank from now on.
    virtual void announce_full(bool is_full) noexcept = 0;

    /// Whether frames posted before still need somebody who polls.
    virtual bool has_unsent() const noexcept = 0;
    /// Whether frames wait here for others to go with: of a burst to one rank, so that a few calls
    /// of the system do for all. They go with the next poll() or prepare_sleep(). Who does neither
    /// soon sees to it that somebody calls Network::send_held().
    virtual bool has_held() const noexcept = 0;
    /// Bytes of messages that are read or taken by this rank, may be read from it, or are pushed.
    virtual std::uint64_t bytes_under_way() const noexcept = 0;
    /// Takes note of frames and pushes that have left by now, and looks for nothing else. False:
    /// something else has come, poll. Then, or not: see poll_called().
    virtual bool settle() noexcept = 0;
    /// Whether the newest post or read for some rank was refused because it is not connected. The
    /// descriptor need not tell when it is: who wants to send has to try again now and then.
    virtual bool has_unconnected() const noexcept = 0;
    /// True: until its next poll this rank is called by whoever takes something in for it, and it
    /// is for its sake that somebody has to look when the network's descriptor can be read. False:
    /// poll again first.
    virtual bool prepare_sleep() noexcept = 0;
    /// The same for who will most likely poll again soon: the system is asked for nothing, so the
    /// descriptor need not tell of what has come by now. Unless the rank polls before, somebody has
    /// to call Network::deliver() a little later.
    virtual bool prepare_absence() noexcept = 0;
};

class Network {
  public:
    Network() = default;
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;
    virtual ~Network() = default;

    /// Where this process can be reached, as others give it to introduce(): printable, no blanks.
    virtual const std::string& address() const noexcept = 0;
    /// The same as the system's sockets name it; empty where the network has other addresses.
    virtual const std::string& socket_address() const noexcept = 0;
    /// What it runs over, for reports: provider and interface.
    virtual const std::string& description() const noexcept = 0;

    /// Before the first frame. Frames of those who do not know `secret` are dropped.
    virtual void join_job(const base::Secret& secret) noexcept = 0;
    /// From now on frames may be posted to `rank`, whose process is at `address`, on `host`.
    /// Failure: the address makes no sense to the provider.
    virtual base::Outcome introduce(std::uint32_t rank, std::string_view address,
                                    std::string_view host) = 0;
    virtual bool knows(std::uint32_t rank) const noexcept = 0;

    virtual std::size_t frame_bytes_max() const noexcept = 0;
    /// Whether memory of other ranks can be read without frames.
    virtual bool can_read() const noexcept = 0;

    /// Of a rank of this process; it lives as long as the network.
    virtual Port& port(std::uint32_t rank) noexcept = 0;

    /// Readable when somebody may find something, after prepare_sleep() of a port said true.
    /// Negative: the provider has none, and one has to look now and then.
    virtual int descriptor() const noexcept = 0;
    struct Delivery {
        bool is_awaited = false;  ///< some port still sleeps
        /// Ports have polled again and again since the last delivery or prepare_absence(), or the
        /// only one is in use this moment.
        bool is_attended = false;
        /// What the descriptor told of, where nothing has come, was a part of a long message.
        bool is_of_parts = false;
    };
    /// For who sleeps on the descriptor: takes in what has come, for all ports that sleep, and adds
    /// the ranks that have to be rung to `called`. Then the descriptor tells of what comes next.
    virtual Delivery deliver(std::vector<std::uint32_t>& called) noexcept = 0;

    /// Sends what ports hold, for ranks that may not poll for a while. False: not all of it has
    /// left, call again. `called` as deliver().
    virtual bool send_held(std::vector<std::uint32_t>& called) noexcept = 0;

    /// Memory of this range stays mapped, with the pages it has, as long as messages are sent, so
    /// nobody has to watch it. Before the first message; one range.
    virtual void declare_lasting(const void* address, std::uint64_t bytes) noexcept = 0;
    virtual RegionCounts region_counts() const noexcept = 0;

    /// Empty, or why nothing can be sent or received any more, in one sentence that names the rank
    /// and host concerned where they are known. Never changes back.
    virtual const std::string& failure() const noexcept = 0;
};

/// What a module exports under `network_symbol`. Null: `failure` says why.
using OpenNetwork = Network* (*)(const NetworkOptions& options, std::string& failure);
inline constexpr const char* network_symbol = "headway_open_network_1";
/// Likewise: the version of the library that it was built with, which must be the caller's.
inline constexpr const char* network_version_symbol = "headway_network_version";

}  // namespace headway::transport

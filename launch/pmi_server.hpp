// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "boot/pmi1_line.hpp"

namespace headway::launch {

/// What the bytes of a process led to, beyond replies.
struct PmiEvent {
    enum class Kind { none, abort, garbage };
    Kind kind = Kind::none;
    int exit_code = 0;  ///< of an abort
    std::string
        sentence;  ///< what the process said with its abort, or what is wrong with its bytes
};

/// The server's half of PMI-1 for all processes of a job, without input or output: bytes go in by
/// receive(), replies are collected in outbox().
class PmiServer {
  public:
    /// `program_indices` has one entry a process: which program of the command line it runs.
    PmiServer(std::string job, std::vector<int> program_indices);

    /// Takes bytes of `process`. After an event other than none its further bytes are ignored.
    PmiEvent receive(std::size_t process, std::string_view bytes);
    /// Bytes to be sent to `process`; the caller removes what it has sent by take_sent().
    const std::string& outbox(std::size_t process) const { return clients_[process].outbox; }
    void take_sent(std::size_t process, std::size_t bytes);

    /// The caller has taken a descriptor in from `process`: its bytes of the same receipt come
    /// next. False: nobody wants it (one a job is kept).
    bool offer_descriptor(std::size_t process);
    /// How many bytes of the outbox go before the one that the kept descriptor goes with.
    std::optional<std::size_t> descriptor_offset(std::size_t process) const
    {
        return clients_[process].descriptor_offset;
    }

    /// The process has begun and not (yet) left in good order.
    bool is_inside(std::size_t process) const { return clients_[process].is_inside; }
    /// The process has left in good order at least once.
    bool has_left(std::size_t process) const { return clients_[process].has_left; }
    /// Some process waits in a barrier.
    bool has_waiter() const noexcept { return waiting_count_ > 0; }

  private:
    struct Client {
        std::string inbox;
        std::string outbox;
        bool is_inside = false;
        bool has_left = false;
        bool is_waiting = false;
        bool is_in_block = false;  ///< between `mcmd=` and `endcmd`
        bool is_silenced = false;
        std::optional<std::size_t> descriptor_offset;
    };
    using Names = std::map<std::string, std::string, std::less<>>;
    using Handler = void (PmiServer::*)(Client& client, const boot::Pmi1Line& line);
    struct Command;
    static const Command commands[];

    PmiEvent take_line(std::size_t process, std::string_view text);
    void init(Client& client, const boot::Pmi1Line& line);
    void get_maxes(Client& client, const boot::Pmi1Line& line);
    void get_appnum(Client& client, const boot::Pmi1Line& line);
    void get_universe_size(Client& client, const boot::Pmi1Line& line);
    void get_my_kvsname(Client& client, const boot::Pmi1Line& line);
    void put(Client& client, const boot::Pmi1Line& line);
    void get(Client& client, const boot::Pmi1Line& line);
    void get_by_index(Client& client, const boot::Pmi1Line& line);
    void barrier_in(Client& client, const boot::Pmi1Line& line);
    void finalize(Client& client, const boot::Pmi1Line& line);
    void publish(Client& client, const boot::Pmi1Line& line);
    void unpublish(Client& client, const boot::Pmi1Line& line);
    void look_up(Client& client, const boot::Pmi1Line& line);
    void share_descriptor(Client& client, const boot::Pmi1Line& line);
    void give_descriptor(Client& client, const boot::Pmi1Line& line);
    void refuse_spaces(Client& client, const boot::Pmi1Line& line);

    std::string job_;
    std::vector<int> program_indices_;
    std::vector<Client> clients_;
    std::size_t waiting_count_ = 0;
    Names dictionary_;
    std::size_t dictionary_bytes_ = 0;
    Names published_;
    /// Who handed in the descriptor that the caller keeps, and whether that was confirmed.
    std::optional<std::size_t> descriptor_source_;
    bool is_descriptor_shared_ = false;
};

}  // namespace headway::launch

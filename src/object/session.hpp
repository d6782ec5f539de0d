// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mpi.h"
#include "object/buffer.hpp"
#include "object/error_handler.hpp"
#include "object/info.hpp"

namespace headway::object {

class Rank;

/// A session of one rank (MPI-5.0 section 11.3): a right to use MPI that needs no MPI_Init. While
/// one is open the rank communicates.
/// Thread rule: made and removed under the mutex of startup.cpp; the rest by the rank's threads,
/// under its lock.
class Session {
  public:
    /// `number`: not 0, which stands for the world that MPI_Init makes.
    Session(std::uint32_t number, int thread_level, Info hints, ErrorHandler* error_handler);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// What groups and communicators that come from it know it by.
    std::uint32_t number() const noexcept { return number_; }
    int thread_level() const noexcept { return thread_level_; }
    /// What is in effect, for those who ask.
    const Info& hints() const noexcept { return hints_; }
    MPI_Session handle() const noexcept { return handle_; }
    void set_handle(MPI_Session handle) noexcept { handle_ = handle; }

    ErrorHandler* error_handler() const noexcept { return error_handler_; }
    /// Takes a reference on the new handler and drops the one on the old.
    void set_error_handler(ErrorHandler* handler) noexcept;

    /// For sends in buffered mode on its communicators that have none of their own; null: those use
    /// the rank's.
    std::unique_ptr<SendBuffer>& send_buffer() noexcept { return send_buffer_; }

  private:
    std::uint32_t number_;
    int thread_level_;
    Info hints_;
    ErrorHandler* error_handler_;
    MPI_Session handle_ = MPI_SESSION_NULL;
    std::unique_ptr<SendBuffer> send_buffer_;
};

/// The names of the process sets that every rank knows, in the order in which they are numbered.
std::span<const std::string_view> process_set_names() noexcept;

/// World ranks of a process set, in order; names are compared without regard to case. Empty: there
/// is no such set.
std::vector<int> find_process_set(Rank& rank, std::string_view name);

/// "MPI_THREAD_SINGLE" and so on.
std::string_view name_of_thread_level(int level) noexcept;
/// The level of that name, or `fallback`.
int find_thread_level(std::string_view name, int fallback) noexcept;

}  // namespace headway::object

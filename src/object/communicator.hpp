// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "engine/graph_engine.hpp"
#include "engine/scope.hpp"
#include "mpi.h"
#include "object/attribute.hpp"
#include "object/error_handler.hpp"
#include "object/info.hpp"

namespace headway::object {

class Rank;
class SendBuffer;

/// A communicator as one of its ranks sees it. One reference for the handle, one for each started
/// operation: a freed communicator stays until its traffic is over (MPI-5.0 section 7.4.3).
/// Thread rule: the rank's threads, under its lock.
class Communicator {
  public:
    /// `members`: their world ranks, in order. Null: the node heap is exhausted. The handle is
    /// acquired here unless a predefined one is given.
    static Communicator* create(Rank& rank, std::uint32_t context, const std::vector<int>& members,
                                ErrorHandler* error_handler, MPI_Comm predefined = nullptr);
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    int size() const noexcept { return static_cast<int>(scope_->size); }
    int rank() const noexcept { return static_cast<int>(scope_->rank); }
    MPI_Comm handle() const noexcept { return handle_; }
    ErrorHandler* error_handler() const noexcept { return error_handler_; }
    engine::Scope& scope() noexcept { return *scope_; }
    const engine::Scope& scope() const noexcept { return *scope_; }
    std::uint32_t context() const noexcept { return scope_->context; }
    /// Context of messages that the library sends for itself; no communicator's own, for context
    /// ids stay below the bit.
    std::uint32_t internal_context() const noexcept { return scope_->context | 0x8000'0000U; }
    /// For one that was created before its context was known; 0 stands for that. Requires that
    /// nothing was started on it.
    void set_context(std::uint32_t context) noexcept { scope_->context = context; }

    /// World ranks of the members, in order.
    std::vector<int> members() const;

    const std::string& name() const noexcept { return name_; }
    void set_name(std::string_view name) { name_ = name; }
    AttributeSet& attributes() noexcept { return attributes_; }
    /// Hints that are in effect.
    const Info& hints() const noexcept { return hints_; }
    /// Takes those that Headway knows, if their values make sense; others stay as they are.
    void take_hints(const Info& given);
    /// Number of the next collective call, from 1 on, where somebody counts them.
    std::uint64_t count_collective() noexcept { return ++collectives_; }
    /// True while operations that were started here have not been completed.
    bool is_in_use() const noexcept { return references_ > 1; }

    /// Takes a reference on the new handler and drops the one on the old.
    void set_error_handler(ErrorHandler* handler) noexcept;

    void add_reference() noexcept { ++references_; }
    /// The last one destroys the communicator.
    void drop_reference();
    /// Invalidates the handle; the communicator goes with its last operation.
    void free_handle();

    /// Its own buffer for sends in buffered mode; null: those use the rank's.
    std::unique_ptr<SendBuffer>& send_buffer() noexcept { return send_buffer_; }

    /// The stored graph under `key`, or null; the communicator owns what is remembered.
    engine::GraphTemplate* find_graph(std::uint64_t key) const;
    void remember_graph(std::uint64_t key, engine::GraphTemplate* stored);

  private:
    Communicator(Rank& owner, engine::Scope* scope, ErrorHandler* error_handler);
    ~Communicator();

    Rank& owner_;
    engine::Scope* scope_;
    MPI_Comm handle_ = MPI_COMM_NULL;
    ErrorHandler* error_handler_;
    int references_ = 1;
    std::uint64_t collectives_ = 0;
    std::unique_ptr<SendBuffer> send_buffer_;
    std::string name_;
    AttributeSet attributes_;
    Info hints_;
    std::unordered_map<std::uint64_t, engine::GraphTemplate*> graphs_;
};

}  // namespace headway::object

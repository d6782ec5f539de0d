// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace headway::base {

/// Why a creation failed: one clear sentence that names the cause and the cure. It does not name
/// Headway, the rank or the call; whoever prints it adds those.
struct Failure {
    std::string sentence;
};

/// A value or the sentence that says why there is none. Used for creation paths only; hot paths
/// return Status.
template <typename Value>
class [[nodiscard]] Result {
  public:
    Result(Value value) : state_(std::move(value)) {}
    Result(Failure failure) : state_(std::move(failure)) {}

    bool has_value() const noexcept { return std::holds_alternative<Value>(state_); }
    explicit operator bool() const noexcept { return has_value(); }

    /// Requires has_value().
    Value& value() { return std::get<Value>(state_); }
    const Value& value() const { return std::get<Value>(state_); }

    /// Requires !has_value().
    const std::string& sentence() const { return std::get<Failure>(state_).sentence; }

  private:
    std::variant<Value, Failure> state_;
};

/// Outcome without a value: empty on success.
struct Done {};
using Outcome = Result<Done>;

}  // namespace headway::base

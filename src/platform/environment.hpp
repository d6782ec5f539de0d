// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headway::platform {

/// A copy of the environment's variables. Nothing below MPI_Init reads the process's environment
/// itself, so a test gives each rank one of its own and a program's setenv cannot race with us.
class Environment {
  public:
    using Variable = std::pair<std::string, std::string>;

    Environment() = default;
    explicit Environment(std::vector<Variable> variables) : variables_(std::move(variables)) {}

    /// Copies what the process has now. Requires that no other thread changes it meanwhile.
    static Environment of_process();

    std::optional<std::string_view> find(std::string_view name) const
    {
        for (const Variable& variable : variables_) {
            if (variable.first == name) {
                return variable.second;
            }
        }
        return std::nullopt;
    }

    const std::vector<Variable>& variables() const noexcept { return variables_; }

  private:
    std::vector<Variable> variables_;
};

}  // namespace headway::platform

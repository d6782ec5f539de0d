// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace headway::launch {

/// The environment of one rank, as getenv and its kin see it. As in a process, a text that was
/// handed out stays until the end. Any thread of the rank.
class RankEnvironment {
  public:
    explicit RankEnvironment(const std::vector<std::string>& variables);
    RankEnvironment(const RankEnvironment&) = delete;
    RankEnvironment& operator=(const RankEnvironment&) = delete;

    /// The array for `environ`; another one after a change that adds a variable.
    char** array() noexcept { return array_.data(); }
    /// `environ` of the program: kept right by changes; read first, as programs may set it.
    void attach(char*** variable);

    char* get(std::string_view name);
    /// False: `name` is empty or has a '='.
    bool set(std::string_view name, std::string_view value, bool overwrites);
    /// Puts the caller's own text in (putenv).
    void put(char* assignment);
    bool unset(std::string_view name);
    void clear();

  private:
    char** find(std::string_view name) noexcept;
    void store(std::string_view name, char* assignment);
    void read_program() noexcept;
    void tell_program() noexcept;

    std::mutex mutex_;
    std::deque<std::string> texts_;
    std::vector<char*> array_;  ///< ends with null
    char*** variable_ = nullptr;
};

}  // namespace headway::launch

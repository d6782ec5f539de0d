// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace headway::object {

/// Error classes, codes and strings that the application adds to those of the standard (MPI-5.0
/// section 9.5). Numbers are never used again, so that a removed code is recognised.
/// Thread rule: one thread at a time.
class ErrorCodes {
  public:
    /// Why an addition or removal was refused.
    enum class Refusal : std::uint8_t {
        none,
        predefined,  ///< of the standard: never changed
        unknown,     ///< never added, or removed
        wrong_kind,  ///< a class where a code is meant, or the opposite
        has_string,  ///< its string must be removed first
        has_codes,   ///< its codes must be removed first
        no_string,   ///< there is no string to remove
    };

    ErrorCodes() noexcept;

    int add_class();
    /// `error_class`: of the standard or added. None: there is no such class.
    std::optional<int> add_code(int error_class);
    Refusal add_string(int code, std::string_view text);
    Refusal remove_class(int error_class);
    Refusal remove_code(int code);
    Refusal remove_string(int code);

    /// Class of a code, added or of the standard; none for a number that is neither.
    std::optional<int> class_of(int code) const;
    /// "MPI_ERR_RANK: text" for the standard's, the added string (perhaps empty) for others.
    std::optional<std::string> text_of(int code) const;

    /// Value of the attribute MPI_LASTUSEDCODE. The address stays for the life of this object.
    const int& last_used() const noexcept { return last_used_; }

  private:
    struct Added {
        int error_class;  ///< itself for a class
        bool has_string;
        std::string text;
    };

    Refusal find(int code, Added** found);
    Refusal remove(int code, bool is_class);

    std::map<int, Added> added_;
    int last_used_;
};

}  // namespace headway::object

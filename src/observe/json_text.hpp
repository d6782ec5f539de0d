// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace headway::observe {

/// Text on its way to a file, in large pieces. The first error stays and ends all writing.
/// Thread rule: one thread.
class JsonText {
  public:
    explicit JsonText(std::FILE* file) : file_(file) { text_.reserve(buffer_bytes + slack_bytes); }

    JsonText& operator<<(std::string_view plain)
    {
        text_.append(plain);
        if (text_.size() > buffer_bytes) {
            flush();
        }
        return *this;
    }

    template <std::integral Number>
    JsonText& operator<<(Number number)
    {
        char digits[24];
        const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
        text_.append(digits, end);
        return *this;
    }

    /// A string with its quotes.
    JsonText& quoted(std::string_view words)
    {
        text_ += '"';
        for (const char letter : words) {
            if (letter == '"' || letter == '\\') {
                text_ += '\\';
            }
            // Names of ours hold no control characters; those of users may.
            text_ += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
        }
        text_ += '"';
        return *this;
    }

    /// Nanoseconds as microseconds with three decimals.
    JsonText& microseconds(std::int64_t moment_ns)
    {
        const bool is_negative = moment_ns < 0;
        const std::uint64_t size = is_negative ? 0 - static_cast<std::uint64_t>(moment_ns)
                                               : static_cast<std::uint64_t>(moment_ns);
        if (is_negative) {
            text_ += '-';
        }
        *this << size / 1000;
        const auto rest = static_cast<unsigned>(size % 1000);
        const char decimals[] = {'.', static_cast<char>('0' + rest / 100),
                                 static_cast<char>('0' + rest / 10 % 10),
                                 static_cast<char>('0' + rest % 10)};
        text_.append(decimals, sizeof decimals);
        return *this;
    }

    void flush()
    {
        if (error_ == 0 && std::fwrite(text_.data(), 1, text_.size(), file_) != text_.size()) {
            error_ = errno;
        }
        text_.clear();
    }

    /// errno of the first write that failed; 0: none has.
    int error() const noexcept { return error_; }

  private:
    static constexpr std::size_t buffer_bytes = std::size_t{1} << 16;
    static constexpr std::size_t slack_bytes = 1024;
    std::FILE* file_;
    std::string text_;
    int error_ = 0;
};

}  // namespace headway::observe

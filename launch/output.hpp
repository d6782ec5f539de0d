// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace headway::launch {

/// Where lines of all ranks end up: standard output or standard error of mpiexec, or both where
/// they are the same file. Never blocks on a slow reader, except for a regular file.
class Destination {
  public:
    explicit Destination(int descriptor);

    int descriptor() const noexcept { return descriptor_; }
    bool is_same_file(const Destination& other) const noexcept;
    /// Lines of `source` (any number that tells streams apart) are added at the end.
    void add(std::string_view bytes, std::size_t source);
    /// Adds the first bytes of a line that waits for its end, so that a prompt is seen; a line of
    /// another source then begins on a new line.
    void add_unfinished(std::string_view bytes, std::size_t source);

    /// Writes what the reader takes now. False once nothing can be written any more.
    bool write_some();
    bool has_backlog() const noexcept { return !backlog_.empty(); }
    /// The backlog is so large that ranks must wait.
    bool is_congested() const noexcept;
    bool is_broken() const noexcept { return error_ != 0; }
    /// Why nothing can be written any more, as an errno; 0 while all is well.
    int error() const noexcept { return error_; }

  private:
    int descriptor_;
    bool is_regular_ = false;
    int error_ = 0;
    unsigned long device_ = 0;
    unsigned long inode_ = 0;
    std::string backlog_;
    bool is_line_open_ = false;
    std::size_t open_source_ = 0;
};

/// Cuts the bytes of one rank's stream into lines and hands whole lines to a destination.
class LineStream {
  public:
    using Clock = std::chrono::steady_clock;

    LineStream(Destination& destination, std::string label, std::size_t source)
        : destination_(&destination), label_(std::move(label)), source_(source)
    {
    }

    Destination& destination() const noexcept { return *destination_; }
    void receive(std::string_view bytes);
    /// The stream has ended: what is left goes out with a newline.
    void finish();
    /// Shows what is there of an unfinished line.
    void show_unfinished();
    bool has_unfinished() const noexcept { return !line_.empty(); }

  private:
    void emit_whole(std::string_view lines);

    Destination* destination_;
    std::string label_;
    std::size_t source_;
    std::string line_;           ///< bytes after the last newline, not yet handed on
    bool is_continued_ = false;  ///< a part of this line has been handed on already
};

}  // namespace headway::launch

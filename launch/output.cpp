// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace headway::launch {
namespace {

/// A line longer than this is handed on in pieces.
constexpr std::size_t line_bytes_max = std::size_t{64} << 10U;
constexpr std::size_t backlog_bytes_max = std::size_t{1} << 20U;

}  // namespace

Destination::Destination(int descriptor) : descriptor_(descriptor)
{
    struct stat status{};
    if (::fstat(descriptor, &status) == 0) {
        is_regular_ = S_ISREG(status.st_mode);
        device_ = status.st_dev;
        inode_ = status.st_ino;
    }
}

bool Destination::is_same_file(const Destination& other) const noexcept
{
    return device_ == other.device_ && inode_ == other.inode_;
}

void Destination::add(std::string_view bytes, std::size_t source)
{
    if (is_broken() || bytes.empty()) {
        return;
    }
    if (is_line_open_ && open_source_ != source) {
        backlog_ += '\n';
    }
    is_line_open_ = false;
    backlog_ += bytes;
}

void Destination::add_unfinished(std::string_view bytes, std::size_t source)
{
    if (bytes.empty()) {
        return;
    }
    add(bytes, source);
    is_line_open_ = true;
    open_source_ = source;
}

bool Destination::is_congested() const noexcept
{
    return backlog_.size() > backlog_bytes_max;
}

bool Destination::write_some()
{
    std::size_t written = 0;
    while (written < backlog_.size() && !is_broken()) {
        pollfd entry{descriptor_, POLLOUT, 0};
        if (!is_regular_ && ::poll(&entry, 1, 0) == 0) {
            break;
        }
        // A pipe that polls writable takes this much without blocking; mpiexec must not make its
        // standard output non-blocking, because it shares that with the shell.
        const std::size_t size = std::min<std::size_t>(backlog_.size() - written, PIPE_BUF);
        const ssize_t count = ::write(descriptor_, backlog_.data() + written, size);
        if (count > 0) {
            written += static_cast<std::size_t>(count);
        } else if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            break;
        } else {
            error_ = count == 0 ? EIO : errno;
        }
    }
    backlog_.erase(0, written);
    if (is_broken()) {
        backlog_.clear();
    }
    return !is_broken();
}

void LineStream::emit_whole(std::string_view lines)
{
    if (label_.empty()) {
        destination_->add(lines, source_);
        return;
    }
    std::string labelled;
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
        if (!is_continued_) {
            labelled += label_;
        }
        is_continued_ = false;
        labelled += lines.substr(0, end);
        lines.remove_prefix(end);
    }
    destination_->add(labelled, source_);
}

void LineStream::receive(std::string_view bytes)
{
    const std::size_t last = bytes.rfind('\n');
    if (last != std::string_view::npos) {
        line_ += bytes.substr(0, last + 1);
        emit_whole(line_);
        is_continued_ = false;
        line_.clear();
        bytes.remove_prefix(last + 1);
    }
    line_ += bytes;
    if (line_.size() > line_bytes_max) {
        show_unfinished();
    }
}

void LineStream::show_unfinished()
{
    if (line_.empty()) {
        return;
    }
    destination_->add_unfinished(is_continued_ ? line_ : label_ + line_, source_);
    is_continued_ = true;
    line_.clear();
}

void LineStream::finish()
{
    if (line_.empty() && !is_continued_) {
        return;
    }
    line_ += '\n';
    emit_whole(line_);
    line_.clear();
    is_continued_ = false;
}

}  // namespace headway::launch

// SPDX-License-Identifier: Apache-2.0
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "boot/descriptor_message.hpp"
#include "job.hpp"

namespace headway::launch {
namespace {

constexpr std::size_t read_bytes = std::size_t{64} << 10U;
/// A pipe holds 64 KiB, so that many reads see all that a rank wrote before its end.
constexpr std::size_t drain_reads = 20;
constexpr std::chrono::milliseconds prompt_delay{100};
constexpr std::chrono::milliseconds pmi_close_grace{1000};
constexpr std::size_t launcher_source = ~std::size_t{0};

}  // namespace

void Job::read_stream(std::size_t rank, Stream& stream, std::size_t reads_max)
{
    std::array<char, read_bytes> chunk;
    for (std::size_t reads = 0; reads < reads_max && stream.descriptor >= 0; ++reads) {
        const ssize_t count = ::read(stream.descriptor, chunk.data(), chunk.size());
        if (count > 0) {
            stream.lines.receive({chunk.data(), static_cast<std::size_t>(count)});
        } else if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            break;
        } else {
            close_stream(stream);
        }
    }
    if (rank == 0 && is_prompt_possible_ && stream.lines.has_unfinished()) {
        prompt_at_ = Clock::now() + prompt_delay;
    }
}

void Job::close_stream(Stream& stream)
{
    if (stream.descriptor >= 0) {
        ::close(stream.descriptor);
        stream.descriptor = -1;
        stream.is_polled = false;
        stream.lines.finish();
    }
}

void Job::drain_output(Rank& rank, std::size_t index)
{
    for (Stream& stream : rank.streams) {
        read_stream(index, stream, drain_reads);
    }
}

void Job::update_destinations()
{
    const auto update = [this](Destination& destination, bool& is_watched) {
        const bool was_broken = destination.is_broken();
        if (!destination.write_some() && !was_broken) {
            // Programs end silently when their reader goes away; so does a job.
            const bool is_reader_gone = destination.error() == EPIPE;
            const int code = is_reader_gone ? 128 + SIGPIPE : 1;
            set_exit_code(code);
            end_job(code, is_reader_gone
                              ? ""
                              : std::string("cannot write the ranks' output: ") +
                                    std::strerror(destination.error()) + "; the ranks were ended");
        }
        if (destination.has_backlog() != is_watched) {
            is_watched = !is_watched;
            if (is_watched) {
                watch(destination.descriptor(), EPOLLOUT, Source::destination, 0);
            } else {
                unwatch(destination.descriptor());
            }
        }
    };
    update(out_, is_out_watched_);
    update(err_, is_err_watched_);
    for (std::size_t index = 0; index < ranks_.size(); ++index) {
        for (std::size_t which = 0; which < 2; ++which) {
            Stream& stream = ranks_[index]->streams[which];
            const bool is_wanted =
                stream.descriptor >= 0 && !stream.lines.destination().is_congested();
            if (is_wanted && !stream.is_polled) {
                watch(stream.descriptor, EPOLLIN, which == 0 ? Source::out : Source::err, index);
            } else if (!is_wanted && stream.is_polled) {
                unwatch(stream.descriptor);
            }
            stream.is_polled = is_wanted;
        }
    }
    if (state_ == State::flushing && !out_.has_backlog() && !err_.has_backlog()) {
        state_ = State::done;
    }
}

void Job::read_pmi(std::size_t rank)
{
    Rank& source = *ranks_[rank];
    std::array<char, 8192> chunk;
    while (source.pmi >= 0) {
        int beside = -1;
        const ssize_t count = boot::receive_with_descriptor(source.pmi, chunk, &beside);
        if (beside >= 0) {
            keep_descriptor(rank, beside);
        }
        if (count > 0) {
            judge_pmi_event(
                rank, server_->receive(rank, {chunk.data(), static_cast<std::size_t>(count)}));
            continue;
        }
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            break;
        }
        close_pmi(source);
        if (server_->is_inside(rank) && source.is_running) {
            source.pmi_closed_until = Clock::now() + pmi_close_grace;
        }
    }
}

void Job::write_pmi()
{
    for (std::size_t index = 0; index < ranks_.size(); ++index) {
        Rank& rank = *ranks_[index];
        const std::string& outbox = server_->outbox(index);
        while (rank.pmi >= 0 && !outbox.empty()) {
            const auto offset = server_->descriptor_offset(index);
            const bool is_next = offset == 0U;
            const std::size_t bytes = is_next ? outbox.size() : offset.value_or(outbox.size());
            const ssize_t count =
                boot::send_with_descriptor(rank.pmi, std::string_view(outbox).substr(0, bytes),
                                           is_next ? shared_descriptor_ : -1);
            if (count <= 0) {
                break;
            }
            server_->take_sent(index, static_cast<std::size_t>(count));
        }
        const bool needs_room = rank.pmi >= 0 && !outbox.empty();
        if (needs_room != rank.awaits_pmi_room && rank.pmi >= 0) {
            watch(rank.pmi, EPOLLIN | (needs_room ? EPOLLOUT : 0U), Source::pmi, index);
        }
        rank.awaits_pmi_room = needs_room;
    }
}

void Job::keep_descriptor(std::size_t rank, int descriptor)
{
    if (server_->offer_descriptor(rank)) {
        shared_descriptor_ = descriptor;
    } else {
        ::close(descriptor);
    }
}

void Job::close_pmi(Rank& rank)
{
    if (rank.pmi >= 0) {
        ::close(rank.pmi);
        rank.pmi = -1;
    }
}

void Job::judge_pmi_event(std::size_t rank, const PmiEvent& event)
{
    if (event.kind == PmiEvent::Kind::garbage) {
        end_job(1, name_of(rank) + " sent " + event.sentence +
                       " on its PMI connection, which is not PMI-1; the job was ended");
    } else if (event.kind == PmiEvent::Kind::abort) {
        const std::string code = std::to_string(event.exit_code);
        const int low = event.exit_code & 0xff;
        drain_output(*ranks_[rank], rank);
        judge_killed_rank();
        if (!event.sentence.empty()) {
            say_in_own_words(event.sentence);
        }
        // Which of several ranks it was, its process has said.
        end_job(low == 0 ? 1 : low, is_hosted() ? ""
                                                : name_of(rank) + " aborted the job with code " +
                                                      code + std::string(and_others()));
    } else {
        check_barrier();
    }
}

void Job::say(const std::string& sentence)
{
    say_in_own_words("headway mpiexec: " + sentence);
}

void Job::say_in_own_words(const std::string& sentence)
{
    Destination& to = err_.is_same_file(out_) ? out_ : err_;
    to.add(sentence + "\n", launcher_source);
}

}  // namespace headway::launch

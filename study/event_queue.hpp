// SPDX-License-Identifier: Apache-2.0
// Events of a simulation, earliest first; those of one time in the order in which they were pushed.
// Ranks do the same things at the same times, so events of one time share a bucket, and only the
// times are kept in a heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace headway::study {

template <typename Event>
class EventQueue {
  public:
    bool is_empty() const noexcept { return times_.empty(); }

    /// Requires: not before the time of the last event that was popped.
    void push(std::int64_t time, const Event& event)
    {
        if (is_open_ && time == open_time_) {
            buckets_[open_].push_back(event);
            return;
        }
        const auto [place, is_new] = bucket_of_.try_emplace(time, std::size_t{0});
        if (is_new) {
            place->second = take_bucket();
            times_.emplace(time, place->second);
        }
        buckets_[place->second].push_back(event);
    }

    /// Requires: not empty.
    std::pair<std::int64_t, Event> pop()
    {
        if (!is_open_) {
            std::tie(open_time_, open_) = times_.top();
            bucket_of_.erase(open_time_);
            next_ = 0;
            is_open_ = true;
        }
        const Event event = buckets_[open_][next_++];
        return {open_time_, event};
    }

    /// To be called when what follows from the last event has been pushed.
    void end_event()
    {
        if (next_ == buckets_[open_].size()) {
            buckets_[open_].clear();
            free_.push_back(open_);
            times_.pop();
            is_open_ = false;
        }
    }

  private:
    using Time = std::pair<std::int64_t, std::size_t>;  ///< and its bucket

    std::size_t take_bucket()
    {
        if (free_.empty()) {
            buckets_.emplace_back();
            return buckets_.size() - 1;
        }
        const std::size_t bucket = free_.back();
        free_.pop_back();
        return bucket;
    }

    std::priority_queue<Time, std::vector<Time>, std::greater<>> times_;
    std::unordered_map<std::int64_t, std::size_t> bucket_of_;  ///< of times that are not open
    std::vector<std::vector<Event>> buckets_;
    std::vector<std::size_t> free_;
    std::int64_t open_time_ = 0;
    std::size_t open_ = 0;
    std::size_t next_ = 0;  ///< event of the open bucket
    bool is_open_ = false;
};

}  // namespace headway::study

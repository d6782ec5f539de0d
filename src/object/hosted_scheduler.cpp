// SPDX-License-Identifier: Apache-2.0
#include "object/hosted_scheduler.hpp"

#include "platform/cpu.hpp"

namespace headway::object {

HostedScheduler::HostedScheduler(const headway_scheduling& scheduling, engine::Node& node,
                                 HostDirectory& directory, sync::OutsideBell* bell) noexcept
    : Scheduler(false),
      scheduling_(scheduling),
      node_(node),
      directory_(directory),
      cpus_(platform::allowed_cpus()),
      bell_(bell)
{
    if (bell_ != nullptr) {
        outside_ = {&bell_->bell(), &bell_->sleepers(),
                    [](void* scheduler) { static_cast<HostedScheduler*>(scheduler)->answer(); },
                    this};
        // (1) release, pairs with (2). Who sleeps here comes later, and passes a fence.
        directory_.bells[node_.own_process].store(bell_, std::memory_order_release);
    }
}

std::int64_t HostedScheduler::now_ns() const noexcept
{
    return platform::system_ns();
}

/// Whether other processes know the word.
bool HostedScheduler::is_shared(const Word& word) const noexcept
{
    return bell_ != nullptr && node_.heap->contains(&word);
}

platform::FutexWait HostedScheduler::wait_here(const Word& word, std::uint32_t expected,
                                               std::int64_t deadline_ns) noexcept
{
    switch (scheduling_.wait(&word, expected, deadline_ns)) {
        case HEADWAY_WAIT_DIFFERED:
            return platform::FutexWait::value_differed;
        case HEADWAY_WAIT_TIMED_OUT:
            return platform::FutexWait::timed_out;
        default:
            return platform::FutexWait::awake;
    }
}

platform::FutexWait HostedScheduler::wait(const Word& word, std::uint32_t expected,
                                          std::int64_t deadline_ns) noexcept
{
    if (!is_shared(word)) {
        return wait_here(word, expected, deadline_ns);
    }
    const bool is_in_kernel = scheduling_.runs_rank() == 0;
    const std::size_t number =
        sync::OutsideBell::bucket_of(reinterpret_cast<std::uintptr_t>(&word));
    Bucket& bucket = buckets_[number];
    Sleeper sleeper{&word, nullptr, nullptr};
    {
        const std::lock_guard guard(bucket.mutex);
        if (is_in_kernel) {
            ++bucket.in_kernel;
        } else {
            sleeper.next = bucket.first;
            if (bucket.first != nullptr) {
                bucket.first->previous = &sleeper;
            }
            bucket.first = &sleeper;
        }
        bell_->move_in(number, is_in_kernel);
    }
    const platform::FutexWait slept = wait_here(word, expected, deadline_ns);
    const std::lock_guard guard(bucket.mutex);
    if (is_in_kernel) {
        --bucket.in_kernel;
    } else {
        (sleeper.previous == nullptr ? bucket.first : sleeper.previous->next) = sleeper.next;
        if (sleeper.next != nullptr) {
            sleeper.next->previous = sleeper.previous;
        }
    }
    if (is_in_kernel ? bucket.in_kernel == 0 : bucket.first == nullptr) {
        bell_->move_out(number, is_in_kernel);
    }
    return slept;
}

/// A word has its sleepers in one process, or each of them looks again by itself before long: who
/// has been found here need not be looked for elsewhere.
void HostedScheduler::wake(const Word& word, int count) noexcept
{
    if (scheduling_.wake(&word, count) == 0 && is_shared(word)) {
        ring_outside(word, count);
    }
}

void HostedScheduler::ring_outside(const Word& word, int count) noexcept
{
    const std::size_t bucket =
        sync::OutsideBell::bucket_of(reinterpret_cast<std::uintptr_t>(&word));
    sync::OutsideBell::publish();
    bool is_in_kernel = false;
    for (std::uint32_t process = 0; process < node_.directory.process_count; ++process) {
        // (2) acquire, pairs with (1): the bell has been made.
        sync::OutsideBell* const bell = directory_.bells[process].load(std::memory_order_acquire);
        if (process != node_.own_process && bell != nullptr) {
            is_in_kernel = is_in_kernel || bell->has_in_kernel(bucket);
            if (bell->ring(bucket)) {
                platform::system_wake(bell->bell(), 1);
            }
        }
    }
    if (is_in_kernel) {
        platform::system_wake(word, count);
    }
}

void HostedScheduler::answer() noexcept
{
    bell_->take([this](std::size_t number) {
        Bucket& bucket = buckets_[number];
        const std::lock_guard guard(bucket.mutex);
        for (const Sleeper* each = bucket.first; each != nullptr; each = each->next) {
            (void)scheduling_.wake(each->word, 1);
        }
    });
}

void HostedScheduler::take_seat(Seat* /*seat*/) noexcept
{
    platform::own_scheduler = this;
}

void HostedScheduler::leave_seat() noexcept
{
    platform::own_scheduler = nullptr;
}

}  // namespace headway::object

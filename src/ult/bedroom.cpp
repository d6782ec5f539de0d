// SPDX-License-Identifier: Apache-2.0
#include "ult/bedroom.hpp"

#include <mutex>

#include "platform/futex.hpp"

namespace headway::ult {

namespace {

constexpr std::int64_t never_ns = platform::Deadline::never().ns();

}  // namespace

std::size_t Bedroom::index_of(const Word& word) noexcept
{
    static_assert(bucket_count == 256);
    const auto address = reinterpret_cast<std::uintptr_t>(&word);
    // Words of a kind lie at equal offsets of like things: all bits of the address take part.
    return (address * 0x9E3779B97F4A7C15U) >> 56;
}

void Bedroom::unlink(Bucket& bucket, Task& task) noexcept
{
    Sleep& sleep = task.sleep;
    (sleep.previous == nullptr ? bucket.first : sleep.previous->sleep.next) = sleep.next;
    (sleep.next == nullptr ? bucket.last : sleep.next->sleep.previous) = sleep.previous;
    sleep.word = nullptr;
}

bool Bedroom::lie_down(Task& task, const Word& word, std::uint32_t expected,
                       std::int64_t deadline_ns)
{
    Sleep& sleep = task.sleep;
    sleep.deadline_ns = deadline_ns;
    sleep.has_timed_out = false;
    const std::size_t index = index_of(word);
    // Relaxed: who looks for the task looks at its word under the lock of the bucket.
    sleep.bucket.store(index, std::memory_order_relaxed);
    Bucket& bucket = buckets_[index];
    task.phase.leave();
    if (deadline_ns != never_ns) {
        // Made here, so that nothing is allocated with a lock in hand that others spin for.
        std::set<std::pair<std::int64_t, Task*>> one{{deadline_ns, &task}};
        const std::lock_guard guard(deadlines_lock_);
        deadlines_.insert(one.extract(one.begin()));
        update_first_due();
    }
    {
        const std::lock_guard guard(bucket.lock);
        // Relaxed: the lock orders it against the change of who wakes.
        if (word.load(std::memory_order_relaxed) == expected) {
            sleep.word = &word;
            sleep.next = nullptr;
            sleep.previous = bucket.last;
            (bucket.last == nullptr ? bucket.first : bucket.last->sleep.next) = &task;
            bucket.last = &task;
            return true;
        }
    }
    (void)get_up(task);
    return false;
}

bool Bedroom::get_up(Task& task)
{
    if (task.sleep.deadline_ns != never_ns) {
        std::set<std::pair<std::int64_t, Task*>>::node_type entry;  // freed without the lock
        const std::lock_guard guard(deadlines_lock_);
        entry = deadlines_.extract({task.sleep.deadline_ns, &task});
        update_first_due();
    }
    return task.sleep.has_timed_out;
}

Woken Bedroom::take(const Word& word, int& count) noexcept
{
    Bucket& bucket = buckets_[index_of(word)];
    Woken woken;
    Task** end = &woken.first;
    const std::lock_guard guard(bucket.lock);
    for (Task* task = bucket.first; task != nullptr && count > 0;) {
        Task* const next = task->sleep.next;
        if (task->sleep.word == &word) {
            unlink(bucket, *task);
            *end = task;
            end = &task->next;
            --count;
        }
        task = next;
    }
    *end = nullptr;
    woken.is_in_kernel = bucket.in_kernel != 0;
    return woken;
}

Task* Bedroom::take_task(Task& task) noexcept
{
    // Relaxed: an old one leads to a bucket where its word is not.
    const std::size_t index = task.sleep.bucket.load(std::memory_order_relaxed);
    Bucket& bucket = buckets_[index];
    const std::lock_guard guard(bucket.lock);
    if (task.sleep.word == nullptr || index_of(*task.sleep.word) != index) {
        return nullptr;
    }
    unlink(bucket, task);
    task.next = nullptr;
    return &task;
}

Task* Bedroom::take_due(std::int64_t now_ns) noexcept
{
    Task* first = nullptr;
    const std::lock_guard guard(deadlines_lock_);
    for (const auto& [due_ns, task] : deadlines_) {
        if (due_ns > now_ns) {
            break;
        }
        // Relaxed: written before its entry was made, under the lock.
        Bucket& bucket = buckets_[task->sleep.bucket.load(std::memory_order_relaxed)];
        const std::lock_guard bucket_guard(bucket.lock);
        // Without a word somebody else has woken it, and its entry stays until it gets up.
        if (task->sleep.word != nullptr) {
            unlink(bucket, *task);
            task->sleep.has_timed_out = true;
            task->next = first;
            first = task;
        }
    }
    return first;
}

void Bedroom::update_first_due() noexcept
{
    // Relaxed: written under the lock; see first_due_ns().
    first_due_ns_.store(deadlines_.empty() ? never_ns : deadlines_.begin()->first,
                        std::memory_order_relaxed);
}

platform::FutexWait Bedroom::sleep_in_kernel(const Word& word, std::uint32_t expected,
                                             std::int64_t deadline_ns) noexcept
{
    Bucket& bucket = buckets_[index_of(word)];
    {
        const std::lock_guard guard(bucket.lock);
        ++bucket.in_kernel;
    }
    const platform::FutexWait slept = platform::system_wait(word, expected, deadline_ns);
    const std::lock_guard guard(bucket.lock);
    --bucket.in_kernel;
    return slept;
}

}  // namespace headway::ult

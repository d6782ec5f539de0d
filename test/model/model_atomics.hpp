// SPDX-License-Identifier: Apache-2.0
//
// The Atomics policy over Relacy: the classes of `sync` run under a model checker unchanged.
// Include this header after those of Headway: Relacy redefines words of the language by macros.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <source_location>

#include "platform/atomic.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC system_header
#include <relacy/relacy.hpp>
#pragma GCC diagnostic pop

#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef futex

namespace headway::model {

inline rl::debug_info info_of(const std::source_location& place)
{
    return rl::debug_info(place.function_name(), place.file_name(), place.line());
}

/// What a model leaves out, to show that it notices: the strength of the code is then needed.
enum class Weakening {
    none,
    no_fence,
    no_release,
    no_total_order,  ///< sequentially consistent operations only acquire and release
    no_acquire,      ///< and those that only acquire are relaxed
};

template <Weakening weakening>
constexpr rl::memory_order order_of(std::memory_order order)
{
    constexpr bool keeps_release = weakening != Weakening::no_release;
    constexpr bool keeps_acquire = weakening != Weakening::no_acquire;
    constexpr bool keeps_order = keeps_acquire && weakening != Weakening::no_total_order;
    switch (order) {
        case std::memory_order_relaxed:
            return rl::mo_relaxed;
        case std::memory_order_release:
            return keeps_release ? rl::mo_release : rl::mo_relaxed;
        case std::memory_order_acq_rel:
            return keeps_release ? rl::mo_acq_rel : rl::mo_acquire;
        case std::memory_order_seq_cst:
            return keeps_order ? rl::mo_seq_cst : rl::mo_acq_rel;
        default:
            return keeps_acquire ? rl::mo_acquire : rl::mo_relaxed;
    }
}

template <typename T, Weakening weakening>
class ModelAtomic {
    using Place = std::source_location;

  public:
    ModelAtomic() : ModelAtomic(T{}) {}
    ModelAtomic(T value) { value_.store(value, rl::mo_relaxed, info_of(Place::current())); }

    T load(std::memory_order order, Place at = Place::current()) const
    {
        const rl::memory_order how = convert(order);
        return value_.load(how == rl::mo_acq_rel ? rl::mo_acquire : how, info_of(at));
    }
    void store(T value, std::memory_order order, Place at = Place::current())
    {
        const rl::memory_order how = convert(order);
        value_.store(value, how == rl::mo_acq_rel ? rl::mo_release : how, info_of(at));
    }
    T exchange(T value, std::memory_order order, Place at = Place::current())
    {
        return value_.rmw(rl::rmw_type_t<rl::rmw_type_swap>(), value, convert(order), info_of(at));
    }
    template <typename Change>
    T fetch_add(Change change, std::memory_order order, Place at = Place::current())
    {
        return value_.rmw(rl::rmw_type_t<rl::rmw_type_add>(), change, convert(order), info_of(at));
    }
    template <typename Change>
    T fetch_sub(Change change, std::memory_order order, Place at = Place::current())
    {
        return value_.rmw(rl::rmw_type_t<rl::rmw_type_sub>(), change, convert(order), info_of(at));
    }
    T fetch_or(T bits, std::memory_order order, Place at = Place::current())
    {
        return value_.rmw(rl::rmw_type_t<rl::rmw_type_or>(), bits, convert(order), info_of(at));
    }
    T fetch_and(T bits, std::memory_order order, Place at = Place::current())
    {
        return value_.rmw(rl::rmw_type_t<rl::rmw_type_and>(), bits, convert(order), info_of(at));
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order order,
                               std::memory_order /*failure*/, Place at = Place::current())
    {
        return value_.compare_exchange(rl::bool_t<true>(), expected, desired, convert(order),
                                       info_of(at));
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order order,
                                 std::memory_order /*failure*/, Place at = Place::current())
    {
        return value_.compare_exchange(rl::bool_t<false>(), expected, desired, convert(order),
                                       info_of(at));
    }

    /// The atom itself, for the futex.
    rl::atomic<T>& atom() const { return value_; }

  private:
    static rl::memory_order convert(std::memory_order order) { return order_of<weakening>(order); }
    mutable rl::atomic<T> value_;
};

/// A variable that is not atomic; Relacy reports every race on it.
template <typename T>
class ModelPlain {
  public:
    ModelPlain() : value_(T{}) {}
    ModelPlain(T value) : value_(value) {}
    operator T() const { return value_(info_of(std::source_location::current())).load(); }
    ModelPlain& operator=(T value)
    {
        value_(info_of(std::source_location::current())).store(value);
        return *this;
    }

  private:
    rl::var<T> value_;
};

template <Weakening weakening = Weakening::none>
struct ModelAtomics {
    template <typename T>
    using Atomic = ModelAtomic<T, weakening>;
    template <typename T>
    using Plain = ModelPlain<T>;

    static constexpr unsigned polite_attempts = 0;

    static void fence_full()
    {
        if constexpr (weakening != Weakening::no_fence) {
            rl::atomic_thread_fence(rl::mo_seq_cst, info_of(std::source_location::current()));
        }
    }

    /// membarrier(2) makes the pair as good as a full fence on either side.
    static void fence_compiler() { fence_full(); }
    static void fence_others() { fence_full(); }
    static std::uintptr_t self() { return rl::thread_index() + 1; }

    /// The kernel compares and goes to sleep in one step, and orders itself against wakers.
    static platform::FutexWait wait_on(const Atomic<std::uint32_t>& word, std::uint32_t expected,
                                       platform::Deadline /*none in models*/)
    {
        const rl::debug_info here = info_of(std::source_location::current());
        rl::context& context = rl::ctx();
        context.sched();
        context.atomic_thread_fence_seq_cst();
        std::uint32_t seen = 0;
        {
            rl::preemption_disabler undisturbed(context);
            seen = word.atom().load(rl::mo_relaxed, here);
        }
        if (seen != expected) {
            return platform::FutexWait::value_differed;
        }
        (void)word.atom().wait(context, false, false, here);
        return platform::FutexWait::awake;
    }

    static void wake(const Atomic<std::uint32_t>& word, int count = 1'000)
    {
        rl::context& context = rl::ctx();
        context.sched();
        context.atomic_thread_fence_seq_cst();
        word.atom().wake(context, count, info_of(std::source_location::current()));
    }

    static void pause(unsigned /*attempt*/)
    {
        rl::yield(1, info_of(std::source_location::current()));
    }
};

inline void require(bool condition, const char* sentence,
                    std::source_location place = std::source_location::current())
{
    if (!condition) {
        rl::ctx().fail_test(sentence, rl::test_result_user_assert_failed, info_of(place));
    }
}

/// How much of the interleavings is searched.
struct Search {
    enum class Kind { every, bounded, random } kind = Kind::every;
    unsigned context_bound = 0;    ///< bounded: switches away from a runnable thread
    unsigned long iterations = 0;  ///< random
};

template <typename Test>
rl::test_result_e search(const Search& how, std::ostream* log, rl::iteration_t* iterations)
{
    rl::test_params params;
    params.output_stream = log;
    params.progress_stream = log;
    params.execution_depth_limit = 4'000;
    params.iteration_count = how.iterations == 0 ? 1 : how.iterations;
    params.context_bound = how.context_bound;
    params.search_type = how.kind == Search::Kind::every     ? rl::sched_full
                         : how.kind == Search::Kind::bounded ? rl::sched_bound
                                                             : rl::sched_random;
    rl::simulate<Test>(params);
    *iterations = params.stop_iteration;
    return params.test_result;
}

/// True if no interleaving fails.
template <typename Test>
bool holds(const char* name, const Search& how)
{
    rl::iteration_t iterations = 0;
    std::ostream silence(nullptr);
    const rl::test_result_e result = search<Test>(how, &silence, &iterations);
    const bool success = result == rl::test_result_success;
    std::printf("%-60s %s (%llu interleavings)\n", name, success ? "holds" : "FAILS",
                static_cast<unsigned long long>(iterations));
    if (!success) {
        std::fflush(stdout);
        (void)search<Test>(how, &std::cout, &iterations);  // the same again, with its history
    }
    std::fflush(stdout);
    return success;
}

/// True if the checker finds a failure in a test that was weakened on purpose.
template <typename Test>
bool is_refuted(const char* name, const Search& how)
{
    std::ostream silence(nullptr);
    rl::iteration_t iterations = 0;
    const rl::test_result_e result = search<Test>(how, &silence, &iterations);
    const bool success = result == rl::test_result_success;
    std::printf("%-60s %s (%s)\n", name, success ? "NOT REFUTED" : "refuted, as it should be",
                rl::test_result_str(result));
    std::fflush(stdout);
    return !success;
}

}  // namespace headway::model

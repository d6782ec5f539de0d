// SPDX-License-Identifier: Apache-2.0
#include "hosted_rank.hpp"

#include <elf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio_ext.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "file_bytes.hpp"
#include "host.hpp"
#include "rank_crew.hpp"

namespace headway::launch {
namespace {

using Init = void (*)(int, char**, char**);
using Fini = void (*)();

/// The rank is over, and what other ranks may still read of it, its stacks too, stays until the
/// process ends. Thread-specific data has no destructors to run where a process would just end.
[[noreturn]] void stay_until_process_ends() noexcept
{
    if (ult::own_task() != nullptr) {
        RankCrew::of_process()->crew().end();
    }
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (true) {
        ::pause();
    }
}

template <typename Function>
Function function_at(std::uintptr_t address) noexcept
{
    return reinterpret_cast<Function>(address);
}

void run_array(std::uintptr_t base, std::uint64_t array, std::uint64_t bytes, int argument_count,
               char** arguments, char** environment)
{
    const auto* const first = reinterpret_cast<const std::uintptr_t*>(base + array);
    for (std::uint64_t i = 0; i < bytes / sizeof(std::uintptr_t); ++i) {
        function_at<Init>(first[i])(argument_count, arguments, environment);
    }
}

/// The words that the kernel puts on a program's first stack, argc at the lowest address.
std::vector<std::uintptr_t> first_words(std::vector<std::string>& arguments, char** environment,
                                        const LoadedProgram& image, const std::string& path)
{
    const auto word = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
    std::vector<std::uintptr_t> words{arguments.size()};
    for (std::string& each : arguments) {
        words.push_back(word(each.data()));
    }
    words.push_back(0);
    for (char** each = environment; *each != nullptr; ++each) {
        words.push_back(word(*each));
    }
    words.push_back(0);
    static const auto kernel = read_file("/proc/self/auxv");  // the same for all ranks
    const std::size_t pairs = kernel ? kernel.value().size() / sizeof(Elf64_auxv_t) : 0;
    for (std::size_t i = 0; i < pairs; ++i) {
        Elf64_auxv_t entry;
        std::memcpy(&entry, kernel.value().data() + i * sizeof entry, sizeof entry);
        switch (entry.a_type) {
            case AT_PHDR:
                entry.a_un.a_val = image.segments;
                break;
            case AT_PHNUM:
                entry.a_un.a_val = image.segment_count;
                break;
            case AT_ENTRY:
                entry.a_un.a_val = image.entry;
                break;
            case AT_EXECFN:
                entry.a_un.a_val = word(path.c_str());
                break;
            default:
                break;
        }
        words.push_back(entry.a_type);
        words.push_back(entry.a_un.a_val);
        if (entry.a_type == AT_NULL) {
            return words;
        }
    }
    words.insert(words.end(), {AT_NULL, 0});
    return words;
}

/// Copies the words below all that the thread has on its stack and goes to the program's entry,
/// as the kernel does.
[[noreturn, gnu::noinline]] void jump_to(std::uintptr_t entry,
                                         const std::vector<std::uintptr_t>& words)
{
    const std::size_t bytes = words.size() * sizeof(std::uintptr_t);
    void* const stack = __builtin_alloca_with_align(bytes + 16, 128);
    std::memcpy(stack, words.data(), bytes);
    asm volatile(
        "mov %0, %%rsp\n\t"
        "xor %%ebp, %%ebp\n\t"
        "xor %%edx, %%edx\n\t"
        "jmp *%1"
        :
        : "S"(stack), "D"(entry)
        : "rdx", "memory");
    __builtin_unreachable();
}

}  // namespace

HostedRank::HostedRank(Host& host, int number, const HostPlan::Program& plan,
                       const HostedProgram& program, std::vector<int> cpus)
    : host_(host),
      number_(number),
      plan_(plan),
      program_(program),
      cpus_(std::move(cpus)),
      arguments_(plan.arguments),
      environment_(plan.environment)
{
    environment_.set("MPI_LOCALRANKID", std::to_string(number), true);
    ::initstate_r(1, libc_.random_state, sizeof libc_.random_state, &libc_.random);
}

void HostedRank::fail(const std::string& sentence)
{
    host_.end_job(*this, 127, sentence);
}

bool HostedRank::interrupt(int signal) const noexcept
{
    // Relaxed: the thread never ends.
    const pthread_t thread = thread_.load(std::memory_order_relaxed);
    return thread != pthread_t{} && ::pthread_kill(thread, signal) == 0;
}

void HostedRank::take_place()
{
    thread_.store(::pthread_self(), std::memory_order_relaxed);  // relaxed: as in interrupt()
    const std::string label = std::to_string(number_);
    const std::string& path = program_.path;
    const std::string name = path.substr(path.rfind('/') + 1);
    ::pthread_setname_np(::pthread_self(),
                         (name.substr(0, 14 - label.size()) + ":" + label).c_str());
    if (RankCrew::of_process() == nullptr) {
        // Working directory and umask are the rank's own from here on.
        go_to_directory(::unshare(CLONE_FS) == 0);
    } else if (number_ == host_.first_rank()) {
        go_to_directory(true);
    }
    if (!cpus_.empty()) {
        cpu_set_t set;
        CPU_ZERO(&set);
        for (const int cpu : cpus_) {
            if (cpu < CPU_SETSIZE) {
                CPU_SET(static_cast<std::size_t>(cpu), &set);
            }
        }
        if (::sched_setaffinity(0, sizeof set, &set) != 0) {
            fail(std::string("cannot be bound to its cores: ") + std::strerror(errno) +
                 "; use --bind-to none");
        }
    }
}

void HostedRank::go_to_directory(bool is_apart)
{
    if (!plan_.directory.empty() && (!is_apart || ::chdir(plan_.directory.c_str()) != 0)) {
        fail("cannot start in directory " + plan_.directory + ": " + std::strerror(errno));
    }
}

void HostedRank::remember_stack() noexcept
{
    pthread_attr_t attributes;
    void* begin = nullptr;
    if (::pthread_getattr_np(::pthread_self(), &attributes) == 0) {
        ::pthread_attr_getstack(&attributes, &begin, &stack_bytes_);
        ::pthread_attr_destroy(&attributes);
    }
    stack_begin_ = static_cast<char*>(begin);
}

std::size_t HostedRank::stack_bytes_used() const
{
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> is_there(stack_bytes_ / page);
    if (stack_begin_ == nullptr || ::mincore(stack_begin_, stack_bytes_, is_there.data()) != 0) {
        return 0;
    }
    const auto lowest = std::find_if(is_there.begin(), is_there.end(),
                                     [](unsigned char each) { return (each & 1U) != 0; });
    return static_cast<std::size_t>(is_there.end() - lowest) * page;
}

void HostedRank::load_copy()
{
    auto image = load_program(program_, own_variables());
    if (!image) {
        fail("cannot start: " + image.sentence());
    }
    image_ = std::move(image.value());
}

void HostedRank::run()
{
    take_place();
    own_thread().is_main = true;
    drop_unused_reserve(program_.facts.tls_bytes);
    remember_stack();
    adopt_thread();
    name_program();
    RankCrew* const crew = RankCrew::of_process();
    if (crew != nullptr && !crew->crew().enter(task_)) {
        fail("cannot start: the system has no memory left");
    }
    enter_program();
}

void HostedRank::name_program()
{
    std::vector<const char*> words;
    words.reserve(arguments_.size());
    for (const std::string& each : arguments_) {
        words.push_back(each.c_str());
    }
    host_.library().table().name_program(static_cast<int>(words.size()), words.data());
}

void HostedRank::enter_program()
{
    jump_to(image_.entry, first_words(arguments_, environment_.array(), image_, program_.path));
}

void HostedRank::adopt_thread() noexcept
{
    HostThread& thread = own_thread();
    if (image_.tls_image != 0) {
        std::memcpy(thread_locals_of_program(program_.facts.tls_bytes),
                    reinterpret_cast<const void*>(image_.tls_image), image_.tls_image_bytes);
    }
    thread.rank = this;
    // A user-level rank takes signals on its worker, which has a stack for them.
    if (!thread.is_main || RankCrew::of_process() == nullptr) {
        make_signal_stack(thread);
    }
    host_.library().table().enter_rank(number_ - host_.first_rank());
}

void* HostedRank::copied_variable(std::string_view name) const noexcept
{
    const auto found = program_.copied.find(name);
    return found == program_.copied.end()
               ? nullptr
               : reinterpret_cast<void*>(image_.program().base + found->second);
}

RankVariables HostedRank::own_variables() noexcept
{
    return {{"environ", &libc_.environment},   {"__environ", &libc_.environment},
            {"_environ", &libc_.environment},  {"optarg", &libc_.optarg},
            {"optind", &libc_.optind},         {"opterr", &libc_.opterr},
            {"optopt", &libc_.optopt},         {"stdin", &libc_.input},
            {"stdout", &libc_.output},         {"stderr", &libc_.errors},
            {"tzname", &libc_.zone_names},     {"__tzname", &libc_.zone_names},
            {"timezone", &libc_.seconds_west}, {"__timezone", &libc_.seconds_west},
            {"daylight", &libc_.has_summer},   {"__daylight", &libc_.has_summer}};
}

OptionVariables HostedRank::option_variables() noexcept
{
    return {variable("optarg", libc_.optarg), variable("optind", libc_.optind),
            variable("opterr", libc_.opterr), variable("optopt", libc_.optopt)};
}

ZoneVariables HostedRank::zone_variables() noexcept
{
    return {variable("tzname", libc_.zone_names), &variable("timezone", libc_.seconds_west),
            &variable("daylight", libc_.has_summer)};
}

void HostedRank::set_copied_variables(char** arguments)
{
    InZone::set_first_values(zone_variables());
    environment_.attach(&variable("environ", libc_.environment));
    const auto set = [this](const char* name, char* value) {
        if (void* const copied = copied_variable(name); copied != nullptr) {
            *static_cast<char**>(copied) = value;
        }
    };
    char* const slash = std::strrchr(arguments[0], '/');
    char* const short_name = slash == nullptr ? arguments[0] : slash + 1;
    set("program_invocation_name", arguments[0]);
    set("__progname_full", arguments[0]);
    set("program_invocation_short_name", short_name);
    set("__progname", short_name);
}

/// Streams of its own, as programs may use theirs without locks, and read and write in whatever
/// pieces they like. As of processes, only the first one has the input.
void HostedRank::open_streams()
{
    std::FILE* const input =
        number_ == 0 ? ::fdopen(STDIN_FILENO, "r") : std::fopen("/dev/null", "re");
    streams_ = {input, ::fdopen(STDOUT_FILENO, "w"), ::fdopen(STDERR_FILENO, "w")};
    if (input == nullptr || streams_[1] == nullptr || streams_[2] == nullptr) {
        fail(std::string("cannot open its standard streams: ") + std::strerror(errno));
    }
    std::setvbuf(streams_[2], nullptr, _IONBF, 0);
    variable("stdin", libc_.input) = streams_[0];
    variable("stdout", libc_.output) = streams_[1];
    variable("stderr", libc_.errors) = streams_[2];
}

void HostedRank::drop_output() noexcept
{
    if (streams_[1] != nullptr) {
        ::__fpurge(streams_[1]);
    }
}

void HostedRank::run_inits(int argument_count, char** arguments,
                           int (*old_init)(int, char**, char**))
{
    char** const variables = environment_.array();
    for (const LoadedFile& each : image_.files) {
        const LifeCalls& calls = each.file->calls;
        const bool is_program = &each == &image_.program();
        if (is_program) {
            run_array(each.base, calls.preinit_array, calls.preinit_bytes, argument_count,
                      arguments, variables);
        }
        if (is_program && old_init != nullptr) {
            old_init(argument_count, arguments, variables);
            continue;
        }
        if (calls.init != 0) {
            function_at<Init>(each.base + calls.init)(argument_count, arguments, variables);
        }
        run_array(each.base, calls.init_array, calls.init_bytes, argument_count, arguments,
                  variables);
    }
}

void HostedRank::run_finis()
{
    for (std::size_t i = image_.files.size(); i > 0; --i) {
        const LoadedFile& file = image_.files[i - 1];
        const LifeCalls& calls = file.file->calls;
        const auto* const first =
            reinterpret_cast<const std::uintptr_t*>(file.base + calls.fini_array);
        for (std::uint64_t left = calls.fini_bytes / sizeof(std::uintptr_t); left > 0; --left) {
            function_at<Fini>(first[left - 1])();
        }
        if (calls.fini != 0) {
            function_at<Fini>(file.base + calls.fini)();
        }
    }
}

void HostedRank::start_main(int (*main)(int, char**, char**), int argument_count, char** arguments,
                            int (*old_init)(int, char**, char**))
{
    set_copied_variables(arguments);
    open_streams();
    run_inits(argument_count, arguments, old_init);
    is_initialised_ = true;
    exit(main(argument_count, arguments, environment_.array()));
}

bool HostedRank::add_exit_call(void (*function)(void*), void* argument, void* owner)
{
    const std::lock_guard lock(exit_mutex_);
    exit_calls_.push_back({function, nullptr, argument, owner});
    return true;
}

bool HostedRank::add_exit_call(void (*function)(int, void*), void* argument)
{
    const std::lock_guard lock(exit_mutex_);
    exit_calls_.push_back({nullptr, function, argument, nullptr});
    return true;
}

bool HostedRank::add_quick_exit_call(void (*function)(void*), void* argument)
{
    const std::lock_guard lock(exit_mutex_);
    quick_exit_calls_.push_back({function, nullptr, argument, nullptr});
    return true;
}

void HostedRank::run_exit_calls(const void* owner, int code)
{
    // One at a time: a call may register others, or call exit.
    while (true) {
        ExitCall call{};
        {
            const std::lock_guard lock(exit_mutex_);
            const auto last = std::find_if(
                exit_calls_.rbegin(), exit_calls_.rend(),
                [owner](const auto& each) { return owner == nullptr || each.owner == owner; });
            if (last == exit_calls_.rend()) {
                return;
            }
            call = *last;
            exit_calls_.erase(std::next(last).base());
        }
        if (call.function != nullptr) {
            call.function(call.argument);
        } else {
            call.function_with_code(code, call.argument);
        }
    }
}

void HostedRank::take_down(int code)
{
    run_thread_exit_calls(own_thread());
    run_exit_calls(nullptr, code);
    if (is_initialised_) {
        is_initialised_ = false;
        run_finis();
    }
}

void HostedRank::exit(int code)
{
    HostThread& thread = own_thread();
    // Relaxed: decides who goes on, and hands nothing over.
    if (is_exiting_.exchange(true, std::memory_order_relaxed) && !thread.is_exiting) {
        stay_until_process_ends();
    }
    thread.is_exiting = true;
    take_down(code);
    std::fflush(streams_[1]);
    std::fflush(streams_[2]);
    end_now(code);
}

void HostedRank::quick_exit(int code)
{
    while (true) {
        ExitCall call{};
        {
            const std::lock_guard lock(exit_mutex_);
            if (quick_exit_calls_.empty()) {
                break;
            }
            call = quick_exit_calls_.back();
            quick_exit_calls_.pop_back();
        }
        call.function(call.argument);
    }
    end_now(code);
}

void HostedRank::end_now(int code)
{
    // Relaxed: as above.
    if (!is_over_.exchange(true, std::memory_order_relaxed)) {
        host_.rank_ended(*this, code);
    }
    stay_until_process_ends();
}

void HostedRank::count_thread_started() noexcept
{
    // Relaxed: a count that only the end of the main thread waits for.
    other_threads_.fetch_add(1, std::memory_order_relaxed);
}

void HostedRank::count_thread_ended() noexcept
{
    // (1) release, pairs with (2): what the thread did comes before what follows its end.
    other_threads_.fetch_sub(1, std::memory_order_release);
    other_threads_.notify_all();
}

void HostedRank::wait_for_other_threads() noexcept
{
    // (2) acquire, pairs with (1).
    for (int left = other_threads_.load(std::memory_order_acquire); left != 0;
         left = other_threads_.load(std::memory_order_acquire)) {
        other_threads_.wait(left, std::memory_order_acquire);
    }
}

HostedRank* asking_rank(const void* caller) noexcept
{
    HostedRank* const rank = own_thread().rank;
    const Host* const host = Host::of_process();
    const bool is_programs = rank != nullptr && host != nullptr && !host->library().has(caller);
    return is_programs ? rank : nullptr;
}

LibcState& state_of(HostedRank* rank)
{
    static LibcState idle;
    static const bool is_ready =
        ::initstate_r(1, idle.random_state, sizeof idle.random_state, &idle.random) == 0;
    (void)is_ready;
    return rank != nullptr ? rank->libc() : idle;
}

}  // namespace headway::launch

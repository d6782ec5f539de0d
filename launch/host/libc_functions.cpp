// SPDX-License-Identifier: Apache-2.0
#include "libc_functions.hpp"

#include <dlfcn.h>

namespace headway::launch {
namespace {

template <typename Function>
void look_up(Function*& function, const char* name) noexcept
{
    function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

LibcFunctions look_all_up() noexcept
{
    LibcFunctions all{};
    look_up(all.start_main, "__libc_start_main");
    look_up(all.pthread_create, "pthread_create");
    look_up(all.pthread_exit, "pthread_exit");
    look_up(all.exit, "exit");
    look_up(all.immediate_exit, "_exit");
    look_up(all.quick_exit, "quick_exit");
    look_up(all.add_exit_call, "__cxa_atexit");
    look_up(all.add_exit_call_with_code, "on_exit");
    look_up(all.add_quick_exit_call, "__cxa_at_quick_exit");
    look_up(all.run_exit_calls, "__cxa_finalize");
    look_up(all.add_thread_exit_call, "__cxa_thread_atexit_impl");
    look_up(all.getenv, "getenv");
    look_up(all.secure_getenv, "secure_getenv");
    look_up(all.setenv, "setenv");
    look_up(all.unsetenv, "unsetenv");
    look_up(all.putenv, "putenv");
    look_up(all.clearenv, "clearenv");
    look_up(all.fclose, "fclose");
    look_up(all.readlink, "readlink");
    look_up(all.vfprintf_chk, "__vfprintf_chk");
    look_up(all.execve, "execve");
    look_up(all.execvpe, "execvpe");
    look_up(all.fexecve, "fexecve");
    look_up(all.sched_yield, "sched_yield");
    look_up(all.usleep, "usleep");
    look_up(all.sleep, "sleep");
    look_up(all.nanosleep, "nanosleep");
    look_up(all.clock_nanosleep, "clock_nanosleep");
    look_up(all.tzset, "tzset");
    look_up(all.localtime_r, "localtime_r");
    look_up(all.gmtime_r, "gmtime_r");
    look_up(all.ctime_r, "ctime_r");
    look_up(all.mktime, "mktime");
    look_up(all.strftime, "strftime");
    look_up(all.strftime_l, "strftime_l");
    look_up(all.wcsftime, "wcsftime");
    look_up(all.wcsftime_l, "wcsftime_l");
    look_up(all.strptime, "strptime");
    return all;
}

}  // namespace

const LibcFunctions& libc_functions() noexcept
{
    static const LibcFunctions all = look_all_up();
    return all;
}

}  // namespace headway::launch

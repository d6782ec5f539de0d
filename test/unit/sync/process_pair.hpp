// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace headway::sync {

/// An object of zero bytes in memory that a forked child shares: what the node heap gives.
template <typename T>
class Shared {
  public:
    Shared()
        : place_(
              ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
    {
        if (place_ == MAP_FAILED) {
            std::abort();
        }
    }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    ~Shared() { ::munmap(place_, sizeof(T)); }

    T* get() const { return static_cast<T*>(place_); }
    T* operator->() const { return get(); }
    T& operator*() const { return *get(); }

  private:
    void* place_;
};

/// A child process that runs `work` and ends with its result; killed by a watchdog if it hangs.
class Child {
  public:
    template <typename Work>
    explicit Child(const Work& work) : pid_(::fork())
    {
        if (pid_ == 0) {
            ::alarm(60);
            ::_exit(work());
        }
    }

    int exit_code() const
    {
        int status = 0;
        if (::waitpid(pid_, &status, 0) != pid_ || !WIFEXITED(status)) {
            return -1;
        }
        return WEXITSTATUS(status);
    }

  private:
    pid_t pid_;
};

}  // namespace headway::sync

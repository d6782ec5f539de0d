// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <functional>
#include <memory>
#include <string>

#include "memory/node_heap.hpp"

namespace headway::memory {

inline HeapOptions small_heap(std::uint32_t ranks)
{
    HeapOptions options;
    options.size_bytes = std::uint64_t{256} << 20;
    options.rank_count = ranks;
    options.version = "test";
    options.name = "headway-test";
    const std::uint32_t mask = NodeHeap::candidate_mask(options.size_bytes);
    options.candidate = static_cast<unsigned>(std::countr_zero(mask));
    return options;
}

inline std::unique_ptr<NodeHeap> make_heap(std::uint32_t ranks)
{
    auto heap = NodeHeap::create(small_heap(ranks));
    EXPECT_TRUE(heap.has_value()) << (heap ? std::string() : heap.sentence());
    return heap ? std::move(heap.value()) : nullptr;
}

/// Runs `work` in a child process, which ends with its result as exit code.
inline pid_t in_child(const std::function<int()>& work)
{
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        ::_exit(work());
    }
    return child;
}

inline int exit_code_of(pid_t child)
{
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        return -1;
    }
    return WEXITSTATUS(status);
}

}  // namespace headway::memory

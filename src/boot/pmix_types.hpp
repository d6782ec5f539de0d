// SPDX-License-Identifier: Apache-2.0
// What Headway needs of PMIx, which is opened at run time: layouts and numbers that the PMIx
// Standard (4.1 and 5.0, chapters 3 and 4) fixes for all implementations. A unit test compares
// them with the header of Debian's library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headway::boot::pmix {

inline constexpr std::size_t namespace_length_max = 255;
inline constexpr std::size_t key_length_max = 511;

using Rank = std::uint32_t;
inline constexpr Rank any_rank = 0xffff'ffffU;   ///< PMIX_RANK_UNDEF: whoever has put the key
inline constexpr Rank whole_job = any_rank - 1;  ///< PMIX_RANK_WILDCARD

using Code = int;
inline constexpr Code success = 0;
inline constexpr Code not_found = -46;

enum class Type : std::uint16_t {
    undefined = 0,
    boolean = 1,
    string = 3,
    integer = 6,
    number32 = 14
};
enum class Scope : std::uint8_t { global = 3 };

struct Process {
    char job[namespace_length_max + 1];
    Rank rank;
};

struct Value {
    Type type;
    union {
        bool boolean;
        char* string;
        int integer;
        std::uint32_t number32;
        void* room[3];
    } data;
};

struct Info {
    char key[key_length_max + 1];
    std::uint32_t flags;
    Value value;
};

inline constexpr const char* job_size_key = "pmix.job.size";
inline constexpr const char* node_key = "pmix.nodeid";
inline constexpr const char* host_key = "pmix.hname";
/// Settings of single calls.
inline constexpr const char* collect_key = "pmix.collect";
inline constexpr const char* known_here_key = "pmix.optional";
inline constexpr const char* patience_key = "pmix.timeout";

/// The functions of the library that are used.
struct Functions {
    Code (*init)(Process* own, Info* settings, std::size_t setting_count) = nullptr;
    Code (*finalize)(const Info* settings, std::size_t setting_count) = nullptr;
    Code (*put)(Scope scope, const char* key, Value* value) = nullptr;
    Code (*commit)() = nullptr;
    Code (*fence)(const Process* processes, std::size_t process_count, const Info* settings,
                  std::size_t setting_count) = nullptr;
    Code (*get)(const Process* whose, const char* key, const Info* settings,
                std::size_t setting_count, Value** value) = nullptr;
    Code (*abort)(int code, const char* message, Process* processes,
                  std::size_t process_count) = nullptr;
    const char* (*error_string)(Code code) = nullptr;
};

}  // namespace headway::boot::pmix

# SPDX-License-Identifier: Apache-2.0
# What a preset changes: optimisation, sanitizers, coverage. One interface library carries it to
# every target, so that no target can be built half instrumented.
set(HEADWAY_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")
option(HEADWAY_FUZZ "Tell libFuzzer which edges are taken (clang)" OFF)
option(HEADWAY_COVERAGE "Count executed lines (gcov)" OFF)
option(HEADWAY_DIAGNOSTICS "Compare calls, report deadlocks; OFF to count what that costs" ON)

set(CMAKE_C_FLAGS_RELEASE "-O3 -g -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")

add_library(headway_flavour INTERFACE)
target_compile_options(headway_flavour INTERFACE
    -fno-omit-frame-pointer -fvisibility=hidden
    $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>
    # __FILE__ in messages does not depend on where the tree was cloned.
    -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Unique symbols would be shared between copies of the library in one process.
    target_compile_options(headway_flavour INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
        # Left alone, gcc clears and copies structures of 100 bytes and more by `rep stos` and `rep
        # movs`, which cost some 30 cycles before the first byte: a sixth of a collective of 8 B.
        set(strategy unrolled_loop:512:noalign,libcall:-1:noalign)
        target_compile_options(headway_flavour INTERFACE
            "$<$<CONFIG:Release>:-mmemset-strategy=${strategy};-mmemcpy-strategy=${strategy}>")
    endif()
endif()
if(HEADWAY_SANITIZE)
    target_compile_options(headway_flavour INTERFACE
        -fsanitize=${HEADWAY_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(headway_flavour INTERFACE -fsanitize=${HEADWAY_SANITIZE})
    if(HEADWAY_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # gcc's run-time does not model fences; the code says so where it uses one.
        target_compile_options(headway_flavour INTERFACE -Wno-tsan)
    endif()
endif()
if(NOT HEADWAY_DIAGNOSTICS)
    target_compile_definitions(headway_flavour INTERFACE HEADWAY_WITHOUT_DIAGNOSTICS)
endif()
if(HEADWAY_FUZZ)
    target_compile_options(headway_flavour INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(HEADWAY_COVERAGE)
    target_compile_options(headway_flavour INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(headway_flavour INTERFACE --coverage)
endif()
find_package(Threads REQUIRED)
target_link_libraries(headway_flavour INTERFACE Threads::Threads)

# SPDX-License-Identifier: Apache-2.0
# Warnings are errors in every preset; tests and tools get the same set as the library.
add_library(headway_warnings INTERFACE)
target_compile_options(headway_warnings INTERFACE
    -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Werror
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
    $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast>)

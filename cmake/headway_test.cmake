# SPDX-License-Identifier: Apache-2.0
# Declares test programs. Every test has a watchdog: 60 seconds quick, 15 minutes long.
set(HEADWAY_WATCHDOG_QUICK 60)
set(HEADWAY_WATCHDOG_LONG 900)

function(headway_test_properties name label)
    string(TOUPPER "${label}" key)
    set_tests_properties(${name} PROPERTIES
        LABELS "${label}" TIMEOUT ${HEADWAY_WATCHDOG_${key}})
endfunction()

# headway_gtest(<name> <label> <source>...)
function(headway_gtest name label)
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE headway_flavour headway_warnings GTest::gtest_main)
    target_include_directories(${name} PRIVATE
        "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include"
        "${PROJECT_SOURCE_DIR}/test" "${HEADWAY_GENERATED}")
    if(TARGET headway_generated)
        add_dependencies(${name} headway_generated)
    endif()
    if(TARGET headway_internal)
        target_link_libraries(${name} PRIVATE headway_internal)
    endif()
    add_test(NAME ${name} COMMAND ${name})
    headway_test_properties(${name} ${label})
endfunction()

# A file that carries `// headway-test: long` is left to `./dev test long`.
function(headway_label_of source result)
    file(STRINGS "${source}" marks REGEX "^// headway-test: long")
    if(marks)
        set(${result} long PARENT_SCOPE)
    else()
        set(${result} quick PARENT_SCOPE)
    endif()
endfunction()

# headway_single_tests(<kind>): one program a file test/<kind>/*_test.cpp.
function(headway_single_tests kind)
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/test/${kind}/*_test.cpp")
    foreach(source IN LISTS sources)
        get_filename_component(stem "${source}" NAME_WE)
        headway_label_of("${source}" label)
        headway_gtest(${kind}_${stem} ${label} "${source}")
        if(kind STREQUAL "property")
            target_link_libraries(${kind}_${stem} PRIVATE rapidcheck)
        endif()
    endforeach()
endfunction()

# headway_model_tests(): test/model/*_model.cpp, exhaustive interleavings with Relacy. Relacy's
# headers replace the atomics, so these programs link nothing of ours and relax the warnings.
function(headway_model_tests)
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/test/model/*_model.cpp")
    foreach(source IN LISTS sources)
        get_filename_component(stem "${source}" NAME_WE)
        headway_label_of("${source}" label)
        add_executable(model_${stem} "${source}")
        target_include_directories(model_${stem} PRIVATE
            "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/test" "${HEADWAY_GENERATED}")
        target_compile_options(model_${stem} PRIVATE -O2 -g)
        find_package(Threads REQUIRED)
        target_link_libraries(model_${stem} PRIVATE Threads::Threads)
        add_test(NAME model_${stem} COMMAND model_${stem})
        headway_test_properties(model_${stem} ${label})
    endforeach()
endfunction()

# headway_fuzzers(<layer>...): test/fuzz/*_fuzz.cpp, built by the target `fuzzers` of the preset
# fuzz only. They link the named layers, so that the others need not be compiled for them.
function(headway_fuzzers)
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/test/fuzz/*_fuzz.cpp")
    if(NOT sources OR NOT HEADWAY_FUZZ)
        return()
    endif()
    add_custom_target(fuzzers)
    list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:headway_\\1>" OUTPUT_VARIABLE objects)
    foreach(source IN LISTS sources)
        get_filename_component(stem "${source}" NAME_WE)
        add_executable(${stem} EXCLUDE_FROM_ALL "${source}" ${objects})
        target_link_libraries(${stem} PRIVATE headway_flavour headway_warnings)
        target_include_directories(${stem} PRIVATE
            "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${HEADWAY_GENERATED}")
        add_dependencies(${stem} headway_generated)
        if(stem STREQUAL "wire_fuzz")
            target_sources(${stem} PRIVATE "${PROJECT_SOURCE_DIR}/src/transport/ofi/wire.cpp")
        endif()
        if(stem STREQUAL "elf_image_fuzz")
            target_link_libraries(${stem} PRIVATE headway_host_parts)
        endif()
        target_compile_options(${stem} PRIVATE -fsanitize=fuzzer)
        target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
        add_dependencies(fuzzers ${stem})
    endforeach()
endfunction()

# SPDX-License-Identifier: Apache-2.0
# headway_layer(<layer>): OBJECT library headway_<layer> from src/<layer>/**.cpp. A layer without
# source files (headers only) makes no target. The order of layers is kept by `./dev check`.
function(headway_layer layer)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS
        "${PROJECT_SOURCE_DIR}/src/${layer}/*.cpp" "${PROJECT_SOURCE_DIR}/src/${layer}/*.S")
    list(FILTER sources EXCLUDE REGEX "/src/transport/ofi/")  # a module of its own
    if(NOT sources)
        return()
    endif()
    add_library(headway_${layer} OBJECT ${sources})
    headway_compile_as_library(headway_${layer})
    set_property(GLOBAL APPEND PROPERTY HEADWAY_OBJECT_LIBRARIES headway_${layer})
endfunction()

# What every object of the library has in common.
function(headway_compile_as_library target)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(${target} PRIVATE
        "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${HEADWAY_GENERATED}")
    target_link_libraries(${target} PRIVATE headway_flavour headway_warnings)
    if(TARGET headway_generated)
        add_dependencies(${target} headway_generated)
    endif()
endfunction()

# How the shared library is linked: only the names of exports.map are seen, and a program's own C++
# library stays out of our way. The unwinder is shared: with a private one, an exception that a
# program's callback throws through our frames aborts (test/link).
function(headway_link_as_library target)
    set(exports "${PROJECT_SOURCE_DIR}/cmake/exports.map")
    set_target_properties(${target} PROPERTIES LINK_DEPENDS "${exports}")
    target_link_options(${target} PRIVATE
        "-Wl,--version-script=${exports}" -Wl,--exclude-libs,ALL -Wl,-z,now,-z,relro)
    if(HEADWAY_SANITIZE)
        # A sanitized library finds its run-time in the program.
        target_link_options(${target} PRIVATE -Wl,-z,undefs)
    else()
        target_link_options(${target} PRIVATE -Wl,-z,defs -static-libstdc++ -shared-libgcc)
    endif()
endfunction()

# headway_network_module(<name> <source>...): a module that the library opens at run time, beside
# which it is installed, and <name>_parts, what tests link of it.
function(headway_network_module name)
    add_library(${name}_parts OBJECT ${ARGN})
    headway_compile_as_library(${name}_parts)
    target_compile_definitions(${name}_parts PRIVATE
        HEADWAY_VERSION="Headway ${PROJECT_VERSION}")
    add_library(${name} MODULE $<TARGET_OBJECTS:${name}_parts>)
    target_link_libraries(${name} PRIVATE headway_flavour)
    target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL -Wl,-z,now,-z,relro)
    if(HEADWAY_SANITIZE)
        target_link_options(${name} PRIVATE -Wl,-z,undefs)
    else()
        target_link_options(${name} PRIVATE -Wl,-z,defs -static-libstdc++ -shared-libgcc)
    endif()
    install(TARGETS ${name} LIBRARY DESTINATION lib)
endfunction()

# headway_generate(<script>): runs gen/<script> at build time. The script answers
# `--list` with the names of the files that `--out DIR` writes, one a line. Its outputs are appended
# to HEADWAY_GENERATED_FILES of the caller. A script that is not there generates nothing.
function(headway_generate script)
    set(path "${PROJECT_SOURCE_DIR}/gen/${script}")
    if(NOT EXISTS "${path}")
        return()
    endif()
    file(GLOB_RECURSE inputs CONFIGURE_DEPENDS
        "${PROJECT_SOURCE_DIR}/gen/*.py" "${PROJECT_SOURCE_DIR}/spec/*.toml")
    # The list may change with the data, so a change of either runs CMake again.
    set_property(DIRECTORY "${PROJECT_SOURCE_DIR}"
        APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${inputs})
    execute_process(COMMAND "${Python3_EXECUTABLE}" "${path}" --list
        OUTPUT_VARIABLE names RESULT_VARIABLE code OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT code EQUAL 0)
        message(FATAL_ERROR "gen/${script} --list failed")
    endif()
    string(REPLACE "\n" ";" names "${names}")
    set(outputs "")
    foreach(name IN LISTS names)
        list(APPEND outputs "${HEADWAY_GENERATED}/${name}")
    endforeach()
    add_custom_command(OUTPUT ${outputs}
        COMMAND "${Python3_EXECUTABLE}" "${path}" --out "${HEADWAY_GENERATED}"
        DEPENDS ${inputs} COMMENT "gen/${script}" VERBATIM)
    set(HEADWAY_GENERATED_FILES ${HEADWAY_GENERATED_FILES} ${outputs} PARENT_SCOPE)
endfunction()

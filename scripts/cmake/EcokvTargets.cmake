# SPDX-License-Identifier: GPL-3.0-or-later
# Common settings as INTERFACE targets (nothing global) and the two functions that make targets.

include(GNUInstallDirs)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

add_library(ecokv_warnings INTERFACE)
target_compile_options(ecokv_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wno-sign-conversion>)

add_library(ecokv_sanitize INTERFACE)
if(ECOKV_SANITIZE)
    list(JOIN ECOKV_SANITIZE "," sanitizers)
    target_compile_options(ecokv_sanitize INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${sanitizers} -fno-omit-frame-pointer>)
    target_link_options(ecokv_sanitize INTERFACE -fsanitize=${sanitizers})
endif()

function(ecokv_configure_target target)
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_link_libraries(${target} PRIVATE ecokv_warnings ecokv_sanitize)
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF
        POSITION_INDEPENDENT_CODE ON
        BUILD_RPATH_USE_ORIGIN ON)
endfunction()

# ecokv_add_module(NAME [STATIC] SOURCES ... [PUBLIC libs...] [PRIVATE libs...])
# One library per folder, named ecokv_NAME with alias ecokv::NAME. Shared by default, so that the
# programs and the engine share one log sink and one HDF5 lock.
function(ecokv_add_module name)
    cmake_parse_arguments(arg "STATIC" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
    set(kind SHARED)
    if(arg_STATIC)
        set(kind STATIC)
    endif()
    add_library(ecokv_${name} ${kind} ${arg_SOURCES})
    add_library(ecokv::${name} ALIAS ecokv_${name})
    ecokv_configure_target(ecokv_${name})
    target_include_directories(ecokv_${name} PUBLIC
        "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
    target_link_libraries(ecokv_${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
endfunction()

# ecokv_add_test(NAME [SERIAL] SOURCES ... LIBS ... [LABELS ...]) makes tests/NAME from GoogleTest
# sources. SERIAL: the tests measure time, so ctest runs nothing beside them.
function(ecokv_add_test name)
    cmake_parse_arguments(arg "SERIAL" "" "SOURCES;LIBS;LABELS" ${ARGN})
    if(NOT arg_LABELS)
        set(arg_LABELS unit)
    endif()
    add_executable(${name} ${arg_SOURCES})
    ecokv_configure_target(${name})
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gtest GTest::gtest_main)
    target_compile_definitions(${name} PRIVATE ECOKV_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                               ECOKV_BINARY_DIR="${PROJECT_BINARY_DIR}")
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120
        PROPERTIES LABELS "${arg_LABELS}" RUN_SERIAL ${arg_SERIAL})
endfunction()

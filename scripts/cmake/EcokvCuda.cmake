# SPDX-License-Identifier: GPL-3.0-or-later
# Turns CUDA on where a compiler of 12.8 or newer is found: nvcc on PATH or in /usr/local/cuda, else
# the one of the PyPI packages in .venv. Sets ECOKV_HAS_CUDA. Include before the first use of CUDA.

set(ECOKV_HAS_CUDA OFF)
if(ECOKV_CUDA STREQUAL "OFF")
    message(STATUS "CUDA kernels: off (ECOKV_CUDA=OFF)")
    return()
endif()

# The first compiler that is new enough; an old one on PATH must not hide the one in .venv.
file(GLOB _wheel_nvcc "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc")
find_program(_path_nvcc nvcc NO_CACHE)
foreach(_candidate IN ITEMS
        "${ECOKV_NVCC}" "$ENV{CUDACXX}" "${_path_nvcc}" /usr/local/cuda/bin/nvcc ${_wheel_nvcc})
    if(NOT EXISTS "${_candidate}")
        continue()
    endif()
    execute_process(COMMAND "${_candidate}" --version OUTPUT_VARIABLE _nvcc_text ERROR_QUIET)
    string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" _nvcc_release "${_nvcc_text}")
    if(CMAKE_MATCH_1 VERSION_GREATER_EQUAL 12.8)
        set(ECOKV_NVCC "${_candidate}" CACHE FILEPATH "CUDA compiler, 12.8 or newer" FORCE)
        set(_nvcc_version "${CMAKE_MATCH_1}")
        break()
    endif()
endforeach()

if(NOT DEFINED _nvcc_version)
    if(ECOKV_CUDA STREQUAL "ON")
        message(FATAL_ERROR "ECOKV_CUDA=ON needs nvcc >= 12.8. "
            "Run ./run, which fetches it from PyPI, or set ECOKV_CUDA=OFF.")
    endif()
    message(STATUS "CUDA kernels: off (no nvcc >= 12.8 found; ./run fetches one)")
    return()
endif()

set(CMAKE_CUDA_COMPILER "${ECOKV_NVCC}")
set(CMAKE_CUDA_ARCHITECTURES "${ECOKV_CUDA_ARCHITECTURES}")
enable_language(CUDA)
set(ECOKV_HAS_CUDA ON)
message(STATUS "CUDA kernels: on (nvcc ${_nvcc_version}, architectures ${ECOKV_CUDA_ARCHITECTURES})")

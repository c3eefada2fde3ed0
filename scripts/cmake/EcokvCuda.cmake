# SPDX-License-Identifier: GPL-3.0-or-later
# Turns CUDA on where a compiler of 12.8 or newer is found: nvcc on PATH or in /usr/local/cuda, else
# the one of the PyPI packages in .venv. Sets ECOKV_HAS_CUDA. Include before the first use of CUDA.

set(ECOKV_HAS_CUDA OFF)
if(ECOKV_CUDA STREQUAL "OFF")
    message(STATUS "CUDA kernels: off (ECOKV_CUDA=OFF)")
    return()
endif()

file(GLOB _wheel_cuda "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13/bin")
find_program(ECOKV_NVCC nvcc HINTS $ENV{CUDACXX} /usr/local/cuda/bin ${_wheel_cuda})
if(ECOKV_NVCC)
    execute_process(COMMAND "${ECOKV_NVCC}" --version OUTPUT_VARIABLE _nvcc_text ERROR_QUIET)
    string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" _nvcc_release "${_nvcc_text}")
    set(_nvcc_version "${CMAKE_MATCH_1}")
endif()

if(NOT ECOKV_NVCC OR _nvcc_version VERSION_LESS 12.8)
    if(ECOKV_CUDA STREQUAL "ON")
        message(FATAL_ERROR "ECOKV_CUDA=ON needs nvcc >= 12.8 (found: ${ECOKV_NVCC} ${_nvcc_version}). "
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

# SPDX-License-Identifier: GPL-3.0-or-later
# LibTorch from the `torch` wheel or an own copy, as the imported target LibTorch::LibTorch. Only the
# CPU library is linked: libtorch_cuda is loaded at run time when a GPU is asked for, so that nothing
# of it is paid for on a CPU and no CUDA toolkit is needed to configure.
#
# Input: ECOKV_TORCH_DIR. Output: LibTorch_FOUND, LibTorch_DIR_USED, LibTorch_VERSION.

if(ECOKV_TORCH_DIR)
    set(_torch_candidates "${ECOKV_TORCH_DIR}")
else()
    file(GLOB _torch_candidates
        "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch"
        "$ENV{VIRTUAL_ENV}/lib/python3*/site-packages/torch")
endif()

find_path(LibTorch_INCLUDE_DIR ATen/ATen.h
    PATHS ${_torch_candidates} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_library(LibTorch_CPU_LIBRARY torch_cpu
    PATHS ${_torch_candidates} PATH_SUFFIXES lib NO_DEFAULT_PATH)
find_library(LibTorch_C10_LIBRARY c10
    PATHS ${_torch_candidates} PATH_SUFFIXES lib NO_DEFAULT_PATH)

if(LibTorch_INCLUDE_DIR)
    get_filename_component(LibTorch_DIR_USED "${LibTorch_INCLUDE_DIR}" DIRECTORY)
    file(STRINGS "${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h" _torch_version
        REGEX "#define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
    string(REGEX REPLACE "[^0-9;]" "" _torch_version "${_torch_version}")
    string(REPLACE ";" "." LibTorch_VERSION "${_torch_version}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
    REQUIRED_VARS LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY LibTorch_INCLUDE_DIR
    VERSION_VAR LibTorch_VERSION
    REASON_FAILURE_MESSAGE
    "run ./run (it makes .venv with the pinned torch wheel), or set ECOKV_TORCH_DIR to a folder with \
include/ and lib/, or configure the `viewer` preset, which needs no LibTorch")

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
    get_filename_component(_torch_lib "${LibTorch_CPU_LIBRARY}" DIRECTORY)
    # The wheel's libraries find their NVIDIA companions through their own RPATH.
    add_library(LibTorch::LibTorch INTERFACE IMPORTED)
    # The wheel ships an own copy of fmt beside its headers: they are searched last, so that <fmt/...>
    # stays the one we link.
    target_compile_options(LibTorch::LibTorch INTERFACE
        "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-idirafter ${LibTorch_INCLUDE_DIR}>")
    target_link_libraries(LibTorch::LibTorch INTERFACE
        "${LibTorch_CPU_LIBRARY}" "${LibTorch_C10_LIBRARY}")
    target_link_options(LibTorch::LibTorch INTERFACE -Wl,--allow-shlib-undefined)
    set_property(TARGET LibTorch::LibTorch PROPERTY
        INTERFACE_COMPILE_DEFINITIONS _GLIBCXX_USE_CXX11_ABI=1)
endif()

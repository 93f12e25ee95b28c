# shellcheck shell=bash disable=SC2034,SC2154 # variables are those of ci/third-party
# Darshan: counters of I/O for each file, by POSIX, standard I/O, MPI-IO and HDF5; read by its darshan-parser.
repository=https://github.com/darshan-hpc/darshan

# The one configure at the top uses one compiler for both parts, and without MPI's makes a runtime without MPI.
build() {
    local hdf5=() place
    place=/usr/lib/$(gcc -print-multiarch)/hdf5/$mpi
    if [ -e "$place/lib/libhdf5.so" ]; then
        # Debian's HDF5 for an MPI has no bin, where Darshan asks for the version.
        mkdir -p "$prefix/hdf5/bin"
        ln -s "$place/include" "$place/lib" "$prefix/hdf5"
        printf '#!/bin/sh\necho "h5dump: Version %s"\n' \
            "$(sed -n 's/^[ \t]*HDF5 Version: *//p' "$place/libhdf5.settings" "$place"/lib/libhdf5.settings 2>/dev/null | head -1)" \
            >"$prefix/hdf5/bin/h5dump"
        chmod +x "$prefix/hdf5/bin/h5dump"
        hdf5=(--with-hdf5="$prefix/hdf5")
    fi
    [ -x configure ] || ./prepare.sh
    (cd darshan-runtime && ./configure --prefix="$prefix" --with-log-path-by-env=DARSHAN_LOG_PATH --with-jobid-env=NONE \
        CC=mpicc "${hdf5[@]}" && make -j1 && make install)
    (cd darshan-util && ./configure --prefix="$prefix" CC=gcc && make -j1 && make install)
}

ready() { [ -f "$prefix/lib/libdarshan.so" ] && [ -x "$prefix/bin/darshan-parser" ]; }
files() { echo "$prefix/lib/libdarshan.so"; }
settings() { echo "DARSHAN_LOGFILE=$1/job.darshan"; }

subjects() {
    echo 'c default'
    grep -q H5Fcreate <<<"$(nm -D "$prefix/lib/libdarshan.so")" && echo 'hdf5 default'
}

more() { grep -q H5Fcreate <<<"$(nm -D "$prefix/lib/libdarshan.so")" || say MISSING hdf5-default-bridged 'built without its HDF5 module'; }

text() { "$prefix/bin/darshan-parser" "$1/job.darshan" >"$1/counters.txt" 2>"$1/counters.err" || rm -f "$1/counters.txt"; }

# shellcheck shell=bash disable=SC2034,SC2154 # variables are those of ci/third-party
# mpiP: a profile of MPI calls by call site, one text file a job.
repository=https://github.com/LLNL/mpiP

build() {
    ./configure --prefix="$prefix" CC=mpicc CXX=mpicxx F77=mpif77 CFLAGS='-O2 -g'
    # Its generator of wrappers signs what it writes.
    LOGNAME=${LOGNAME:-mpiP} make -j1 shared
    make install
}

ready() { [ -f "$prefix/lib/libmpiP.so" ]; }
files() { echo "$prefix/lib/libmpiP.so"; }
settings() { echo "MPIP=-f $1"; }
subjects() { printf '%s\n' 'c default' 'fortran default'; }
more() { compared c default; }

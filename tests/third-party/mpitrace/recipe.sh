# shellcheck shell=bash disable=SC2034,SC2154 # variables are those of ci/third-party
# mpitrace (IBM): counts, bytes and times of MPI calls, a text file for each rank.
repository=https://github.com/IBM/mpitrace

build() {
    cd src || return
    ./configure --with-mpicc=mpicc
    make -j1
    cp libmpitrace.so "$prefix"
    # Wrappers for C alone: a library that can be bound at once (LD_BIND_NOW).
    make clean
    ./configure --with-mpicc=mpicc --with-fortran=no
    make -j1
    cp libmpitrace.so "$prefix/libmpitrace-conly.so"
}

ready() { [ -f "$prefix/libmpitrace.so" ] && [ -f "$prefix/libmpitrace-conly.so" ]; }

files() {
    case $1 in
    conly) echo "$prefix/libmpitrace-conly.so" ;;
    *) echo "$prefix/libmpitrace.so" ;;
    esac
}

settings() { printf '%s\n' SAVE_ALL_TASKS=yes "TRACE_DIR=$1"; }

# What Fortran differs in on purpose (docs/fortran.md): wrappers for C alone see it natively on MPICH only, and a tool with wrappers of
# both kinds counts it twice there.
subjects() {
    printf '%s\n' 'c default' 'c conly'
    case $mpi in
    mpich*) echo 'fortran conly' ;;
    *) echo 'fortran default' ;;
    esac
}

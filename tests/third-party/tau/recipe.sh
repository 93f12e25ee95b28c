# shellcheck shell=bash disable=SC2034,SC2154 # variables are those of ci/third-party
# TAU: a profile for each rank and thread; MPI alone, and with the libraries that wrap I/O and threads.
repository=https://github.com/UO-OACISS/tau2

build() {
    local include library name
    case $mpi in
    mpich*) name=-lmpich ;;
    *) name=-lmpi ;;
    esac
    include=$(mpicc -show | tr ' ' '\n' | sed -n 's/^-I//p' | head -1)
    library=$(mpicc -show | tr ' ' '\n' | sed -n 's/^-L//p' | head -1)
    # MPICH's mpi.h may have no `const` where TAU has one.
    if ! grep -q 'MPI_Pready_list.*const' "$include/mpi.h"; then
        grep -rl MPI_Pready_list src/Profile | xargs -r sed -i '/MPI_Pready_list(/s/\(TAU_MPICH3_CONST\|const\) int/int/'
    fi
    [ -f utils/perfetto/perfetto.h ] || { mkdir -p utils/perfetto && touch utils/perfetto/perfetto.h; }
    ./configure -prefix="$prefix" -cc=gcc -c++=g++ -fortran=gfortran -mpi -mpiinc="$include" \
        -mpilib="${library:-/usr/lib/$(gcc -print-multiarch)}" -mpilibrary="$name" -pthread -iowrapper
    make -j1 install
}

libraries() { compgen -G "$prefix/*/lib/shared-*mpi*" | head -1; }
ready() { [ -f "$(libraries)/libTAU.so" ]; }

# The order of tau_exec.
files() {
    local all
    all=$(libraries)
    [ "$1" != io ] || printf '%s\n' "$all/libTAU-iowrap.so" "$all/libTAU-pthread.so"
    echo "$all/libTAU.so"
}

# With its wrappers of I/O it sees how MPI connects its ranks, which is chance in part (a port that is taken).
native_runs() { [ "$1" = io ] && echo 4 || echo 2; }

settings() { echo "PROFILEDIR=$1"; }
subjects() { printf '%s\n' 'c default' 'fortran default' 'c io'; }

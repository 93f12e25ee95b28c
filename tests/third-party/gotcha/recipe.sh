# shellcheck shell=bash disable=SC2034,SC2154 # variables are those of ci/third-party
# GOTCHA: a library for tools that change the program's GOT. Its own tests are programs: they run under a stack as without. A counter
# of MPI calls (counter.c) stands for the tools that are made with it.
repository=https://github.com/LLNL/GOTCHA

build() {
    # Its unit tests need libcheck, and would download it.
    [ -n "$(compgen -G '/usr/lib/*/libcheck.*')" ] || sed -i '/add_subdirectory(unit)/d' test/CMakeLists.txt
    cmake -S . -B "$prefix/tests" -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DGOTCHA_ENABLE_TESTS=On -DDEPENDENCIES_PREINSTALLED=On
    cmake --build "$prefix/tests" -j1
    cmake --install "$prefix/tests"
}

ready() { [ -f "$prefix/lib/libgotcha.so" ]; }

prepare() {
    "mpicc.$mpi" -shared -fPIC -O2 -I"$prefix/include" -o "$work/gotcha-counter.so" "$recipes/gotcha/counter.c" \
        -L"$prefix/lib" -lgotcha "-Wl,-rpath,$prefix/lib"
}

files() { echo "$work/gotcha-counter.so"; }
settings() { echo "COUNTER_DIRECTORY=$1"; }
subjects() { echo 'c default'; }

# Such a tool changes what it finds in the program, so it is preloaded beside a stack; as a layer it is refused with that reason.
beside() { true; }

# Names and results of ctest's tests, without times.
own_tests() { # COMMAND...
    (cd "$prefix/tests" && "$@" ctest 2>&1) | sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: *\([^ ]*\) [. ]*\(\**[A-Za-z ]*[A-Za-z]\).*/\1 \2/p'
}

more() {
    local folder=$reports/$mpi/gotcha/refused words
    fresh "$folder"
    layer gotcha "$folder" default visible >"$folder/stack.toml"
    bridged "$folder" c gotcha
    if words=$(grep '^qmpi: error: .*GOTCHA.*LD_PRELOAD' "$folder/stderr"); then
        say ok refused "${words#*not an MPI tool: }"
    else
        say DIFFERENT refused "without the reason, see $folder/stderr"
    fi

    folder=$reports/$mpi/gotcha/tests
    if [ ! -f "$prefix/tests/CTestTestfile.cmake" ]; then
        say MISSING tests "built without its tests"
        return
    fi
    fresh "$folder"
    own_tests env >"$folder/native"
    { order; } >"$folder/stack.toml"
    own_tests "$qmpi" run -c "$folder/stack.toml" -t order -- >"$folder/bridged"
    if [ -s "$folder/native" ] && diff "$folder/native" "$folder/bridged" >"$folder/diff"; then
        say ok tests "$(wc -l <"$folder/native") tests, $(grep -c Passed "$folder/native") pass natively"
    else
        say DIFFERENT tests "see $folder/diff"
    fi
}

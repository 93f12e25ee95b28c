#!/usr/bin/env bash
# Measures libqmpi_bridge.so on an MPICH configured with --enable-qmpi: ns per call with native tools, with bridged ones, and in turns.
#
#   bash tests/bench/on_qmpi.sh [LAYERS]       (default: 10)
#
#   MPICH=DIR     where it is installed (default: target/qmpi-mpich)
#   PLUGIN=FILE   another build of the library, to compare with
#
# The columns are functions with 2, 4, 7 and 12 arguments (calls.c). What a layer costs is the difference to the first line, divided by
# the number of layers. On a machine that does other things compare lines of one run only.
set -euo pipefail

here=$(cd "$(dirname "$0")/../.." && pwd)
mpich=${MPICH:-$here/target/qmpi-mpich} plugin=${PLUGIN:-$here/target/release/libqmpi_bridge.so}
layers=${1:-10} dir=$here/target/bench-on-qmpi
[ -x "$mpich/bin/mpicc" ] || { echo "on_qmpi: $mpich/bin/mpicc is missing" >&2; exit 1; }

mkdir -p "$dir"
cc=("$mpich/bin/mpicc" -O2 "-I$here/bridge/include")
"${cc[@]}" "$here/tests/bench/calls.c" "-Wl,-rpath,$mpich/lib" -o "$dir/calls"
"${cc[@]}" -shared -fPIC '-DNAME="native"' "$here/tests/bench/qmpi_tool.c" -o "$dir/native.so"
"$here/target/release/shim-gen" passthrough --header "$mpich/include/mpi.h" --output "$dir/pass.c"
"${cc[@]}" -w -shared -fPIC "$dir/pass.c" -o "$dir/pass.so"
printf '[tool.bridged]\npath = "%s"\n' "$dir/pass.so" >"$dir/bridge.toml"

# list NAME...: so many layers of these names in turns
list() {
    local names=() layer
    for ((layer = 0; layer < layers; layer++)); do names+=("${!#}"); set -- "${!#}" "${@:1:$#-1}"; done
    (IFS=:; echo "${names[*]}")
}

# measure TITLE LIST
measure() {
    printf '%-28s' "$1"
    QMPI_CONFIG=$dir/bridge.toml LD_PRELOAD=$plugin:$dir/native.so ${2:+env MPIR_CVAR_QMPI_TOOL_LIST="$2"} "$dir/calls" |
        awk '$2 { printf "%10.2f", $3 } END { print "" }'
}

printf '%-28s%10s%10s%10s%10s\n' 'ns per call' 2 4 7 12
measure 'no tool' ''
measure "$layers native" "$(list native)"
measure "$layers bridged" "$(list bridged)"
measure "$layers in turns" "$(list native bridged)"

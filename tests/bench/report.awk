# Turns the measurements of ci/bench into tables, in Markdown. Input, a measurement per line:
#
#   calls   MPI CONFIGURATION ROUND FUNCTION ARGUMENTS NS
#   instr   MPI CONFIGURATION FUNCTION OBJECT COUNT                        (OBJECT: libqmpi, other)
#   setup   MPI TOOL INSTANCES ROUND CPU-MS PRIVATE-KB SHARED-KB PSS-KB     (INSTANCES -: without libqmpi)
#   layer   MPI TOOL INSTANCES ROUND POSITION MS                           (POSITION 1: loaded first)
#   load    MPI TOOL INSTANCES LOADED
#   machine TEXT...
#
# and those that qmpi.awk reports.
#
# Differences are taken within a round, and then the median over rounds: what slows a whole round down cancels out.
# A spread is that of the middle half of the rounds.

function insert(list, n, value,   i) { # keeps list[1..n] sorted
    for (i = n; i > 1 && list[i - 1] > value; i--) list[i] = list[i - 1]
    list[i] = value
}

function quantile(list, n, q,   at, below) {
    if (n == 0) return ""
    at = 1 + (n - 1) * q; below = int(at)
    return below >= n ? list[n] : list[below] + (at - below) * (list[below + 1] - list[below])
}

function forget(list,   i) { for (i in list) delete list[i] }

# Median over rounds of (a - b) / by; b may be "". Sets LOW and HIGH, and COUNT.
function difference(mpi, a, b, fn, by,   list, n, r) {
    n = 0; forget(list)
    for (r = 1; r <= rounds[mpi]; r++) {
        if (!((mpi, a, r, fn) in ns) || (b != "" && !((mpi, b, r, fn) in ns))) continue
        n++
        insert(list, n, (ns[mpi, a, r, fn] - (b == "" ? 0 : ns[mpi, b, r, fn])) / by)
    }
    COUNT = n; LOW = quantile(list, n, 0.25); HIGH = quantile(list, n, 0.75)
    return quantile(list, n, 0.5)
}

# Two digits, and no negative zero.
function digits(value) { return value < 0 && value > -0.005 ? "0.00" : sprintf("%.2f", value) }

function with_spread(value) { return (value >= -0.005 ? "+" : "") digits(value) " (" digits(LOW) "…" digits(HIGH) ")" }

function goal(text, value, unit, limit) {
    if (value == "") return
    goals[++goal_count] = sprintf("| %s | ≤ %.2f %s | %s %s | %s |", text, limit, unit, digits(value), unit,
                                  (value <= limit + 0.005 ? "met" : "**not met**"))
}

function title_of(mpi) { return mpi == "null" ? "null MPI" : mpi }

function row_name(config,   n) {
    if (config == "none") return "no libqmpi"
    if (config == "preload") return "tool under LD_PRELOAD"
    if (config == "preload-call") return "calling tool under LD_PRELOAD"
    if (config == "0") return "libqmpi, empty stack"
    if (config ~ /^[a-z]/) return qmpi_row_name(config)
    n = config; sub(/-call$/, "", n)
    return "libqmpi, " n (config ~ /call/ ? " calling" : "") (n == 1 ? " tool" : " tools")
}

# What a configuration is compared with.
function reference(config) {
    if (config == "none") return ""
    if (config == "1") return "preload"
    if (config == "1-call") return "preload-call"
    return "none"
}

function head(mpi, first,   i, line, rule) {
    line = "| " first " |"; rule = "|---|"
    for (i = 1; i <= functions; i++) {
        if (!((mpi, fn_name[i]) in has)) continue
        line = line " " fn_name[i] ", " arguments[fn_name[i]] " arguments |"; rule = rule "--:|"
    }
    print line "\n" rule
}

function calls_table(mpi,   c, i, config, line, value, ref, clock) {
    printf "\n### %s: ns per call\n\n", title_of(mpi)
    head(mpi, "")
    for (c = 1; c <= configs; c++) {
        config = config_name[c]
        if (!((mpi, config) in seen) || row_name(config) == "") continue
        line = "| " row_name(config) " |"
        for (i = 1; i <= functions; i++) if ((mpi, fn_name[i]) in has) line = line sprintf(" %.2f |", difference(mpi, config, "", fn_name[i], 1))
        print line
    }
    difference_row(mpi, "**empty stack**, over no libqmpi", "0", "none", 1)
    difference_row(mpi, "tool under LD_PRELOAD, over no libqmpi", "preload", "none", 1)
    difference_row(mpi, "**one bridged tool**, over LD_PRELOAD", "1", "preload", 1)
    difference_row(mpi, "**each further layer**, 1 to 2", "2", "1", 1)
    difference_row(mpi, "**each further layer**, 2 to 5", "5", "2", 3)
    difference_row(mpi, "**each further layer**, 1 to 10", "10", "1", 9)
    difference_row(mpi, "**each further layer**, 10 to 15", "15", "10", 5)
    difference_row(mpi, "calling tool under LD_PRELOAD, over no libqmpi", "preload-call", "none", 1)
    difference_row(mpi, "one bridged calling tool, over LD_PRELOAD", "1-call", "preload-call", 1)
    difference_row(mpi, "each further calling layer, 1 to 10", "10-call", "1-call", 9)
    qmpi_rows(mpi)
    clock = difference(mpi, "none", "", "cycle", 1)
    if (clock > 0) printf "\n%d rounds; a clock cycle took %.3f ns (%.2f GHz).\n", COUNT, clock, 1 / clock
    goal("empty stack, over no libqmpi: " title_of(mpi), difference(mpi, "0", "none", "Comm_rank", 1), "ns", 0)
    goal("one bridged tool, over LD_PRELOAD: " title_of(mpi), difference(mpi, "1", "preload", "Comm_rank", 1), "ns", 0.6)
    goal("each further layer (1 to 10): " title_of(mpi), difference(mpi, "10", "1", "Comm_rank", 9), "ns", 0.6)
}

function difference_row(mpi, text, a, b, by,   i, line, value) {
    if (!((mpi, a) in seen) || !((mpi, b) in seen)) return
    line = "| " text " |"
    for (i = 1; i <= functions; i++) {
        if (!((mpi, fn_name[i]) in has)) continue
        value = difference(mpi, a, b, fn_name[i], by)
        line = line " " with_spread(value) " |"
    }
    print line
}

function instructions_table(mpi,   c, i, config, line, any) {
    for (c = 1; c <= configs; c++) if ((mpi, config_name[c], "Comm_rank") in instr) any = 1
    if (!any) return
    printf "\n### %s: instructions per call\n\nExact, counted by callgrind; in brackets: over no libqmpi.\n\n", title_of(mpi)
    head(mpi, "")
    for (c = 1; c <= configs; c++) {
        config = config_name[c]
        if (!((mpi, config, "Comm_rank") in instr) || row_name(config) == "") continue
        line = "| " row_name(config) " |"
        for (i = 1; i <= functions; i++)
            line = line sprintf(" %.2f (%+.2f) |", instr[mpi, config, fn_name[i]],
                                instr[mpi, config, fn_name[i]] - instr[mpi, "none", fn_name[i]])
        print line
    }
}

# Median over rounds of a column of `setup` at `b` instances less that at `a`, per instance.
function growth(mpi, tool, a, b, column, by,   list, n, r) {
    n = 0; forget(list)
    for (r = 1; r <= setup_rounds; r++)
        if (((mpi, tool, a, r, column) in setup) && ((mpi, tool, b, r, column) in setup)) {
            n++
            insert(list, n, (setup[mpi, tool, b, r, column] - setup[mpi, tool, a, r, column]) / by)
        }
    return quantile(list, n, 0.5)
}

# Quantile of the wall time of instances loaded at positions from..to.
function layer_ms(mpi, tool, from, to, q,   list, n, i) {
    n = 0; forget(list)
    for (i = 1; i <= layers; i++)
        if (layer_of[i] == mpi SUBSEP tool && layer_at[i] >= from && layer_at[i] <= to) { n++; insert(list, n, layer_took[i]) }
    return quantile(list, n, q)
}

function setup_table(   s, mpi, tool, part, kb, first) {
    if (!setups) return
    print "\n### Set-up\n"
    print "| MPI, tool | libqmpi itself | first instance | each further | range | CPU each further | kB libqmpi itself | kB first | kB each further | of 15 loaded |"
    print "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for (s = 1; s <= setups; s++) {
        split(setup_name[s], part, SUBSEP); mpi = part[1]; tool = part[2]
        kb = growth(mpi, tool, 1, 15, "dirty", 14)
        printf "| %s, %s | %.1f ms | %.1f ms | %.2f ms | %.2f…%.2f ms | %.2f ms | %d | %d | %d | %d |\n", mpi, tool,
            growth(mpi, tool, "-", 0, "cpu", 1), layer_ms(mpi, tool, 1, 1, 0.5), layer_ms(mpi, tool, 2, 15, 0.5),
            layer_ms(mpi, tool, 2, 15, 0.1), layer_ms(mpi, tool, 2, 15, 0.9), growth(mpi, tool, 1, 15, "cpu", 14),
            growth(mpi, tool, "-", 0, "dirty", 1), growth(mpi, tool, 0, 1, "dirty", 1), kb, loaded[mpi, tool]
        goal("set-up of the first instance: " mpi ", " tool, layer_ms(mpi, tool, 1, 1, 0.5), "ms", 1)
        goal("set-up of each further instance: " mpi ", " tool, layer_ms(mpi, tool, 2, 15, 0.5), "ms", 0.3)
        goal("memory of each further instance: " mpi ", " tool, kb, "kB", 300)
        goals[++goal_count] = sprintf("| instances that load with default tunables: %s, %s | 15 | %d | %s |", mpi, tool,
                                      loaded[mpi, tool], loaded[mpi, tool] >= 15 ? "met" : "**not met**")
    }
    print "\nkB are dirty pages, private and shared. CPU is the processor time of the process, its kernel part included."
}

# A measurement that is not whole, or of something that took no time, would count as 0.
BEGIN {
    split("calls 7 instr 6 setup 9 layer 7 load 5 interface 4 layers 7 native 8", list, " ")
    for (i = 1; i in list; i += 2) fields[list[i]] = list[i + 1]
}
$1 != "machine" && (NF != fields[$1] || $NF !~ /^[0-9.]+$/ || (($1 == "native" || $1 == "setup") && !($(NF - 3) > 0))) {
    print "bench: no measurement: " $0 >"/dev/stderr"
    failed = 1
    exit 1
}

$1 == "machine" { sub(/^machine /, ""); machine = machine "* " $0 "\n" }
$1 == "calls" {
    if (!(($2, $3) in seen)) { seen[$2, $3] = 1; if (!($3 in known)) { known[$3] = 1; config_name[++configs] = $3 } }
    if (!($2 in rounds)) mpi_name[++mpis] = $2
    if ($4 > rounds[$2]) rounds[$2] = $4
    if ($6 > 0) has[$2, $5] = 1
    if ($6 > 0 && !($5 in arguments)) { arguments[$5] = $6; fn_name[++functions] = $5 }
    ns[$2, $3, $4, $5] = $7
}
$1 == "instr" { instr[$2, $3, $4] += $6; if ($5 == "libqmpi") ours[$3, $4] = $6 }
$1 == "setup" {
    if (!(($2, $3) in setup_seen)) { setup_seen[$2, $3] = 1; setup_name[++setups] = $2 SUBSEP $3 }
    if ($5 > setup_rounds) setup_rounds = $5
    setup[$2, $3, $4, $5, "cpu"] = $6; setup[$2, $3, $4, $5, "dirty"] = $7 + $8
}
$1 == "layer" { layers++; layer_of[layers] = $2 SUBSEP $3; layer_at[layers] = $6; layer_took[layers] = $7 }
$1 == "load" { loaded[$2, $3] = $5 }

END {
    if (failed) exit 1
    if (machine != "") printf "%s", machine
    for (m = 1; m <= mpis; m++) calls_table(mpi_name[m])
    for (m = 1; m <= mpis; m++) instructions_table(mpi_name[m])
    qmpi_tables()
    setup_table()
    native_table()
    print "\n### Goals\n\nTimes of calls are for the function with two arguments, unless a row says which.\n\n| | goal | measured | |\n|---|--:|--:|---|"
    for (g = 1; g <= goal_count; g++) print goals[g]
}

# The part of report.awk that is about QMPI tools. Input beside that of report.awk:
#
#   interface ROUND FUNCTION NS
#   layers    TOOL LAYERS ROUND FUNCTION ARGUMENTS NS   (TOOL: a letter of ci/bench)
#   native    MPI CONFIGURATION ROUND CPU-MS PRIVATE-KB SHARED-KB PSS-KB
#
# Letters: p PMPI pass-through, q generated QMPI pass-through, t QMPI tool with a table by tool id, l one that asks
# QMPI_Get_function in each call, a one that asks for the calling address, z and s a PMPI and a QMPI tool that do not call on,
# k as s, but the calling address is kept for it, i interface, c counter, h the 2018 prototype.

function qmpi_row_name(config,   letter, n) {
    letter = substr(config, 1, 1); n = substr(config, 2)
    if (n !~ /^[0-9]+$/) return ""
    if (letter == "q") return "libqmpi, " n " QMPI tool" (n == 1 ? "" : "s") ", generated"
    if (letter == "t") return "libqmpi, " n " QMPI tool" (n == 1 ? "" : "s") " with a table"
    return ""
}

# As difference(), of the sum over `terms`, `CONFIGURATION WEIGHT CONFIGURATION WEIGHT ...`.
function combination(mpi, terms, fn,   part, parts, list, n, r, i, sum, whole) {
    parts = split(terms, part, " "); n = 0; forget(list)
    for (r = 1; r <= rounds[mpi]; r++) {
        sum = 0; whole = 1
        for (i = 1; i < parts; i += 2) {
            if (!((mpi, part[i], r, fn) in ns)) whole = 0
            else sum += ns[mpi, part[i], r, fn] * part[i + 1]
        }
        if (whole) insert(list, ++n, sum)
    }
    LOW = quantile(list, n, 0.25); HIGH = quantile(list, n, 0.75)
    return quantile(list, n, 0.5)
}

function combination_row(mpi, text, terms,   i, line, value) {
    line = "| " text " |"
    for (i = 1; i <= functions; i++) {
        if (!((mpi, fn_name[i]) in has)) continue
        value = combination(mpi, terms, fn_name[i])
        if (value == "") return
        line = line " " with_spread(value) " |"
    }
    print line
}

# The worst of the functions with at least `from` and at most `to` arguments.
function worst(mpi, terms, from, to,   i, n, value, most) {
    most = ""
    for (i = 1; i <= functions; i++) {
        n = arguments[fn_name[i]]
        if (n < from || n > to || !((mpi, fn_name[i]) in has)) continue
        value = combination(mpi, terms, fn_name[i])
        if (value != "" && (most == "" || value > most)) most = value
    }
    return most
}

function qmpi_rows(mpi,   name, alternating) {
    if (!((mpi, "q1") in seen)) return
    name = ": " title_of(mpi)
    alternating = "pt5 0.25 pt1 -0.25 5 -0.25 1 0.25 t5 -0.25 t1 0.25"
    combination_row(mpi, "**one QMPI tool**, generated, over no libqmpi", "q1 1 none -1")
    combination_row(mpi, "**each further QMPI layer**, generated, 1 to 10", "q10 0.1111111 q1 -0.1111111")
    combination_row(mpi, "one QMPI tool with a table, over no libqmpi", "t1 1 none -1")
    combination_row(mpi, "each further QMPI layer with a table, 1 to 10", "t10 0.1111111 t1 -0.1111111")
    combination_row(mpi, "each further QMPI layer that asks QMPI_Get_function, 1 to 5", "l5 0.25 l1 -0.25")
    combination_row(mpi, "each further layer of the 2018 prototype, 1 to 5", "h5 0.25 h1 -0.25")
    combination_row(mpi, "edge application → QMPI", "s1 1 z1 -1")
    combination_row(mpi, "**edge PMPI → QMPI**", "ps1 1 pz1 -1")
    combination_row(mpi, "**edge QMPI → PMPI**", "tz1 1 ts1 -1")
    combination_row(mpi, "edge QMPI → MPI", "t1 1 0 -1 s1 -1 z1 1 t5 -0.25 t1 0.25")
    combination_row(mpi, "**both edges**, PMPI and QMPI in turn", alternating)
    combination_row(mpi, "asking for the calling address", "a1 1 t1 -1")
    combination_row(mpi, "keeping it across a PMPI tool", "pk1 1 ps1 -1")

    goal("each further QMPI layer, generated (1 to 10)" name, combination(mpi, "q10 0.1111111 q1 -0.1111111", "Comm_rank"), "ns", 1.2)
    goal("each further QMPI layer with a table (1 to 10)" name, combination(mpi, "t10 0.1111111 t1 -0.1111111", "Comm_rank"), "ns", 1.2)
    goal("edge QMPI → PMPI, the worst" name, worst(mpi, "tz1 1 ts1 -1", 0, 99), "ns", 2)
    goal("edge PMPI → QMPI, the worst up to 4 arguments" name, worst(mpi, "ps1 1 pz1 -1", 0, 4), "ns", 2)
    goal("edge PMPI → QMPI, the worst above" name, worst(mpi, "ps1 1 pz1 -1", 5, 99), "ns", 5)
    goal("both edges in turn, the worst up to 4 arguments" name, worst(mpi, alternating, 0, 4), "ns", 4)
    goal("both edges in turn, the worst above" name, worst(mpi, alternating, 5, 99), "ns", 7)
}

# Instructions in libqmpi itself, per call, of the sum over `terms`.
function edge_row(text, terms,   part, parts, i, f, line, sum) {
    parts = split(terms, part, " ")
    line = "| " text " |"
    for (f = 1; f <= functions; f++) {
        sum = 0
        for (i = 1; i < parts; i += 2) {
            if (!((part[i], fn_name[f]) in ours)) return
            sum += ours[part[i], fn_name[f]] * part[i + 1]
        }
        line = line sprintf(" %.2f |", sum)
    }
    print line
}

function edges_table() {
    if (!(("t1", "Comm_rank") in ours)) return
    print "\n### null MPI: instructions in libqmpi per edge\n"
    head("null", "")
    edge_row("application → PMPI", "1 1")
    edge_row("PMPI → PMPI", "2 1 1 -1")
    edge_row("application → QMPI", "s1 1")
    edge_row("QMPI → QMPI", "t2 1 t1 -1")
    edge_row("QMPI → MPI", "t1 1 s1 -1")
    edge_row("QMPI → PMPI", "tz1 1 s1 -1")
    edge_row("PMPI → QMPI", "ps1 1")
    edge_row("keeping the calling address, application → PMPI → QMPI", "pk1 1 ps1 -1")
    edge_row("QMPI_Get_tool_storage in a generated layer", "q2 1 q1 -1")
}

function interface_table(   i, n, r, list, value) {
    if (!interfaces) return
    print "\n### The interface: ns per call\n\n| | |\n|---|--:|"
    for (i = 1; i <= interfaces; i++) {
        n = 0; forget(list)
        for (r = 1; r <= interface_rounds; r++) if ((interface_name[i], r) in interface) insert(list, ++n, interface[interface_name[i], r])
        value = quantile(list, n, 0.5)
        LOW = quantile(list, n, 0.25); HIGH = quantile(list, n, 0.75)
        printf "| %s | %s (%s…%s) |\n", interface_name[i], digits(value), digits(LOW), digits(HIGH)
        if (interface_name[i] == "QMPI_Get_function") goal("QMPI_Get_function in a loop", value, "ns", 3)
    }
}

# Medians over rounds, and the straight line through them (least squares).
function layers_table(   c, t, r, n, list, count, x, y, sx, sy, sxx, sxy, syy, slope, r2, line, text) {
    if (!layer_counts) return
    print "\n### null MPI: 1 to 1,000 native instances of one tool, ns per call with 2 arguments\n"
    line = "| layers |"; text = "|---|"
    for (c = 1; c <= layer_counts; c++) { line = line " " layer_count[c] " |"; text = text "--:|" }
    print line " ns per layer | R² |\n" text "--:|--:|"
    for (t = 1; t <= layer_tools; t++) {
        sx = sy = sxx = sxy = syy = count = 0
        line = "| " (layer_tool[t] == "q" ? "generated" : "with a table") " |"
        for (c = 1; c <= layer_counts; c++) {
            n = 0; forget(list)
            for (r = 1; r <= layer_rounds; r++) if ((layer_tool[t], layer_count[c], r) in layer_ns) insert(list, ++n, layer_ns[layer_tool[t], layer_count[c], r])
            if (!n) continue
            x = layer_count[c]; y = quantile(list, n, 0.5)
            count++; sx += x; sy += y; sxx += x * x; sxy += x * y; syy += y * y
            line = line " " (y < 100 ? sprintf("%.1f", y) : sprintf("%.0f", y)) " |"
        }
        slope = (count * sxy - sx * sy) / (count * sxx - sx * sx)
        r2 = (count * sxy - sx * sy) ^ 2 / ((count * sxx - sx * sx) * (count * syy - sy * sy))
        printf "%s %.2f | %.5f |\n", line, slope, r2
        text = "R², 1 to 1,000 layers, " (layer_tool[t] == "q" ? "generated" : "with a table")
        goals[++goal_count] = sprintf("| %s | ≥ 0.999 | %.5f | %s |", text, r2, r2 >= 0.999 ? "met" : "**not met**")
    }
}

function qmpi_tables() {
    edges_table()
    interface_table()
    layers_table()
}

# Median over rounds of (a - b) / by of a column.
function native_growth(mpi, a, b, column, by,   r, n, list) {
    n = 0; forget(list)
    for (r = 1; r <= native_rounds; r++)
        if (((mpi, a, r, column) in native) && ((mpi, b, r, column) in native))
            insert(list, ++n, (native[mpi, a, r, column] - native[mpi, b, r, column]) / by)
    return quantile(list, n, 0.5)
}

function native_table(   m, c, mpi, count) {
    if (!native_mpis) return
    print "\n### Set-up of native instances, the generated tool\n\n| MPI | instances | CPU each further | kB each further |\n|---|--:|--:|--:|"
    for (m = 1; m <= native_mpis; m++) {
        mpi = native_mpi[m]
        for (c = 1; c <= native_configs; c++) {
            count = substr(native_config[c], 2)
            if (count < 10 || !((mpi, native_config[c], 1, "cpu") in native)) continue
            printf "| %s | %d | %.3f ms | %.0f |\n", title_of(mpi), count,
                native_growth(mpi, native_config[c], "q1", "cpu", count - 1), native_growth(mpi, native_config[c], "q1", "dirty", count - 1)
        }
    }
}

$1 == "interface" {
    if (!($3 in interface_seen)) { interface_seen[$3] = 1; interface_name[++interfaces] = $3 }
    if ($2 > interface_rounds) interface_rounds = $2
    interface[$3, $2] = $4
}
$1 == "layers" && $5 == "Comm_rank" {
    if (!($2 in layer_tool_seen)) { layer_tool_seen[$2] = 1; layer_tool[++layer_tools] = $2 }
    if (!($3 in layer_count_seen)) { layer_count_seen[$3] = 1; layer_count[++layer_counts] = $3 }
    if ($4 > layer_rounds) layer_rounds = $4
    layer_ns[$2, $3, $4] = $7
}
$1 == "native" {
    if (!($2 in native_mpi_seen)) { native_mpi_seen[$2] = 1; native_mpi[++native_mpis] = $2 }
    if (!($3 in native_config_seen)) { native_config_seen[$3] = 1; native_config[++native_configs] = $3 }
    if ($4 > native_rounds) native_rounds = $4
    native[$2, $3, $4, "cpu"] = $5; native[$2, $3, $4, "dirty"] = $6 + $7
}

# Sums up what callgrind counted for each function of calls.c: `FUNCTION OBJECT INSTRUCTIONS-PER-CALL`.
#
# Input: the dumps of one process, in their order. Each has been written before the next function's turn began, so it
# belongs to the one whose turn came before; dumps of other functions named call_* are left out. A cost line is `LINE COST`; the one after `calls=` is inclusive, hence skipped.

FNR == 1 { finish() }
/^desc: Trigger: --dump-before=/ {
    after = current
    current = $0
    sub(/.*=/, "", current)
}
/^ob=/ {
    id = $0; sub(/^ob=/, "", id); sub(/\).*/, ")", id)
    if (split($0, part, ") ") > 1) name[id] = part[2]
    object = name[id] ~ /libqmpi/ ? "libqmpi" : "other"
    next
}
/^cob=/ {
    id = $0; sub(/^cob=/, "", id); sub(/\).*/, ")", id)
    if (split($0, part, ") ") > 1) name[id] = part[2]
    next
}
/^calls=/ { skip = 1; next }
/^[-+*0-9]/ {
    if (skip) skip = 0
    else cost[object] += $2
}
END { finish() }

function finish() {
    if (after ~ /^call_[A-Z]/) {
        sub(/^call_/, "", after)
        printf "%s libqmpi %.4f\n%s other %.4f\n", after, cost["libqmpi"] / 2000, after, cost["other"] / 2000
    }
    after = ""; cost["libqmpi"] = cost["other"] = 0
}

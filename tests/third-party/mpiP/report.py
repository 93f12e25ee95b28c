"""mpiP's report: call sites, and for each the calls and bytes of each rank; without times, and what follows from times.

Numbers of call sites follow from the order in which sites are found, so a site's values are kept under its file, line and function. The
two lists of the twenty largest are parts of the complete lists further down: the one by time is left out, the one by bytes is a part
that ties make arbitrary. Below another PMPI tool a call site is in that tool's wrapper: calls and bytes are kept by function then.
"""

import re

RULE = re.compile(r"^@--- (.*?):?(?: \d+)? -+$")
PLANTED = [
    ("*.mpiP", r"^(Isend +\d+ +0 +)(\d+)( )", r"\g<1>1\2\3"),  # a count of calls
    ("*.mpiP", r"^(Allreduce +\d+ +2 .* )4$", r"\g<1>8"),  # a sum of bytes
    ("*.mpiP", r"^( *\d+ +0 \S+ +)(\d+)( \w+ +Barrier)", r"\g<1>9\2\3"),  # the line of a call site
    ("*.mpiP", r"^(@ MPI Task Assignment +: )3 ", r"\g<1>4 "),
]


def read(folder, below):
    """The values of the one report in the folder."""
    reports = sorted(folder.glob("*.mpiP"))
    if len(reports) != 1:
        raise ValueError(f"{len(reports)} reports of mpiP")
    values, sites, section = {}, {}, "head"
    for line in reports[0].read_text().splitlines():
        if rule := RULE.match(line):
            section = rule[1].split(" (")[0]
            continue
        words = line.split()
        if section == "head" and line.startswith("@ MPI Task Assignment"):
            values["task", words[-2]] = words[-1]
        elif section == "head" and line.startswith(("@ Command", "@ Collector Rank", "@ Version")):
            values["head", words[1]] = words[2:]
        elif section == "Callsites" and len(words) >= 5 and words[0].isdigit():
            note_site(sites, words)
        elif section in ("Callsite Time statistics", "Callsite Message Sent statistics", "Callsite I/O statistics"):
            note_statistics(values, section, sites, words, below)
    values["call sites", "number"] = 0 if below else len(sites)
    return values


def note_site(sites, words):
    """`ID Lev File Line Parent_Funct MPI_Call`, or `ID Lev Address Parent_Funct MPI_Call`; only the first level names a call."""
    number, level, *place = words
    if level == "0":
        sites[number] = " ".join(place)


def note_statistics(values, section, sites, words, below):
    """`Name Site Rank Count Max Mean Min ...`: of times only the count, of bytes all."""
    if len(words) < 7 or not words[1].isdigit():
        return
    function, site, rank, count, *numbers = words
    place = function if below else sites[site]
    if rank == "*":
        return  # the sum of the ranks
    is_time = section.endswith("Time statistics")
    key = (section, place, "rank", rank)
    found = [count] if is_time else [count, *numbers]
    if below:
        # Several sites of a function are one, or are not, by what is above: sums are what they are natively.
        total = values.get((*key, "calls"), 0)
        values[(*key, "calls")] = total + int(count)
        if not is_time:
            values[(*key, "bytes")] = values.get((*key, "bytes"), 0.0) + float(numbers[-1])
    else:
        values.setdefault(key, []).append(found)
        values[key].sort()

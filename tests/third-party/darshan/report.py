"""Darshan's log, as darshan-parser prints it: all counters of all records, except for times, ranks that were fastest and slowest, and the
heat map, whose bins are times.

Names of files that have a process id in them (shared memory of an MPI) are kept without digits; records of one such name are a list.
Below another tool Darshan sees what that tool itself prints and writes: only files of the program are compared there.
"""

import re

DROPPED = re.compile("_TIME|TIMESTAMP|FASTEST|SLOWEST|VARIANCE")
PROCESS = re.compile(r"\d+")
OF_THE_PROGRAM = re.compile(r"/\.work/data/")
PLANTED = [
    ("counters.txt", r"^(POSIX\t-?\d\t\d+\tPOSIX_WRITES\t)(\d+)", r"\g<1>1\2"),
    ("counters.txt", r"^(STDIO\t-?\d\t\d+\tSTDIO_BYTES_WRITTEN\t)(\d+)", r"\g<1>1\2"),
    ("counters.txt", r"^(MPI-IO\t-1\t\d+\tMPIIO_COLL_WRITES\t)(\d+)", r"\g<1>1\2"),
    ("counters.txt", r"^(POSIX\t\S+\t\d+\tPOSIX_STRIDE1_STRIDE\t)(\d+)", r"\g<1>1\2"),
    ("counters.txt", r"^POSIX\t-?\d\t\d+\tPOSIX_OPENS\t.*\n", r""),
]
PLANTED_IN = {
    "hdf5": [
        ("counters.txt", r"^(H5D\t-?\d\t\d+\tH5D_WRITES\t)(\d+)", r"\g<1>1\2"),
        ("counters.txt", r"^(H5F\t-?\d\t\d+\tH5F_OPENS\t)(\d+)", r"\g<1>1\2"),
    ]
}


def read(folder, below):
    """Counters by module, rank, file and name."""
    values = {}
    for line in (folder / "counters.txt").read_text(errors="replace").splitlines():
        fields = line.split("\t")
        if line.startswith("#"):
            if line.startswith(("# nprocs", "# exe", "# metadata", "# darshan log version")):
                name, _, value = line.partition(":")
                values["head", name, value.split("=")[0]] = value
            continue
        if len(fields) < 6:
            continue
        module, rank, _, counter, value, name = fields[:6]
        if module == "HEATMAP" or DROPPED.search(counter):
            continue
        if not OF_THE_PROGRAM.search(name):
            if below:
                continue
            name = PROCESS.sub("N", name)
        values.setdefault((module, "rank", rank, name, counter), []).append(value)
    for found in values.values():
        if isinstance(found, list):
            found.sort()
    return values

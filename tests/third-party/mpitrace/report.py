"""mpitrace's reports, one a rank: calls and average bytes of each function, and of each message size; without times and what is of the
machine (memory, cores, context switches)."""

import re

TITLE = re.compile(r"^(MPI_\w+) +#calls")
ROW = re.compile(r"^(MPI_\w+) +(\d+) +([\d.]+) +[\d.]+$")
SIZE = re.compile(r"^ +(\d+) +([\d.]+) +[\d.]+$")
PLANTED = [
    ("mpi_profile.*.0", r"^(MPI_Isend +)(\d+) ", r"\g<1>1\2 "),
    ("mpi_profile.*.3", r"^(MPI_Bcast +\d+ +)\d+\.", r"\g<1>77."),
    ("mpi_profile.*.2", r"^( +1 +4)\.0( .*)$", r"\g<1>.5\2"),
    ("mpi_profile.*.1", r"^MPI_Barrier ", r"MPI_Ibarrier "),
]


def read(folder, _below):
    """The values of all ranks."""
    values = {}
    for path in folder.glob("mpi_profile.*"):
        rank = path.name.rsplit(".", 1)[1]
        function = None
        for line in path.read_text().splitlines():
            if line.startswith("Data for MPI rank"):
                values["rank", rank] = line
            elif title := TITLE.match(line):
                function = title[1]
            elif row := ROW.match(line):
                values["rank", rank, row[1]] = row.groups()[1:]
            elif size := SIZE.match(line):
                if function:
                    values.setdefault(("rank", rank, function, "of bytes", size[2]), []).append(size[1])
            elif not line.strip():
                continue
            elif line.startswith("---"):
                function = None
    return values

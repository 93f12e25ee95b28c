"""TAU's profiles: calls and calls from within of each timer, numbers and sizes of each event; without times and bandwidths.

A file is profile.RANK.CONTEXT.THREAD. What TAU says of its settings and of the machine is compared too, except for what differs from
process to process. With its wrappers of I/O and threads, TAU sees what MPI does for itself:

- Names of files, with process ids and ports in them, are kept without digits and generated endings, unless they are the program's.
- How long such a file is (/proc/PID/stat) is chance: of events of other files than the program's, and of those of all files, the number
  is compared, and sizes are not.
- Threads that use no file of the program are MPI's. What these do depends on time, so only their number is compared.
"""

import re

TIMER = re.compile(r'^"(.*?)\s*" (\d+) (\d+) \S+ \S+ \S+ GROUP="(.*)"')
EVENT = re.compile(r'^"(.*?)\s*" (\d+) (\S+) (\S+) (\S+) (\S+)$')
ATTRIBUTE = re.compile(r"<attribute><name>(.*?)</name><value>(.*?)</value></attribute>")
OF_THE_PROCESS = re.compile(r"Time|Timestamp|pid|tid|Memory|MHz|Hz|CPUs? |CWD|Cores|LD_PRELOAD|Local|profile|^posix open")
BANDWIDTH = re.compile("Bandwidth|MB/s|Heap|Memory")
OF_THE_PROGRAM = re.compile(r"/\.work/data/|^Message size|^MPI-IO")
FILES = re.compile(r"<file=([^>]*)>")
GENERATED = re.compile(r"(?<=_tmp)\w{6}|\d+")
# Calls that MPICH makes in MPI_Finalize.
IN_FINALIZE = re.compile(r"MPI_(Finalize|Type_free_keyval)\(\)")
PLANTED = [
    ("profile.0.0.0", r'^("MPI_Isend\(\) *" )(\d+) ', r"\g<1>1\2 "),
    ("profile.2.0.0", r'^("\.TAU application" 1 )(\d+)', r"\g<1>1\2"),
    ("profile.3.0.0", r'^("Message size for broadcast" )1 ', r"\g<1>2 "),
    ("profile.1.0.0", r'^("Message size for all-reduce" \d+ )4 ', r"\g<1>5 "),
]


def read(folder, _below):
    """The values of all ranks and of the program's threads."""
    values = {}
    for path in sorted(folder.glob("profile.*")):
        _, rank, _, thread = path.name.split(".")
        text = path.read_text(errors="replace")
        if thread != "0":
            kind = "program" if "/.work/data/" in "".join(FILES.findall(text)) else "MPI"
            count = values["rank", rank, "threads of", kind] = values.get(("rank", rank, "threads of", kind), 0) + 1
            if kind == "MPI":
                continue
            thread = f"{kind} {count}"
        for key, value in values_of(text):
            values.setdefault(("rank", rank, "thread", thread, *key), []).append(value)
    for found in values.values():
        if isinstance(found, list):
            found.sort()
    return values


def values_of(text):
    """Keys and values of one profile."""
    for line in text.splitlines():
        if timer := TIMER.match(line):
            yield (timer[1], timer[4]), timer.groups()[1:3]
        elif (event := EVENT.match(line)) and not BANDWIDTH.search(event[1]):
            if OF_THE_PROGRAM.search(event[1]):
                yield ("event", event[1]), event.groups()[1:]
            else:
                yield ("event", GENERATED.sub("N", event[1])), event[2]
        for name, value in ATTRIBUTE.findall(line):
            if not OF_THE_PROCESS.search(name):
                yield ("attribute", name), value

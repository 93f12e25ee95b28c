"""TAU's profiles: calls and calls from within of each timer, numbers and sizes of each event; without times and bandwidths.

A file is profile.RANK.CONTEXT.THREAD. What TAU says of the machine and of its settings is compared too, except for what differs from
process to process.
"""

import re

TIMER = re.compile(r'^"(.*?)\s*" (\d+) (\d+) \S+ \S+ \S+ GROUP="(.*)"')
EVENT = re.compile(r'^"(.*?)\s*" (\d+) (\S+) (\S+) (\S+) (\S+)$')
ATTRIBUTE = re.compile(r"<attribute><name>(.*?)</name><value>(.*?)</value></attribute>")
OF_THE_PROCESS = re.compile(r"Time|Timestamp|pid|tid|Memory|MHz|Hz|CPUs? |CWD|Cores|LD_PRELOAD|Local|profile")
BANDWIDTH = re.compile("Bandwidth|MB/s|Heap|Memory")
PLANTED = [
    ("profile.0.0.0", r'^("MPI_Isend\(\) *" )(\d+) ', r"\g<1>1\2 "),
    ("profile.2.0.0", r'^("\.TAU application" 1 )(\d+)', r"\g<1>1\2"),
    ("profile.3.0.0", r'^("Message size for broadcast" )1 ', r"\g<1>2 "),
    ("profile.1.0.0", r'^("Message size for all-reduce" \d+ )4 ', r"\g<1>5 "),
]


def read(folder, _below):
    """The values of all ranks and threads."""
    values = {}
    for path in folder.glob("profile.*"):
        where = path.name
        for line in path.read_text(errors="replace").splitlines():
            if timer := TIMER.match(line):
                values[where, timer[1], timer[4]] = timer.groups()[1:3]
            elif event := EVENT.match(line):
                if not BANDWIDTH.search(event[1]):
                    values[where, "event", event[1]] = event.groups()[1:]
            for name, value in ATTRIBUTE.findall(line):
                if not OF_THE_PROCESS.search(name):
                    values[where, "attribute", name] = value
    return values

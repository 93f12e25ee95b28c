"""Score-P's trace: all events of each location in their order, with what they carry; all definitions. Without time stamps and process ids.

The order of events of different locations follows from time stamps, so each location has its own sequence.
"""

import re

EVENT = re.compile(r"^([A-Z][A-Z0-9_]+) +(\d+) +\d+ *(.*)$")
CONTINUED = re.compile(r"^ {20,}(\S.*)$")
PROCESS = re.compile(r'\("(?:ProcessId|ThreadId)" <\d+>; \w+; \d+\)')
PLANTED = [
    ("events.txt", r"^(MPI_SEND .*Length: )(\d+)$", r"\g<1>1\2"),
    ("events.txt", r"^(MPI_ISEND .*Receiver: )3 ", r"\g<1>1 "),
    ("events.txt", r'^ENTER +\d+ +\d+ +Region: "MPI_Barrier".*\n', r""),
    ("definitions.txt", r'^(STRING +\d+ +"MPI_)Bcast"', r'\g<1>Ibcast"'),
]


def read(folder, _below):
    """Events by location and number, definitions by kind and number."""
    values, length = {}, {}
    location = None
    for line in (folder / "events.txt").read_text(errors="replace").splitlines():
        if event := EVENT.match(line):
            kind, location, attributes = event.groups()
            number = length[location] = length.get(location, 0) + 1
            values["location", location, "event", number] = f"{kind} {attributes}"
        elif location and (more := CONTINUED.match(line)):
            values["location", location, "event", length[location]] += " " + PROCESS.sub("", more[1])
    for location, number in length.items():
        values["location", location, "events"] = number
    for line in (folder / "definitions.txt").read_text(errors="replace").splitlines():
        words = line.split(None, 2)
        if len(words) == 3 and re.fullmatch("[A-Z][A-Z0-9_]+", words[0]) and words[0] != "CLOCK_PROPERTIES":
            values["definition", words[0], words[1]] = words[2]
    return values

#!/usr/bin/env python3
"""Compares a tool's report with those of native runs, by the rules of the tool's format.

    compare.py --native DIR [--native DIR]... --job DIR [--report NAME] [--below] TOOL
    compare.py --native DIR [--native DIR]... --planted DIR [--program NAME] TOOL

A DIR is a job's: `report` (or NAME) is what the tool wrote, `status` and `stdout` are the program's. TOOL/report.py reads a report as a
dictionary of values. A value that is not the same in all native runs is not held against the job.

--planted copies a native report to DIR and changes single numbers in it; each change has to be found.

Prints differences, then what was compared. Exit status: 0 if there is no difference.
"""

import argparse
import importlib.util
import pathlib
import re
import shutil
import sys

SHOWN = 20
# What the programs print at their end.
PROGRAM = re.compile(r"^(program: \d+ ranks, 0 errors|hdf5_parallel: 0 wrong)$", re.MULTILINE)


class Unreadable(Exception):
    """A report that is not there, or is not what the tool writes."""


def reader(tool):
    """The module that knows the format."""
    path = pathlib.Path(__file__).with_name(tool) / "report.py"
    specification = importlib.util.spec_from_file_location(f"report_of_{tool}", path)
    module = importlib.util.module_from_spec(specification)
    sys.dont_write_bytecode = True
    specification.loader.exec_module(module)
    return module


def values(module, folder, below):
    """The report as a dictionary; without a value it proves nothing."""
    try:
        found = module.read(pathlib.Path(folder), below)
    except (OSError, ValueError, IndexError, KeyError) as error:
        raise Unreadable(f"the report in {folder} cannot be read: {type(error).__name__}: {error}") from error
    if not found:
        raise Unreadable(f"no report in {folder}")
    return found


def of_job(module, job, report="report", below=False):
    """The values of a job that ended well."""
    job = pathlib.Path(job)
    if (status := (job / "status").read_text().strip()) != "0":
        words = (job / "stderr").read_text(errors="replace").strip().splitlines() or ["nothing on stderr"]
        raise Unreadable(f"the job in {job} ended with status {status}: {next((w for w in words if 'rror' in w), words[-1])}")
    if not PROGRAM.search((job / "stdout").read_text(errors="replace")):
        raise Unreadable(f"the job in {job} did not print what the program prints")
    return values(module, job / report, below)


def differences(natives, other):
    """Lines for people, and how many values were compared and how many vary natively."""
    keys = {key for native in natives for key in native}
    varying = {key for key in keys if any(native.get(key) != natives[0].get(key) for native in natives)}
    lines = []
    for key in sorted((keys | other.keys()) - varying, key=str):
        expected, found = natives[0].get(key), other.get(key)
        if expected != found:
            lines.append(f"{' '.join(map(str, key))}: natively {expected}, here {found}")
    return lines, len(keys) - len(varying), len(varying)


def shown(lines):
    for line in lines[:SHOWN]:
        print(line[:300])
    if len(lines) > SHOWN:
        print(f"... and {len(lines) - SHOWN} more")


def compare(module, options):
    """A job against the native ones."""
    natives = [of_job(module, native, below=options.below) for native in options.native]
    found = of_job(module, options.job, options.report, options.below)
    if options.finalize_is_late and hasattr(module, "IN_FINALIZE"):
        in_finalize = [key for key in natives[0].keys() | found.keys() if module.IN_FINALIZE.search(" ".join(map(str, key)))]
        for report in [*natives, found]:
            for key in in_finalize:
                report.pop(key, None)
    lines, compared, varying = differences(natives, found)
    if compared <= varying:
        raise Unreadable(f"{varying} values vary natively, and only {compared} can be compared")
    shown(lines)
    print(f"{len(lines)} of {compared} values" if lines else f"{compared} values", f"{varying} vary natively", sep=", ")
    return bool(lines)


def planted(module, options):
    """Each planted change has to be a difference."""
    natives = [of_job(module, native) for native in options.native]
    missed, found = [], 0
    changes = module.PLANTED + getattr(module, "PLANTED_IN", {}).get(options.program, [])
    for number, (files, pattern, replacement) in enumerate(changes):
        folder = pathlib.Path(options.planted) / str(number)
        shutil.copytree(pathlib.Path(options.native[0]) / "report", folder)
        paths = sorted(folder.glob(files))
        if not paths:
            raise Unreadable(f"no {files} in the report")
        text = paths[0].read_text(errors="replace")
        changed, count = re.subn(pattern, replacement, text, count=1, flags=re.MULTILINE)
        if count == 0 or changed == text:
            raise Unreadable(f"{pattern} is not in {paths[0]}")
        paths[0].write_text(changed)
        if not differences(natives, values(module, folder, False))[0]:
            missed.append(f"not found: {pattern} changed to {replacement} in {paths[0]}")
        else:
            found += 1
    shown(missed)
    print(f"{found} of {len(changes)} changes found")
    return bool(missed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--native", action="append", required=True)
    parser.add_argument("--job")
    parser.add_argument("--report", default="report")
    parser.add_argument("--below", action="store_true", help="another tool is above this one")
    parser.add_argument("--finalize-is-late", action="store_true", help="a tool below puts MPI_Finalize off until this one has reported")
    parser.add_argument("--planted")
    parser.add_argument("--program")
    options = parser.parse_args()
    module = reader(options.tool)
    try:
        return planted(module, options) if options.planted else compare(module, options)
    except (Unreadable, OSError) as problem:
        print(problem)
        return 1


sys.exit(main())

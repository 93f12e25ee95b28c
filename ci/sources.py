"""The Rust of the product as ci/lines and ci/order read it: what is written by hand, outside of tests.

By hand: not in a file with a line `//! @generated`. Outside of tests: not below `tests/`, `examples/` or `benches/`, not in an item under
`#[cfg(test)]` or `#[cfg(all(test, ...))]`, and not in a file that such an item declares (`mod x;`).
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
NO_SOURCE = {"tests", "examples", "benches"}
# Comments, strings and characters. A lifetime is no character: it has no quote behind its first letter.
TEXT = re.compile(r"""//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^']*|[^\\'\n])'""", re.S)
OF_TESTS = re.compile(r"^[ \t]*#\[cfg\((?:test|all\(test\b.*)\)\]", re.M)
DECLARED = re.compile(r"(?:#\[path = (?P<path>[^\]]*)\]\s*)?(?:pub(?:\([^)]*\))? )?mod (?P<name>\w+);")

USE = re.compile(r"^\s*(pub(?:\([^)]*\))? )?use ([^;]*);", re.M)


def crates():
    """Each crate of the product: its name and its folder."""
    manifests = sorted([*ROOT.glob("bridge/*/Cargo.toml"), ROOT / "shim-gen/Cargo.toml"])
    return [(str(manifest.parent.relative_to(ROOT)), manifest.parent) for manifest in manifests]


def blank(text):
    """The text without what comments and strings say, character for character."""
    return TEXT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def end_of_item(code, start):
    """Where the item ends that begins here, behind its attributes: at a semicolon, a comma or a closing brace outside of all brackets."""
    depth = 0
    for index in range(start, len(code)):
        character = code[index]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth < 0:
                return len(code[:index].rstrip())
            if depth == 0 and character == "}":
                return index + 1
        elif character in ";," and depth == 0:
            return index + 1
    return len(code)


def module_file(path, name, text):
    """The file of the module that a file declares, if a `path` says another than the usual one."""
    if text:
        return (path.parent / text.strip().strip('"')).resolve()
    folder = path.parent if path.stem in ("lib", "main", "mod") else path.with_suffix("")
    return next((file for file in (folder / f"{name}.rs", folder / name / "mod.rs") if file.exists()), folder / f"{name}.rs")


class Source:
    """A file: its lines that are of the product, and its code, with spaces for all that is not."""

    def __init__(self, path):
        self.path = path
        text = path.read_text()
        code = blank(text)
        self.is_generated = re.search(r"^//! @generated", text, re.M) is not None
        self.files_of_tests, left_out = [], set()
        for match in OF_TESTS.finditer(code):
            start = match.end()
            while attribute := re.compile(r"\s*#\[").match(code, start):
                start = end_of_attribute(code, attribute.end())
            end = end_of_item(code, start)
            if declared := DECLARED.search(text, match.end(), end):
                self.files_of_tests.append(module_file(path, declared["name"], declared["path"]))
            left_out.update(range(code.count("\n", 0, match.start()) + 1, code.count("\n", 0, end) + 2))
        lines = code.split("\n")
        self.lines = sum(number not in left_out for number in range(1, len(text.splitlines()) + 1))
        self.code = "\n".join("" if number in left_out else line for number, line in enumerate(lines, 1))


def end_of_attribute(code, index):
    """Behind the bracket that closes this attribute."""
    depth = 1
    while depth:
        depth += {"[": 1, "]": -1}.get(code[index], 0)
        index += 1
    return index


def sources(folder):
    """The files of a crate that are written by hand and no tests."""
    paths = [path for path in sorted(folder.rglob("*.rs")) if not NO_SOURCE & set(path.relative_to(folder).parts[:-1])]
    found = [Source(path) for path in paths]
    of_tests = {file for source in found for file in source.files_of_tests}
    below = tuple(f"{file.with_suffix('')}/" for file in of_tests)
    return [one for one in found if not one.is_generated and one.path not in of_tests and not str(one.path).startswith(below)]


def imports(code):
    """Each import: whether it is `pub`, its path, and the name behind `as` or nothing."""
    for public, tree in USE.findall(code):
        for path in expanded(tree):
            words, _, name = path.partition(" as ")
            yield bool(public), words, name


def expanded(tree):
    """The paths of a `use` with braces."""
    tree = re.sub(r"\s+", " ", tree).strip()
    if "{" not in tree:
        return [tree]
    head, inner = tree.split("{", 1)
    parts, depth = [""], 0
    for character in inner[: inner.rindex("}")]:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [path for part in parts if part.strip() for path in expanded(head + part.strip())]

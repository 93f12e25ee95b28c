//! Damage that once made a tool worse than under plain `LD_PRELOAD`, one change each: what it is, and how it is done.
//!
//! Each tool works natively as if nothing had happened, because `ld.so` does not look at what is changed, or not before a function
//! is called that is never called.

use super::mutation::Mutant;
use super::parts::{Field, Part};
use super::sample::Sample;

const DT_NEEDED: u64 = 1;
const DT_HASH: u64 = 4;
const DT_STRSZ: u64 = 10;
const DT_SYMENT: u64 = 11;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const PT_DYNAMIC: u64 = 2;
/// Fields of `Elf64_Sym`.
const NAME: usize = 0;
const SECTION: usize = 3;

/// What is done to which sound tool.
pub(super) struct Damage {
    pub(super) name: &'static str,
    pub(super) tool: &'static str,
    pub(super) apply: fn(&mut Mutant, &Sample),
}

/// All of it.
pub(super) const ALL: &[Damage] = &[
    Damage {
        name: "size of the string table 0",
        tool: "counter",
        apply: |mutant, sample| dynamic(mutant, sample, DT_STRSZ, 0),
    },
    Damage {
        name: "size of the string table beyond the file",
        tool: "counter",
        apply: |mutant, sample| dynamic(mutant, sample, DT_STRSZ, 1 << 40),
    },
    Damage {
        name: "size of a symbol 25",
        tool: "counter",
        apply: |mutant, sample| dynamic(mutant, sample, DT_SYMENT, 25),
    },
    Damage {
        name: "a library whose name is empty",
        tool: "versioned wrappers",
        apply: |mutant, sample| dynamic(mutant, sample, DT_NEEDED, 0),
    },
    Damage {
        name: "no hash table, so nothing is found in it",
        tool: "counter",
        apply: |mutant, sample| tag(mutant, sample, DT_GNU_HASH),
    },
    Damage {
        name: "no DT_HASH beside DT_GNU_HASH",
        tool: "counter, both hash tables",
        apply: |mutant, sample| tag(mutant, sample, DT_HASH),
    },
    Damage {
        name: "count of symbols in DT_HASH beyond the file",
        tool: "counter, DT_HASH only",
        apply: |mutant, sample| mutant.put(sample.part("DT_HASH").field(1, 0), 0x7fff_ffff),
    },
    Damage {
        name: "count of symbols in DT_HASH 1",
        tool: "counter, DT_HASH only",
        apply: |mutant, sample| mutant.put(sample.part("DT_HASH").field(1, 0), 1),
    },
    Damage {
        name: "the last chain of DT_GNU_HASH does not end",
        tool: "counter",
        apply: |mutant, sample| {
            let part = sample.part("DT_GNU_HASH");
            let last = part.field(part.entries() - 1, 0);
            mutant.put(last, mutant.get(last).unwrap_or_default() & !1);
        },
    },
    Damage {
        name: "PT_DYNAMIC at another place of the file",
        tool: "counter",
        apply: |mutant, sample| {
            let part = sample.part("program headers");
            let kind = |entry: &usize| mutant.get(part.field(*entry, 0)) == Some(PT_DYNAMIC);
            let entry = (0..part.entries()).find(kind).expect("PT_DYNAMIC");
            mutant.put(part.field(entry, 2), 1);
            mutant.put(part.field(entry, 5), 16);
        },
    },
    Damage {
        name: "definitions of versions over each other",
        tool: "versioned wrappers",
        apply: |mutant, sample| {
            let part = sample.part("DT_VERDEF");
            let (from, to) = (part.field(1, 0).at, part.field(2, 0).at);
            mutant.bytes.copy_within(from..from + part.entry(), to);
        },
    },
    Damage {
        name: "wrappers with version index 0",
        tool: "counter",
        apply: |mutant, sample| {
            let (symbols, versions) = (sample.part("symbols"), sample.part("DT_VERSYM"));
            for entry in 0..versions.entries() {
                if mutant.get(symbols.field(entry, SECTION)) != Some(0) {
                    mutant.put(versions.field(entry, 0), 0);
                }
            }
        },
    },
    Damage {
        name: "undefined symbols that have a section",
        tool: "counter",
        apply: |mutant, sample| {
            each_undefined(mutant, sample, "PMPI_", |mutant, symbols, entry| {
                mutant.put(symbols.field(entry, SECTION), 7)
            });
        },
    },
    Damage {
        name: "functions that are never called under other names",
        tool: "counter",
        apply: |mutant, sample| {
            for name in ["PMPI_Alltoall", "PMPI_Scatter", "PMPI_Iprobe"] {
                each_undefined(mutant, sample, name, |mutant, symbols, entry| {
                    mutant.put(symbols.field(entry, NAME), 0x4000_0000);
                });
            }
        },
    },
    Damage {
        name: "cut off behind what is loaded",
        tool: "C++",
        apply: |mutant, sample| {
            let end =
                sample.parts.iter().filter(|part| part.name == "contents").map(|part| part.start + part.len).max();
            mutant.bytes.truncate(end.expect("contents"));
        },
    },
];

fn place(mutant: &Mutant, sample: &Sample, tag: u64) -> (Field, Field) {
    let part = sample.part("dynamic section");
    let entry = (0..part.entries()).find(|entry| mutant.get(part.field(*entry, 0)) == Some(tag));
    let entry = entry.unwrap_or_else(|| panic!("{}: no entry {tag:#x}", sample.name));
    (part.field(entry, 0), part.field(entry, 1))
}

/// Gives the first entry with this tag another value.
fn dynamic(mutant: &mut Mutant, sample: &Sample, tag: u64, value: u64) {
    let (_, place) = place(mutant, sample, tag);
    mutant.put(place, value);
}

/// Gives the entry with this tag one that no linker knows.
fn tag(mutant: &mut Mutant, sample: &Sample, tag: u64) {
    let (place, _) = place(mutant, sample, tag);
    mutant.put(place, super::mutation::UNKNOWN_TAG);
}

/// Changes each undefined symbol whose name begins so.
fn each_undefined(mutant: &mut Mutant, sample: &Sample, start: &str, change: impl Fn(&mut Mutant, &Part, usize)) {
    let (symbols, strings) = (sample.part("symbols"), sample.part("strings"));
    let mut count = 0;
    for entry in 1..symbols.entries() {
        let name = mutant.get(symbols.field(entry, NAME)).unwrap_or_default() as usize;
        let is_it = sample.bytes.get(strings.start + name..).is_some_and(|name| name.starts_with(start.as_bytes()));
        if is_it && mutant.get(symbols.field(entry, SECTION)) == Some(0) {
            change(mutant, symbols, entry);
            count += 1;
        }
    }
    assert!(count > 0, "{}: no undefined {start}", sample.name);
}

//! Files that are made to cost time and memory: the answer takes as long as a sound file of that size would.
//!
//! Each is inspected in a process of its own with an address space of 256 MiB, so that a limit that is not kept shows as a
//! process that dies.

#[path = "support/crafted.rs"]
mod crafted;
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crafted::{Crafted, words};
use goblin::elf::dynamic::*;
use qmpi_elf::{SearchPath, Tool};
use support::Outcome;

/// The file that a child process inspects.
const INSPECTED: &str = "QMPI_TEST_CRAFTED";
const MEMORY: u64 = 256 << 20;
/// Of the processor's time: the machine may have other things to do.
const SECONDS: u64 = 10;

/// What [`inspect`] runs in the child; no test in the parent.
#[test]
fn child() {
    let Some(path) = std::env::var_os(INSPECTED) else { return };
    match Tool::inspect(Path::new(&path), &[], &SearchPath::new(None), &|_| false) {
        Ok(tool) => println!("answer: a tool with {} undefined symbols", tool.undefined_elsewhere.len()),
        Err(error) => println!("answer: {error}"),
    }
}

/// Inspects the file under limits. Returns the answer without the path.
fn inspect(crafted: Crafted, name: &str) -> Result<String, Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let path: PathBuf = directory.path().join(name);
    std::fs::write(&path, crafted.file())?;
    let start = Instant::now();
    let limit = format!("ulimit -v {} -t {SECONDS} && exec \"$0\" --exact child --nocapture", MEMORY >> 10);
    let mut child = Command::new("bash");
    child.args(["-c", &limit]).arg(std::env::current_exe()?);
    let output = child.env(INSPECTED, &path).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let answer = text.lines().find_map(|line| line.split_once("answer: ")).map(|(_, answer)| answer.to_owned());
    let answer = answer.ok_or_else(|| {
        format!("{name}: {} after {:?}: {}", output.status, start.elapsed(), String::from_utf8_lossy(&output.stderr))
    })?;
    assert!(answer.len() < 1000, "{name}: an answer of {} bytes", answer.len());
    Ok(answer.replace(&format!("{}: ", path.display()), ""))
}

/// A string table with one name of `len` bytes.
fn one_long_name(len: usize) -> Vec<u8> {
    let mut strings = vec![b'a'; len + 2];
    strings[0] = 0;
    strings[len + 1] = 0;
    strings
}

#[test]
fn needed_libraries_with_long_names() -> Outcome {
    let mut file = Crafted::new(one_long_name(102_000));
    file.entries = (0..2000).map(|index| (DT_NEEDED, 1 + index)).collect();
    let answer = inspect(file, "needed.so")?;
    assert_eq!(answer, "malformed dynamic section: it needs a library whose name is longer than a path can be");
    Ok(())
}

/// `Elf64_Verneed` of one library with `count` versions, whose names start one byte apart.
fn needs(count: u32) -> Vec<u8> {
    let versions =
        (0..count).flat_map(|index| [0, (index + 2) << 16, 1 + index, if index + 1 < count { 16 } else { 0 }]);
    words([1 | (count << 16), 1, 16, 0].into_iter().chain(versions))
}

#[test]
fn needed_versions_with_one_long_name() -> Outcome {
    let mut file = Crafted::new(one_long_name(5 << 20));
    file.tables.push((DT_VERNEED, needs(10_000)));
    let answer = inspect(file, "vernaux.so")?;
    assert_eq!(answer, "malformed version needs (DT_VERNEED): its names overlap: they are longer than the file");
    Ok(())
}

#[test]
fn symbols_with_one_long_name() -> Outcome {
    let mut file = Crafted::new(one_long_name(5 << 20));
    file.symbols = (1..200_000).collect();
    let answer = inspect(file, "symbols.so")?;
    assert_eq!(answer, "malformed dynamic symbol table: its names overlap: they are longer than the file");
    // One of that length is no reason to refuse the file.
    let mut file = Crafted::new(one_long_name(5 << 20));
    file.symbols = vec![1];
    assert_eq!(inspect(file, "symbol.so")?, "a tool with 1 undefined symbols");
    Ok(())
}

#[test]
fn counts_that_the_file_has_no_room_for() -> Outcome {
    // The counts are not used: the chain has an end.
    let mut file = Crafted::new(&b"\0V1\0"[..]);
    file.tables.push((DT_VERSYM, words([0])));
    file.tables.push((DT_VERDEF, words([1, 2 | (1 << 16), 0, 20, 0, 1, 0])));
    file.entries = vec![(DT_VERDEFNUM, u64::MAX), (DT_VERNEEDNUM, u64::MAX)];
    assert_eq!(inspect(file, "verdefnum.so")?, "a tool with 0 undefined symbols");

    let mut file = Crafted::new(&b"\0"[..]);
    file.tables.push((DT_HASH, words([1, u32::MAX, 0])));
    assert_eq!(inspect(file, "nchain.so")?, "a tool with 0 undefined symbols");
    let mut file = Crafted::new(&b"\0"[..]);
    file.tables.push((DT_GNU_HASH, words([u32::MAX, 1, u32::MAX, 6])));
    assert_eq!(inspect(file, "buckets.so")?, "a tool with 0 undefined symbols");
    let mut file = Crafted::new(&b"\0"[..]);
    file.entries = vec![(DT_STRSZ, u64::MAX)];
    assert_eq!(inspect(file, "strsz.so")?, "a tool with 0 undefined symbols");
    Ok(())
}

#[test]
fn chains_that_lead_nowhere() -> Outcome {
    // Each definition is a byte behind the last: as many as there is room for bytes, not for entries.
    let mut file = Crafted::new(&b"\0V1\0"[..]);
    file.tables.push((DT_VERDEF, [1, 0, 0, 0].repeat(100_000)));
    assert_eq!(inspect(file, "verdef.so")?, "a tool with 0 undefined symbols");

    // 1,000 libraries share 1,000 versions.
    let mut table = Vec::new();
    for library in 0..1000_u32 {
        table.extend([1, 1, (1000 - library) * 16, if library < 999 { 16 } else { 0 }]);
    }
    let mut file = Crafted::new(&b"\0V1\0"[..]);
    file.tables.push((DT_VERNEED, [words(table), needs(1000)[16..].to_vec()].concat()));
    assert_eq!(inspect(file, "shared.so")?, "a tool with 0 undefined symbols");
    Ok(())
}

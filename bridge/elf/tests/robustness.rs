//! Truncated and damaged libraries: always an answer or an error, never a panic, a hang or a huge allocation.

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use qmpi_elf::{ElfErrorReason as Reason, ElfFile, FileKind, Machine, ObjectKind, SearchPath, Tool};
use support::{Outcome, build, library, versions};

const SOURCE: &str = r#"
    #include <stdio.h>
    #include <stdlib.h>
    #include <dlfcn.h>
    int *next(void);
    int PMPI_Send(void);
    int MPI_Send(void) { printf("%s", getenv("LD_PRELOAD")); return PMPI_Send(); }
    int MPI_Recv(void) { return dlsym(RTLD_NEXT, "MPI_Recv") != 0; }
    int PMPI_Finalize(void);
    static void at_last(void) { PMPI_Finalize(); }
    int MPI_Finalize(void) { atexit(at_last); return next() == 0; }
    static __thread int counter[10];
    int *next(void) { unsetenv("X"); return &counter[3]; }
    __asm__(".symver old_one, same@V1"); __asm__(".symver new_one, same@@V2");
    int old_one(void) { return 1; } int new_one(void) { return 2; }
"#;

fn fixture(directory: &Path) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let map = directory.join("versions");
    std::fs::write(&map, "V1 { same; MPI_*; next; }; V2 { same; } V1;")?;
    let option = format!("-Wl,--version-script={}", map.display());
    let path = library(directory, "libsound.so", SOURCE, &["-D_GNU_SOURCE", &option])?;
    Ok(std::fs::read(path)?)
}

/// Everything that reads from the file. The result does not matter, that there is one does.
fn exercise(path: &Path, search: &SearchPath) {
    let start = Instant::now();
    if let Ok(file) = ElfFile::open(path) {
        let bytes: usize = file.symbols().map(|symbol| symbol.name.len() + usize::from(symbol.version.is_some())).sum();
        std::hint::black_box((bytes, file.strings_in_rodata(&|text| text.starts_with("MPI_")).is_ok()));
    }
    match Tool::inspect(path, &[], search, &|_| false) {
        Ok(tool) => drop(std::hint::black_box((tool.hazards_of_contents(), tool))),
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
    assert!(start.elapsed() < Duration::from_secs(5), "took {:?}", start.elapsed());
}

#[test]
fn every_truncation_is_an_error_or_sound() -> Outcome {
    let directory = tempfile::tempdir()?;
    let bytes = fixture(directory.path())?;
    let search = SearchPath::new(None);
    let path = directory.path().join("libcut.so");
    // Every length where the headers are, then steps that are no multiple of any entry's size.
    for length in (0..1200.min(bytes.len())).chain((1200..bytes.len()).step_by(37)) {
        std::fs::write(&path, &bytes[..length])?;
        exercise(&path, &search);
    }
    Ok(())
}

#[test]
fn random_damage_never_panics() -> Outcome {
    let directory = tempfile::tempdir()?;
    let bytes = fixture(directory.path())?;
    let search = SearchPath::new(None);
    let path = directory.path().join("libbad.so");
    let mut state = 0x2545_f491_4f6c_dd1d_u64; // xorshift: the same damage in every run
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let dynamic = find_dynamic(&bytes);
    for round in 0..4000 {
        let mut damaged = bytes.clone();
        for _ in 0..=random(6) {
            // Headers, dynamic section, the tables of the first segment, anywhere.
            let at = match round % 4 {
                0 => 16 + random(64 + 56 * 12),
                1 => dynamic + random(0x200),
                2 => random(0x1000),
                _ => random(damaged.len()),
            };
            let value = [0, 0xff, 0x7f, 0x80, random(256) as u8][random(5)];
            let width = [1, 2, 4, 8][random(4)];
            for byte in damaged.iter_mut().skip(at).take(width) {
                *byte = value;
            }
        }
        std::fs::write(&path, &damaged)?;
        exercise(&path, &search);
    }
    Ok(())
}

/// File offset of PT_DYNAMIC.
fn find_dynamic(bytes: &[u8]) -> usize {
    let word =
        |at: usize| bytes.get(at..at + 8).map_or(0, |word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
    (0..16).map(|index| 64 + index * 56).find(|&at| word(at) as u32 == 2).map_or(0, |at| word(at + 8) as usize)
}

fn reason<T>(result: Result<T, qmpi_elf::ElfError>) -> Option<Reason> {
    result.err().map(|error| error.reason)
}

#[test]
fn wrong_files_are_named() -> Outcome {
    let directory = tempfile::tempdir()?;
    let at = |name: &str| directory.path().join(name);
    let sound = fixture(directory.path())?;
    let program = "int main(void) { return 0; }";

    let write = |name: &str, bytes: &[u8]| std::fs::write(at(name), bytes).map(|()| at(name));
    let with = |offset: usize, value: u8| {
        let mut bytes = sound.clone();
        bytes[offset] = value;
        bytes
    };
    assert!(matches!(reason(ElfFile::open(&at("none.so"))), Some(Reason::NotFound)));
    assert!(matches!(reason(ElfFile::open(directory.path())), Some(Reason::IsDirectory)));
    assert!(matches!(reason(ElfFile::open(Path::new("/dev/null"))), Some(Reason::NotRegular)));
    assert!(matches!(reason(ElfFile::open(&write("empty.so", b"")?)), Some(Reason::Empty)));
    assert!(matches!(
        reason(ElfFile::open(&write("script.so", b"GROUP ( libmpi.so.12 )")?)),
        Some(Reason::NotElf(kind)) if kind == FileKind::of(b"GROUP ( libm.so.6 )")
    ));
    assert!(matches!(reason(ElfFile::open(&write("class.so", &with(4, 1))?)), Some(Reason::WrongClass)));
    assert!(matches!(reason(ElfFile::open(&write("order.so", &with(5, 2))?)), Some(Reason::WrongByteOrder)));
    assert!(matches!(reason(ElfFile::open(&write("machine.so", &with(18, 21))?)), Some(Reason::ForeignMachine(_))));
    assert!(matches!(reason(ElfFile::open(&write("cut.so", &sound[..50])?)), Some(Reason::Truncated(_))));

    let object = build(directory.path(), "a.o", program, &["-c"])?;
    assert!(matches!(reason(ElfFile::open(&object)), Some(Reason::NotSharedObject(ObjectKind::Relocatable))));
    let fixed = build(directory.path(), "fixed", program, &["-no-pie"])?;
    assert!(matches!(reason(ElfFile::open(&fixed)), Some(Reason::NotSharedObject(ObjectKind::Executable))));
    assert!(!ElfFile::open_program(&fixed, Machine::HOST)?.is_shared_object());
    let pie = build(directory.path(), "pie", program, &["-fPIE", "-pie"])?;
    assert!(!ElfFile::open(&pie)?.is_shared_object());
    let inspected = Tool::inspect(&pie, &[], &SearchPath::new(None), &|_| false);
    assert!(matches!(reason(inspected), Some(Reason::NotSharedObject(ObjectKind::Executable))));
    if let Ok(fixed) = build(directory.path(), "static", program, &["-static", "-no-pie"]) {
        assert!(matches!(reason(ElfFile::open_program(&fixed, Machine::HOST)), Some(Reason::Static)));
    } else {
        eprintln!("skipped: no static libc here");
    }
    Ok(())
}

#[test]
fn tables_are_read_as_built() -> Outcome {
    let directory = tempfile::tempdir()?;
    fixture(directory.path())?;
    let file = ElfFile::open(&directory.path().join("libsound.so"))?;
    assert_eq!(file.soname(), Some("libsound.so"));
    assert!(file.needed().iter().any(|name| name == "libc.so.6"));
    assert_eq!(file.tls.map(|tls| tls.size), Some(40));
    assert!(!file.exec_stack && file.is_shared_object());
    let (defined, symbols) = versions(&file);
    assert_eq!(defined, ["V1", "V2"]);
    let same: BTreeSet<_> =
        symbols.into_iter().filter(|(name, _)| name == "same").filter_map(|symbol| symbol.1).collect();
    assert_eq!(same, BTreeSet::from([("V1".to_owned(), false), ("V2".to_owned(), true)]));
    let printf = file.imports().find(|symbol| symbol.name == "printf").and_then(|symbol| symbol.version);
    assert_eq!(printf.map(|version| version.file.as_str()), Some("libc.so.6"));
    assert!(file.imports().any(|symbol| symbol.name == "PMPI_Send" && symbol.version.is_none()));
    assert!(file.strings_in_rodata(&|text| text == "MPI_Recv")?.contains("MPI_Recv"));
    assert!(file.strings_in_rodata(&|text| text == "PMPI_Send")?.is_empty(), "symbol names are no strings");
    Ok(())
}

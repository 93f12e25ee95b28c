//! The tables of the libraries of this system, against what goblin reads from their section headers, and damaged ones.
#![cfg(not(miri))] // no dynamic linker, and a hundred libraries take hours
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::path::PathBuf;

use goblin::elf::program_header::{PT_DYNAMIC, PT_LOAD};
use goblin::elf::{Elf, ProgramHeader};
use qmpi_dynamic::relocation::RelocationKind;
use qmpi_dynamic::{Bytes, Dynamic, Tables, hash};

const DIRECTORY: &str =
    if cfg!(target_arch = "aarch64") { "/usr/lib/aarch64-linux-gnu" } else { "/usr/lib/x86_64-linux-gnu" };
/// Larger ones cost time and show nothing else.
const LARGEST: u64 = 8 << 20;

/// The tables of a file that is in memory as a whole.
fn tables<'a>(bytes: &'a [u8], headers: &[ProgramHeader]) -> Option<Tables<'a>> {
    let section = headers.iter().find(|header| header.p_type == PT_DYNAMIC)?;
    let section = Bytes::from(bytes.get(section.p_offset as usize..)?).first(section.p_filesz as usize)?;
    let memory = |_, address: u64| {
        headers.iter().filter(|header| header.p_type == PT_LOAD).find_map(|load| {
            let into = address.checked_sub(load.p_vaddr)?;
            let left = load.p_filesz.checked_sub(into).filter(|left| *left > 0)?;
            Bytes::from(bytes.get(usize::try_from(load.p_offset.checked_add(into)?).ok()?..)?).first(left as usize)
        })
    };
    Some(Tables::of(&Dynamic::of(section, |address| address), section, memory))
}

fn libraries() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(DIRECTORY).unwrap().filter_map(|entry| entry.ok()?.path().canonicalize().ok());
    let is_library = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"));
    let is_small = |path: &PathBuf| path.metadata().is_ok_and(|file| file.is_file() && file.len() < LARGEST);
    let all: BTreeSet<PathBuf> = entries.filter(is_library).filter(is_small).collect();
    all.into_iter().collect()
}

fn text(name: Option<&CStr>) -> String {
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_else(|| "outside".into())
}

#[test]
fn tables_are_those_that_the_section_headers_tell_of() {
    let mut count = 0;
    for path in libraries() {
        let bytes = std::fs::read(&path).unwrap();
        let Ok(elf) = Elf::parse(&bytes) else { continue };
        if !elf.is_64 || elf.dynamic.is_none() {
            continue;
        }
        let tables = tables(&bytes, &elf.program_headers).unwrap();
        assert_eq!(tables.check(), None, "{path:?}");
        compare(&tables, &elf, &path.display().to_string());
        count += 1;
    }
    println!("{count} libraries");
    assert!(count >= 20, "only {count} libraries in {DIRECTORY}");
}

fn compare(tables: &Tables<'_>, elf: &Elf<'_>, path: &str) {
    let dynsym = elf.section_headers.iter().find(|section| section.sh_type == goblin::elf::section_header::SHT_DYNSYM);
    if let Some(dynsym) = dynsym {
        assert_eq!(tables.symbol_count() as u64, dynsym.sh_size / 24, "{path}");
    }
    let name = |offset| elf.dynstrtab.get_at(offset).unwrap().to_owned();
    for symbol in tables.symbols() {
        let theirs = elf.dynsyms.get(symbol.index()).unwrap();
        assert_eq!(text(symbol.name()), name(theirs.st_name), "{path}");
        assert_eq!((symbol.value(), symbol.size()), (theirs.st_value, theirs.st_size), "{path}");
        assert_eq!(symbol.is_defined(), theirs.st_shndx != 0, "{path}");
        let index = elf.versym.as_ref().and_then(|table| table.get_at(symbol.index()));
        assert_eq!(
            tables.version_index(symbol.index()).map(|index| index.0),
            index.map(|index| index.vs_val),
            "{path}"
        );
    }
    let needed: Vec<String> = tables.needed().map(|name| text(Some(name))).collect();
    assert_eq!(needed, elf.libraries, "{path}");
    assert_eq!(tables.soname().map(|name| text(Some(name))).as_deref(), elf.soname, "{path}");

    let definitions: Vec<_> = tables.version_definitions().map(|one| (one.number, text(one.name()))).collect();
    let theirs = elf.verdef.iter().flat_map(|section| section.iter());
    let theirs: Vec<_> = theirs.map(|one| (one.vd_ndx, name(one.iter().next().unwrap().vda_name))).collect();
    assert_eq!(definitions, theirs, "{path}");
    let needs: Vec<_> = tables.version_needs().map(|one| (one.number, text(one.file()), text(one.name()))).collect();
    let theirs = elf.verneed.iter().flat_map(|section| section.iter());
    let theirs = theirs.flat_map(|file| {
        let versions = file.iter().map(|one| (one.vna_other, name(file.vn_file), name(one.vna_name)));
        versions.collect::<Vec<_>>()
    });
    assert_eq!(needs, theirs.collect::<Vec<_>>(), "{path}");

    let relocations = tables.relocations().map(|one| (one.offset, one.symbol, one.addend));
    let theirs = elf.dynrelas.iter().chain(elf.pltrelocs.iter());
    let theirs = theirs.map(|one| (one.r_offset, one.r_sym, one.r_addend.unwrap_or(0)));
    assert!(relocations.eq(theirs), "{path}");
    let calls = tables.relocations().filter(|one| one.kind == RelocationKind::JumpSlot).count();
    assert_eq!(tables.bindings_like(|_: [u8; 1]| true).filter(|one| one.is_call).count(), calls, "{path}");
}

#[test]
fn every_definition_is_found_by_its_name_and_version() {
    let mut count = 0;
    for path in libraries().into_iter().step_by(7) {
        let bytes = std::fs::read(&path).unwrap();
        let Ok(elf) = Elf::parse(&bytes) else { continue };
        let Some(tables) = tables(&bytes, &elf.program_headers).filter(|_| elf.is_64) else { continue };
        for symbol in tables.symbols().filter(|symbol| symbol.is_found_by_linker()) {
            let name = symbol.name().unwrap().to_bytes();
            let version = tables.version_index(symbol.index()).filter(|index| index.number() >= 2);
            let found = match version.and_then(|index| tables.defined_version(index)) {
                Some(version) => tables.find_versioned(name, hash::gnu(name), version.to_bytes()),
                None => tables.find(name, hash::gnu(name)),
            };
            // One name may stand there twice with one version.
            let found = found.unwrap_or_else(|| panic!("{path:?}: {name:?} is not found"));
            assert_eq!(found.name(), symbol.name(), "{path:?}");
            count += 1;
        }
        for name in [&b"qmpi_there_is_none"[..], b"", b"printf\0"] {
            assert!(tables.find(name, hash::gnu(name)).is_none());
        }
    }
    assert!(count > 1000, "{count}");
}

/// All that can be asked of tables.
fn exercise(tables: &Tables<'_>) -> usize {
    let names = tables.symbols().filter_map(|symbol| symbol.name()).map(|name| name.count_bytes()).sum::<usize>();
    let lists = tables.needed().count()
        + tables.undefined().count()
        + tables.version_definitions().count()
        + tables.version_needs().count()
        + tables.bindings_like(|_: [u8; 1]| true).count();
    let found = ["printf", "malloc", "_ZTVSt9exception", "none"].iter().filter(|name| {
        let hash = hash::gnu(name.as_bytes());
        tables.find(name.as_bytes(), hash).is_some()
            || tables.find_versioned(name.as_bytes(), hash, b"GLIBC_2.2.5").is_some()
    });
    names + lists + found.count() + usize::from(tables.check().is_some())
}

#[test]
fn damaged_tables_are_read_to_their_end_and_no_further() {
    let Some(path) = libraries().into_iter().find(|path| path.to_string_lossy().contains("libgcc_s")) else {
        panic!("no libgcc_s in {DIRECTORY}");
    };
    let sound = std::fs::read(path).unwrap();
    let headers = Elf::parse(&sound).unwrap().program_headers;
    let section = headers.iter().find(|header| header.p_type == PT_DYNAMIC).unwrap().p_offset as usize;
    let mut state = 0x2545_f491_4f6c_dd1d_u64; // xorshift: the same damage in every run
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let mut faults = 0;
    for round in 0..4000 {
        let mut damaged = sound.clone();
        for _ in 0..=random(6) {
            let at = if round % 2 == 0 { section + random(0x200) } else { random(0x4000) };
            let value = [0, 0xff, 0x7f, 0x80, random(256) as u8][random(5)];
            damaged.iter_mut().skip(at).take([1, 2, 4, 8][random(4)]).for_each(|byte| *byte = value);
        }
        let Some(tables) = tables(&damaged, &headers) else { continue };
        std::hint::black_box(exercise(&tables));
        faults += usize::from(tables.check().is_some());
    }
    assert!(faults > 100, "{faults}");
}

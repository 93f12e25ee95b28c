//! Provider libraries, read back three ways: by this crate, by goblin, and by the dynamic linker.
#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use std::ffi::CString;
use std::path::PathBuf;

use qmpi_elf::write::provider::{Life, Provided, ProvidedKind, ProvidedVersion, Template, write};
use qmpi_elf::{ElfFile, SymbolKind};
use support::versions;

const SONAME: &str = "libprovided.so.1";

/// Of the versions "V_1", "V_2" ...
fn versioned(name: &'static str, place: u16, default: bool, address: usize) -> Provided<'static> {
    Provided { version: Some(ProvidedVersion { place, default }), ..Provided::function(name, address) }
}

fn symbols() -> Vec<Provided<'static>> {
    vec![
        versioned("copy", 0, false, 0x1000),
        versioned("copy", 1, true, 0x2000),
        versioned("only_old", 0, false, 0x3000),
        Provided::function("plain", 0x7fff_1234_5678),
        Provided::new("variable", ProvidedKind::Data, 0x5555_0000_0010),
    ]
}

fn library(directory: &tempfile::TempDir, bytes: &[u8]) -> PathBuf {
    let path = directory.path().join(SONAME);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn this_crate_reads_it_back() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = write(SONAME, &["libneeded.so.2"], &["V_1", "V_2", "V_unused"], &symbols()).unwrap();
    let file = ElfFile::open(&library(&directory, &bytes)).unwrap();
    assert_eq!(file.soname(), Some(SONAME));
    assert_eq!(file.needed(), ["libneeded.so.2"]);
    let (defined, versions) = versions(&file);
    assert_eq!(defined, ["V_1", "V_2", "V_unused"]);
    assert!(!file.exec_stack, "an executable stack would be one for the whole process");
    let versions: Vec<_> = versions.into_iter().map(|(_, version)| version).collect();
    let version = |version: &'static str, default| Some((version.to_owned(), default));
    let mut found: Vec<_> = file
        .exports()
        .zip(versions)
        .map(|(symbol, version)| (symbol.name, version, symbol.kind(), symbol.value(), symbol.is_absolute()))
        .collect();
    found.sort_by_key(|symbol| symbol.3);
    assert_eq!(
        found,
        [
            ("copy", version("V_1", false), SymbolKind::Function, 0x1000, true),
            ("copy", version("V_2", true), SymbolKind::Function, 0x2000, true),
            ("only_old", version("V_1", false), SymbolKind::Function, 0x3000, true),
            ("variable", None, SymbolKind::Data, 0x5555_0000_0010, true),
            ("plain", None, SymbolKind::Function, 0x7fff_1234_5678, true),
        ]
    );
}

#[test]
fn goblin_agrees() {
    let bytes = write(SONAME, &[], &["V_1", "V_2"], &symbols()).unwrap();
    let elf = goblin::elf::Elf::parse(&bytes).unwrap();
    assert_eq!(elf.soname, Some(SONAME));
    assert_eq!(elf.dynsyms.iter().filter(|symbol| symbol.st_shndx == 0xfff1).count(), symbols().len());
    let executable = elf.program_headers.iter().any(goblin::elf::ProgramHeader::is_executable);
    assert!(!executable, "there is no code in it");
    for symbol in symbols() {
        assert!(
            elf.dynsyms
                .iter()
                .any(|read| elf.dynstrtab.get_at(read.st_name).map(str::as_bytes) == Some(symbol.name.bytes())
                    && read.st_value == symbol.address)
        );
    }
}

#[test]
fn the_dynamic_linker_takes_addresses_as_they_are() {
    #![expect(unsafe_code, reason = "dlopen of a library without code")]
    unsafe extern "C" {
        fn dlvsym(
            handle: *mut libc::c_void,
            name: *const libc::c_char,
            version: *const libc::c_char,
        ) -> *mut libc::c_void;
    }
    let directory = tempfile::tempdir().unwrap();
    // Enough symbols for several buckets and words of the Bloom filter.
    let names: Vec<String> = (0..3000).map(|i| format!("symbol_{i}")).collect();
    let mut all = symbols();
    all.extend(names.iter().enumerate().map(|(i, name)| Provided::function(name.as_str(), 0x10_0000 + i)));
    let path = library(&directory, &write(SONAME, &[], &["V_1", "V_2"], &all).unwrap());
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the library has no constructors.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!handle.is_null());
    let look = |name: &str, version: Option<&str>| {
        let name = CString::new(name).unwrap();
        match version.map(|version| CString::new(version).unwrap()) {
            // SAFETY: an open handle and C strings.
            Some(version) => unsafe { dlvsym(handle, name.as_ptr(), version.as_ptr()) }.addr(),
            // SAFETY: an open handle and a C string.
            None => unsafe { libc::dlsym(handle, name.as_ptr()) }.addr(),
        }
    };
    assert_eq!(look("copy", None), 0x2000, "the default version");
    assert_eq!(look("copy", Some("V_1")), 0x1000);
    assert_eq!(look("copy", Some("V_2")), 0x2000);
    assert_eq!(look("copy", Some("V_3")), 0);
    // A reference to plain@V_2 would be satisfied; dlvsym alone insists on the version (dl-lookup.c:check_match, `hidden`).
    assert_eq!(look("plain", None), 0x7fff_1234_5678);
    assert_eq!(look("variable", None), 0x5555_0000_0010);
    assert_eq!(look("absent", None), 0);
    for (i, name) in names.iter().enumerate() {
        assert_eq!(look(name, None), 0x10_0000 + i, "{name}");
    }
}

#[test]
#[expect(unsafe_code, reason = "loads a library in a child process")]
fn its_destructor_runs_at_exit() {
    extern "C" fn destructor() {
        // SAFETY: ends the process of the test's child.
        unsafe { libc::_exit(42) }
    }
    let directory = tempfile::tempdir().unwrap();
    let life = Life::WithDestructor((destructor as *const ()).addr());
    let file = Template::new(SONAME, &[], &[], &[Provided::function("plain", 1)], life).unwrap();
    let path = library(&directory, file.file());
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the child does nothing but open the library and end.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the library has no constructors.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        // SAFETY: the end of the child, as planned.
        unsafe { libc::exit(i32::from(handle.is_null())) };
    }
    let mut status = 0;
    // SAFETY: `status` is a number.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(libc::WEXITSTATUS(status), 42);
}

#[test]
fn no_symbols_and_no_versions() {
    let directory = tempfile::tempdir().unwrap();
    let file = ElfFile::open(&library(&directory, &write(SONAME, &[], &[], &[]).unwrap())).unwrap();
    assert_eq!(file.exports().count(), 0);
}

#[test]
fn what_cannot_be_written() {
    let name = |name| write(SONAME, &[], &[], &[Provided::function(name, 1)]);
    assert_eq!(name("").unwrap_err().to_string(), "provider libprovided.so.1: \"\" is not a symbol name");
    assert!(name("a\0b").unwrap_err().to_string().ends_with("\"a\\0b\" is not a symbol name"));
    let unknown = write(SONAME, &[], &["V_1"], &[versioned("a", 1, true, 1)]);
    let line = unknown.unwrap_err().to_string();
    assert_eq!(line, "provider libprovided.so.1: a has version 1 of 1");
}

//! Objects of this process, against what the dynamic linker says of them.
#![cfg(not(miri))] // no dynamic linker, and a hundred libraries take hours
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
#![expect(unsafe_code, reason = "dlopen, dlsym, dlvsym and dlinfo")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

use qmpi_dynamic::objects::{self, Info};
use qmpi_dynamic::{Asked, Mapped, hash};

unsafe extern "C" {
    /// dlfcn.h; the libc crate does not have it.
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// Asks `question` about the object whose path contains `name`.
fn ask<T>(name: &str, question: impl Fn(&Mapped<'_>) -> T) -> T {
    let is_it = |info: Info<'_>| info.name().to_str().is_ok_and(|path| path.contains(name));
    let found =
        objects::find(|info| is_it(info).then(|| Mapped::at(info.segments()).as_ref().map(&question)).flatten());
    found.unwrap_or_else(|| panic!("{name} is not loaded"))
}

fn address(image: &Mapped<'_>, name: &CStr) -> Option<usize> {
    image.find(name.to_bytes(), hash::gnu(name.to_bytes())).map(|(_, address)| address)
}

#[test]
fn symbols_have_the_addresses_that_dlsym_gives() {
    for name in [c"printf", c"qsort", c"stdout", c"pthread_create"] {
        // SAFETY: a C string.
        let theirs = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        assert_eq!(ask("/libc.so.6", |libc| address(libc, name)), Some(theirs.addr()), "{name:?}");
    }
}

#[test]
fn versions_are_chosen_as_the_linker_chooses_them() {
    // Both have several versions since glibc 2.14 and 2.34, and an old one is hidden.
    for (name, version) in [
        (c"pthread_create", c"GLIBC_2.2.5"),
        (c"pthread_create", c"GLIBC_2.34"),
        (c"realpath", c"GLIBC_2.2.5"),
        (c"realpath", c"GLIBC_2.3"),
        (c"qsort", c"GLIBC_2.2.5"),
        (c"qsort", c"GLIBC_9.9"),
    ] {
        // SAFETY: C strings.
        let theirs = unsafe { dlvsym(libc::RTLD_DEFAULT, name.as_ptr(), version.as_ptr()) };
        let ours = ask("/libc.so.6", |libc| {
            let hash = hash::gnu(name.to_bytes());
            let symbol = libc.tables().find_versioned(name.to_bytes(), hash, version.to_bytes())?;
            Some(libc.address(&symbol))
        });
        assert_eq!(ours.unwrap_or(0), theirs.addr(), "{name:?} {version:?}");
    }
}

#[test]
fn each_object_has_its_own_addresses() {
    let mut count = 0;
    let mut all_are_found = true;
    objects::for_each(|info| {
        let Some(image) = Mapped::at(info.segments()) else { return };
        count += 1;
        let segments = image.segments();
        let symbols = image.tables().symbols().filter(|symbol| {
            symbol.is_found_by_linker() && !symbol.is_absolute() && symbol.kind() != qmpi_dynamic::SymbolKind::Tls
        });
        // An address may be the end of the object, as that of `_end`.
        all_are_found &= symbols.map(|symbol| image.address(&symbol)).all(|at| segments.contains(at - 1));
        all_are_found &= image.bindings_like(|_: [u8; 1]| true).all(|(_, place)| segments.contains(place));
        all_are_found &= image.tables().check().is_none();
    });
    assert!(count >= 3, "the program, libc, the linker: {count}");
    assert!(all_are_found);
}

#[test]
fn a_got_slot_holds_the_address_of_its_symbol() {
    let theirs = libc::getenv as *const () as usize;
    let mut slots = Vec::with_capacity(16);
    let _: Option<()> = objects::find(|info| {
        let image = Mapped::at(info.segments())?;
        let slot = image
            .bindings_like(|_: [u8; 1]| true)
            .find(|(binding, _)| binding.name == c"getenv" && binding.addend == 0)?;
        slots.push((slot.1, image.segments().is_writable(slot.1)));
        Some(())
    });
    let (place, is_writable) = slots.first().copied().expect("the test program calls getenv");
    // SAFETY: an aligned word of this program's GOT.
    assert_eq!(unsafe { *(place as *const usize) }, theirs);
    assert!(!is_writable, "programs of rustc are linked with -z relro -z now");
}

#[test]
fn bindings_with_a_likely_name_are_those_that_have_one() {
    let mut counts = Vec::with_capacity(64);
    objects::for_each(|info| {
        let Some(image) = Mapped::at(info.segments()) else { return };
        let all = image
            .bindings_like(|_: [u8; 1]| true)
            .filter(|(binding, _)| binding.name.to_bytes().starts_with(b"gete"))
            .count();
        counts.push((all, image.bindings_like(|start| start == *b"gete").count()));
    });
    assert!(counts.iter().all(|(all, likely)| all == likely) && counts.iter().any(|(all, _)| *all > 0), "{counts:?}");
}

#[test]
fn the_hash_of_a_symbol_is_that_of_its_name() {
    let mut count = 0;
    objects::for_each(|info| {
        let Some(image) = Mapped::at(info.segments()) else { return };
        for symbol in image.tables().symbols() {
            let (Some(hash), Some(name)) = (image.tables().gnu_hash_of(symbol.index()), symbol.name()) else {
                continue;
            };
            count += usize::from(hash | 1 == qmpi_dynamic::hash::gnu(name.to_bytes()) | 1);
        }
    });
    assert!(count > 1000, "glibc alone has more: {count}");
}

/// Builds a library and opens it.
fn open(name: &str, options: &[&str]) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("qmpi-dynamic-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (source, library) = (directory.join(format!("{name}.c")), directory.join(format!("{name}.so")));
    std::fs::write(&source, SOURCE).unwrap();
    std::fs::write(directory.join("map"), "V1 { same; other; qmpi_*; }; V2 { same; } V1;").unwrap();
    let map = format!("-Wl,--version-script={}", directory.join("map").display());
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg(map).args(options);
    let result = compiler.output().unwrap();
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    let path = CString::new(library.to_str().unwrap()).unwrap();
    // SAFETY: the library has no constructors.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!handle.is_null());
    library
}

const SOURCE: &str = r#"
    #include <stdlib.h>
    __asm__(".symver old_one, same@V1"); __asm__(".symver new_one, same@@V2");
    int old_one(void) { return 1; } int new_one(void) { return 2; }
    int other(void) { return getenv("X") != 0; }
    int (*qmpi_pointer)(void) = other;
"#;

fn check_library(path: &Path) {
    let name = path.file_name().unwrap().to_str().unwrap();
    let call = |address: Option<usize>| {
        let address = address.unwrap_or_else(|| panic!("{name}"));
        // SAFETY: a function of this type in the source above.
        unsafe { std::mem::transmute::<usize, extern "C" fn() -> i32>(address)() }
    };
    let version = |version: &str| {
        ask(name, |image| {
            let symbol = image.tables().find_versioned(b"same", hash::gnu(b"same"), version.as_bytes())?;
            Some(image.address(&symbol))
        })
    };
    assert_eq!(call(ask(name, |image| address(image, c"same"))), 2, "the default version");
    assert_eq!(call(version("V1")), 1);
    assert_eq!(call(version("V2")), 2);
    assert_eq!(version("V3"), None);
    let asked = |asked| {
        ask(name, |image| {
            let symbol = image.tables().find_asked(b"same", hash::gnu(b"same"), asked)?;
            Some(image.address(&symbol))
        })
    };
    assert_eq!(call(asked(Asked::Dlsym)), 2);
    assert_eq!(call(asked(Asked::Reference(None))), 1, "the oldest version");
    assert_eq!(call(asked(Asked::Dlvsym(b"V1"))), 1);
    assert_eq!(asked(Asked::Dlvsym(b"V3")), None);
    let needed = ask(name, |image| {
        let symbol = image.tables().undefined().find(|symbol| symbol.is_named(b"getenv"))?;
        Some(image.tables().needed_version(symbol.index())?.to_bytes().starts_with(b"GLIBC_"))
    });
    assert_eq!(needed, Some(true));
    let of_definition = ask(name, |image| {
        let symbol = image.tables().find(b"same", hash::gnu(b"same"))?;
        Some(image.tables().needed_version(symbol.index()).is_some())
    });
    assert_eq!(of_definition, Some(false), "a definition asks for none");
    assert_eq!(ask(name, |image| address(image, c"none")), None);
    assert_eq!(ask(name, |image| address(image, c"getenv")), None, "a reference is no definition");
    let undefined = ask(name, |image| image.tables().undefined().any(|symbol| symbol.is_named(b"getenv")));
    assert!(undefined);
    let pointer = ask(name, |image| {
        let other = address(image, c"other")?;
        let mut bindings = image.bindings_like(|_: [u8; 1]| true);
        bindings
            .any(|(binding, place)| {
                // SAFETY: an aligned word of the library's data.
                binding.name == c"other" && unsafe { *(place as *const usize) } == other && !binding.is_call
            })
            .then_some(())
    });
    assert!(pointer.is_some());
}

#[test]
fn libraries_with_either_hash_table() {
    check_library(&open("gnu", &["-Wl,--hash-style=gnu"]));
    check_library(&open("sysv", &["-Wl,--hash-style=sysv"]));
    check_library(&open("both", &["-Wl,--hash-style=both"]));
}

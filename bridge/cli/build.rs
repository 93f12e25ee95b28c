//! How `qmpi` is linked: with the symbols of MPIR, at addresses that do not change, and with debug information that says what their types are.
//!
//! A debugger finds the symbols by name, and reads the table by the types of the debug information, which packages strip away: Debian's
//! launchers lost their MPIR so. So the types are in sections that are loaded with the program, which `strip` does not touch; debuggers look
//! at the names of sections only. There is no other debug information in the command then: it would have to be loaded as well.
//!
//! ```text
//! DW_TAG_compile_unit             C
//!   DW_TAG_structure_type         MPIR_PROCDESC { char *host_name; char *executable_name; int pid; }
//!   DW_TAG_variable, declaration  MPIR_proctable, ...: their addresses are those of the symbols
//! ```
//!
//! No address stands in it: the section would need relocations at the start of the program.

use std::path::{Path, PathBuf};
use std::process::Command;

use object::write::{Object, StandardSegment, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, SectionFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope, elf,
};

/// The exported symbols: all of `bridge/launch/src/mpir/symbols.rs`.
const EXPORTS: &str = "{ MPIR_*; };\n";

/// Those of them that are numbers.
const NUMBERS: [&str; 7] = [
    "MPIR_proctable_size",
    "MPIR_debug_state",
    "MPIR_being_debugged",
    "MPIR_debug_gate",
    "MPIR_i_am_starter",
    "MPIR_partial_attach_ok",
    "MPIR_acquired_pre_main",
];

/// The others.
const OTHERS: [&str; 3] = ["MPIR_proctable", "MPIR_debug_abort_string", "MPIR_Breakpoint"];

/// GNU ld's own script has these sections at address 0, and would drop them, as nothing refers to them. lld has no script.
const SCRIPT: &str = "SECTIONS {
  .debug_abbrev ALIGN(8) : { KEEP(*(.debug_abbrev)) }
  .debug_info ALIGN(8) : { KEEP(*(.debug_info)) }
} INSERT AFTER .rodata;\n";

fn main() {
    let directory = PathBuf::from(std::env::var_os("OUT_DIR").expect("OUT_DIR"));
    let link = |argument: &str| println!("cargo::rustc-link-arg-bin=qmpi={argument}");
    let write = |name: &str, contents: &[u8]| -> String {
        let path: &Path = &directory.join(name);
        std::fs::write(path, contents).expect("OUT_DIR can be written");
        path.display().to_string()
    };
    link("-Wl,--strip-debug");
    // At the addresses that its symbols have in the file: LaunchMON, like other consumers from before position independent executables,
    // does not ask where a starter was loaded.
    link("-no-pie");
    link(&write("mpir.o", &types()));
    let linker = std::env::var_os("RUSTC_LINKER").unwrap_or_default();
    let export = if linker.to_string_lossy().contains("zig") {
        // Zig passes no list on to lld, which exports by itself what a library of the command line refers to.
        let (object, library) = (write("wanted.o", &references()), directory.join("libwanted.so"));
        let mut linked = Command::new(&linker);
        linked.args(["-shared", "-nostdlib", "-o"]).arg(&library).arg(object);
        assert!(linked.status().expect("the linker").success(), "the linker fails");
        // Zig's default is --as-needed: the library is not needed when the program runs.
        library.display().to_string()
    } else {
        link(&format!("-Wl,-T,{}", write("mpir.ld", SCRIPT.as_bytes())));
        format!("-Wl,--dynamic-list={}", write("mpir.list", EXPORTS.as_bytes()))
    };
    link(&export);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
}

/// An object file that refers to the exported symbols.
fn references() -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, architecture(), Endianness::Little);
    for name in NUMBERS.into_iter().chain(OTHERS) {
        object.add_symbol(symbol(name, SymbolKind::Unknown, SymbolScope::Unknown, SymbolSection::Undefined));
    }
    object.write().expect("an object file")
}

fn symbol(name: &str, kind: SymbolKind, scope: SymbolScope, section: SymbolSection) -> Symbol {
    Symbol { name: name.into(), value: 0, size: 0, kind, scope, weak: false, section, flags: SymbolFlags::None }
}

/// Of the machine that the command is for, which need not be the one that it is built on.
fn architecture() -> Architecture {
    match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("aarch64") => Architecture::Aarch64,
        _ => Architecture::X86_64,
    }
}

/// An object file with the two sections.
fn types() -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, architecture(), Endianness::Little);
    for (name, contents) in [(".debug_abbrev", abbreviations()), (".debug_info", information())] {
        let segment = object.segment_name(StandardSegment::Data).to_vec();
        let section = object.add_section(segment, name.into(), SectionKind::ReadOnlyData);
        // Kept by lld although nothing refers to it.
        let sh_flags = u64::from(elf::SHF_ALLOC | elf::SHF_GNU_RETAIN);
        object.section_mut(section).flags = SectionFlags::Elf { sh_flags };
        object.append_section_data(section, &contents, 1);
    }
    let segment = object.segment_name(StandardSegment::Data).to_vec();
    // Without it, the stack would be executable.
    object.add_section(segment, b".note.GNU-stack".to_vec(), SectionKind::Other);
    object.add_symbol(symbol("mpir_types", SymbolKind::Data, SymbolScope::Compilation, SymbolSection::Absolute));
    object.write().expect("an object file")
}

// DWARF 4, chapter 7.
const COMPILE_UNIT: u8 = 1;
const BASE_TYPE: u8 = 2;
const POINTER: u8 = 3;
const STRUCTURE: u8 = 4;
const MEMBER: u8 = 5;
const TYPEDEF: u8 = 6;
const VARIABLE: u8 = 7;

/// Tags, whether they have children, and attributes with their forms.
fn abbreviations() -> Vec<u8> {
    const NAME: [u8; 2] = [0x03, 0x08]; // DW_AT_name, string
    const SIZE: [u8; 2] = [0x0b, 0x0b]; // DW_AT_byte_size, data1
    const TYPE: [u8; 2] = [0x49, 0x13]; // DW_AT_type, ref4
    let rows: [(u8, u8, u8, &[[u8; 2]]); 7] = [
        (COMPILE_UNIT, 0x11, 1, &[[0x25, 0x08], [0x13, 0x0b], NAME]), // producer, language
        (BASE_TYPE, 0x24, 0, &[SIZE, [0x3e, 0x0b], NAME]),            // encoding
        (POINTER, 0x0f, 0, &[SIZE, TYPE]),
        (STRUCTURE, 0x13, 1, &[NAME, SIZE]),
        (MEMBER, 0x0d, 0, &[NAME, TYPE, [0x38, 0x0b]]), // data_member_location
        (TYPEDEF, 0x16, 0, &[NAME, TYPE]),
        (VARIABLE, 0x34, 0, &[NAME, TYPE, [0x3f, 0x19], [0x3c, 0x19]]), // external, declaration: flag_present
    ];
    let mut bytes = Vec::new();
    for (number, tag, children, attributes) in rows {
        bytes.extend([number, tag, children]);
        bytes.extend(attributes.iter().flatten());
        bytes.extend([0, 0]);
    }
    bytes.push(0);
    bytes
}

/// Adds an entry to a unit, with its attributes in the order of the abbreviation. Returns how others refer to it: by its offset in the unit.
fn entry(unit: &mut Vec<u8>, abbreviation: u8, attributes: &[&[u8]]) -> [u8; 4] {
    let offset = u32::try_from(unit.len()).expect("a small unit");
    unit.push(abbreviation);
    unit.extend(attributes.concat());
    offset.to_le_bytes()
}

const END_OF_CHILDREN: u8 = 0;

fn information() -> Vec<u8> {
    // Length, which is filled in at the end; version; the only abbreviations; bytes of an address.
    let mut unit = vec![0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8];
    entry(&mut unit, COMPILE_UNIT, &[b"qmpi\0", &[0x0c], b"mpir.h\0"]); // DW_LANG_C99
    let int = entry(&mut unit, BASE_TYPE, &[&[4, 5], b"int\0"]); // signed
    let char = entry(&mut unit, BASE_TYPE, &[&[1, 6], b"char\0"]); // signed char
    let text = entry(&mut unit, POINTER, &[&[8], &char]);
    let structure = entry(&mut unit, STRUCTURE, &[b"MPIR_PROCDESC\0", &[24]]);
    for (name, kind, offset) in [("host_name\0", text, 0), ("executable_name\0", text, 8), ("pid\0", int, 16)] {
        entry(&mut unit, MEMBER, &[name.as_bytes(), &kind, &[offset]]);
    }
    unit.push(END_OF_CHILDREN);
    let descriptor = entry(&mut unit, TYPEDEF, &[b"MPIR_PROCDESC\0", &structure]);
    let table = entry(&mut unit, POINTER, &[&[8], &descriptor]);
    let variables = [("MPIR_proctable", table), ("MPIR_debug_abort_string", text)];
    for (name, kind) in variables.into_iter().chain(NUMBERS.map(|name| (name, int))) {
        entry(&mut unit, VARIABLE, &[name.as_bytes(), b"\0", &kind]);
    }
    unit.push(END_OF_CHILDREN);
    let length = u32::try_from(unit.len() - 4).expect("a small unit");
    unit[..4].copy_from_slice(&length.to_le_bytes());
    unit
}

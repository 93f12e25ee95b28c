//! Files for the one machine and for the other, on whichever this runs.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "support/crafted.rs"]
mod crafted;

use std::path::PathBuf;

use crafted::Crafted;
use goblin::elf::dynamic::{DT_JMPREL, DT_PLTREL, DT_PLTRELSZ, DT_RELA};
use qmpi_elf::machine::number;
use qmpi_elf::{ElfError, ElfErrorReason, ElfFile, Machine, SearchPath, Tool, ToolKind};

/// A library that is for this machine, with a word for each of two functions: of the type that calls have on x86-64, and on AArch64.
fn library(directory: &tempfile::TempDir, machine: Machine) -> PathBuf {
    let mut file = Crafted::new(*b"\0PMPI_Send\0PMPI_Recv\0");
    file.symbols = vec![1, 11];
    let mut table = Vec::new();
    for (symbol, jump_slot) in [(1_u64, 7), (2, 1026)] {
        for word in [0x1000 + 8 * symbol, symbol << 32 | jump_slot, 0] {
            table.extend(word.to_le_bytes());
        }
    }
    file.entries = vec![(DT_PLTRELSZ, table.len() as u64), (DT_PLTREL, DT_RELA)];
    file.tables = vec![(DT_JMPREL, table)];
    let mut bytes = file.file();
    bytes[18..20].copy_from_slice(&number(machine).to_le_bytes());
    let path = directory.path().join(format!("lib{machine:?}.so"));
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn relocations_are_those_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    for (machine, called) in Machine::ALL.into_iter().zip(["PMPI_Send", "PMPI_Recv"]) {
        let path = library(&directory, machine);
        assert_eq!(ElfFile::machine_of(&path), Some(machine));
        let file = ElfFile::open_for(&path, machine).unwrap();
        assert_eq!(file.called().unwrap().into_iter().collect::<Vec<_>>(), [called], "{machine:?}");
    }
}

#[test]
fn a_process_takes_files_of_its_own_machine() {
    let directory = tempfile::tempdir().unwrap();
    for machine in Machine::ALL {
        let path = library(&directory, machine);
        assert_eq!(ElfFile::open(&path).is_ok(), machine == Machine::HOST);
        if machine != Machine::HOST {
            assert!(matches!(ElfFile::open(&path), Err(ElfError { reason: ElfErrorReason::ForeignMachine(_), .. })));
        }
        // The desk looks at it all the same.
        let tool = Tool::inspect(&path, &[], &SearchPath::new(None).for_machine(machine), &|_| false).unwrap();
        assert!(matches!(tool.kind, ToolKind::None { .. }), "it wraps nothing");
        assert_eq!(tool.closure.root().machine(), machine);
    }
}

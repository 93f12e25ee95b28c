//! The dynamic section: where the other tables are, and what the object asks of the dynamic linker.
//!
//! Addresses are kept as they are in the file; reading what they point to is up to `file`.

use goblin::elf::dynamic::{
    self, DF_1_NODEFLIB, DF_1_NODELETE, DF_1_NOW, DF_1_PIE, DF_BIND_NOW, DF_STATIC_TLS, Dynamic,
};
use goblin::elf::program_header::{PT_DYNAMIC, ProgramHeader};

use crate::error::Error;
use crate::image::{CTX, Image};

const TABLE: &str = "dynamic section";

/// The entries of a dynamic section that inspection needs.
#[derive(Debug, Default)]
pub(crate) struct DynamicTable {
    pub(crate) strtab: Option<u64>,
    pub(crate) strsz: u64,
    pub(crate) symtab: Option<u64>,
    pub(crate) syment: Option<u64>,
    pub(crate) hash: Option<u64>,
    pub(crate) gnu_hash: Option<u64>,
    pub(crate) versym: Option<u64>,
    pub(crate) verdef: Option<(u64, u64)>,
    pub(crate) verneed: Option<(u64, u64)>,
    /// Address and size in bytes of the relocations of the procedure linkage table.
    pub(crate) jmprel: Option<(u64, u64)>,
    /// Offsets in the string table.
    pub(crate) soname: Option<u64>,
    pub(crate) rpath: Option<u64>,
    pub(crate) runpath: Option<u64>,
    pub(crate) needed: Vec<u64>,
    pub(crate) static_tls: bool,
    pub(crate) bind_now: bool,
    pub(crate) nodelete: bool,
    pub(crate) pie: bool,
    pub(crate) no_default_lib: bool,
    /// Every address in the section: the next one bounds a table whose size is not recorded.
    addresses: Vec<u64>,
}

impl DynamicTable {
    pub(crate) fn read(image: &Image) -> Result<DynamicTable, Error> {
        let Some(segment) = image.segments.iter().find(|segment| segment.p_type == PT_DYNAMIC) else {
            return Err(Error::Static { path: image.path().to_owned() });
        };
        let bytes = image.read(TABLE, segment.p_offset, segment.p_filesz)?;
        // goblin looks for the segment in a whole file; here the bytes are the segment.
        let whole =
            ProgramHeader { p_type: PT_DYNAMIC, p_offset: 0, p_filesz: bytes.len() as u64, ..ProgramHeader::default() };
        let parsed = Dynamic::parse(&bytes, &[whole], CTX)
            .map_err(|error| image.malformed(TABLE, error.to_string()))?
            .ok_or_else(|| image.malformed(TABLE, "empty"))?;

        let mut table = DynamicTable::default();
        let (mut verdef, mut verdefnum, mut verneed, mut verneednum) = (None, 0, None, 0);
        let (mut jmprel, mut pltrelsz) = (None, 0);
        for entry in &parsed.dyns {
            let value = entry.d_val;
            match entry.d_tag {
                dynamic::DT_STRTAB => table.strtab = Some(value),
                dynamic::DT_STRSZ => table.strsz = value,
                dynamic::DT_SYMTAB => table.symtab = Some(value),
                dynamic::DT_SYMENT => table.syment = Some(value),
                dynamic::DT_HASH => table.hash = Some(value),
                dynamic::DT_GNU_HASH => table.gnu_hash = Some(value),
                dynamic::DT_VERSYM => table.versym = Some(value),
                dynamic::DT_VERDEF => verdef = Some(value),
                dynamic::DT_VERDEFNUM => verdefnum = value,
                dynamic::DT_VERNEED => verneed = Some(value),
                dynamic::DT_VERNEEDNUM => verneednum = value,
                dynamic::DT_JMPREL => jmprel = Some(value),
                dynamic::DT_PLTRELSZ => pltrelsz = value,
                dynamic::DT_SONAME => table.soname = Some(value),
                dynamic::DT_RPATH => table.rpath = Some(value),
                dynamic::DT_RUNPATH => table.runpath = Some(value),
                dynamic::DT_NEEDED => table.needed.push(value),
                dynamic::DT_BIND_NOW => table.bind_now = true,
                dynamic::DT_FLAGS => {
                    table.static_tls |= value & DF_STATIC_TLS != 0;
                    table.bind_now |= value & DF_BIND_NOW != 0;
                }
                dynamic::DT_FLAGS_1 => {
                    table.bind_now |= value & DF_1_NOW != 0;
                    table.nodelete |= value & DF_1_NODELETE != 0;
                    table.pie |= value & DF_1_PIE != 0;
                    table.no_default_lib |= value & DF_1_NODEFLIB != 0;
                }
                _ => {}
            }
            if is_table_address(entry.d_tag) {
                table.addresses.push(value);
            }
        }
        table.verdef = verdef.map(|address| (address, verdefnum));
        table.jmprel = jmprel.map(|address| (address, pltrelsz));
        table.verneed = verneed.map(|address| (address, verneednum));
        Ok(table)
    }

    /// The lowest table address above `address`: where a table that starts at `address` ends at the latest.
    pub(crate) fn next_table_after(&self, address: u64) -> Option<u64> {
        self.addresses.iter().copied().filter(|&other| other > address).min()
    }
}

/// Tags whose value is the address of a table in the file.
fn is_table_address(tag: u64) -> bool {
    matches!(
        tag,
        dynamic::DT_STRTAB
            | dynamic::DT_SYMTAB
            | dynamic::DT_HASH
            | dynamic::DT_GNU_HASH
            | dynamic::DT_VERSYM
            | dynamic::DT_VERDEF
            | dynamic::DT_VERNEED
            | dynamic::DT_RELA
            | dynamic::DT_REL
            | dynamic::DT_JMPREL
            | dynamic::DT_INIT
            | dynamic::DT_FINI
            | dynamic::DT_INIT_ARRAY
            | dynamic::DT_FINI_ARRAY
            | dynamic::DT_PLTGOT
            | 36 // DT_RELR, gABI 2022
    )
}

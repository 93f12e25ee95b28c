//! Synthesis of provider libraries: ELF shared objects that consist of a symbol table and nothing else.
//!
//! A provider is what a private linker namespace gets instead of a real library. Every symbol is `SHN_ABS`, its
//! value an address of this process, and `ld.so` takes it as it stands (glibc ≥ 2.28,
//! `elf/dl-lookup.h:SYMBOL_ADDRESS`). There is no code and no executable segment:
//!
//! ```text
//! offset  segment          contents
//! 0       PT_LOAD  R       ELF header, program headers, .gnu.hash, .dynsym, .dynstr, .gnu.version, .gnu.version_d
//! page    PT_LOAD  RW      .dynamic   (glibc before 2.35 relocates the table in place, so it must be writable)
//!         PT_GNU_STACK RW  (without it ld.so makes the process's stack executable)
//! ```
//!
//! Which symbols a provider has is not decided here, but by the loader.

use std::collections::HashMap;

use object::elf;
use object::write::StringId;
use object::write::elf::{FileHeader, ProgramHeader, Sym, Verdef, Writer};
use thiserror::Error;

const PAGE: usize = 0x1000;
/// The second hash of a Bloom filter word is taken from the bits above these (as GNU ld does).
const BLOOM_SHIFT: u32 = 26;
/// Hidden versions (`name@version`, not `name@@version`) carry this bit in `.gnu.version`.
const VERSYM_HIDDEN: u16 = 0x8000;
/// Number of the first version definition of a library's own; 1 is the library itself.
const FIRST_VERSION: u16 = 2;

/// What a symbol names; decides nothing but the type that debuggers and `nm` show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProvidedKind {
    /// A function (`STT_FUNC`). Never an IFUNC: those are resolved before.
    Function,
    /// A variable (`STT_OBJECT`).
    Data,
}

/// The version of a provided symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProvidedVersion<'a> {
    /// Its name, such as `GLIBC_2.2.5`.
    pub name: &'a str,
    /// `name@@version`: what a reference without a version gets.
    pub default: bool,
}

/// One symbol of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provided<'a> {
    /// The symbol's name.
    pub name: &'a str,
    /// Its version; `None` satisfies a reference to any version.
    pub version: Option<ProvidedVersion<'a>>,
    /// Function or variable.
    pub kind: ProvidedKind,
    /// Where it is, in this process.
    pub address: u64,
}

/// A provider could not be written.
#[derive(Debug, Error)]
pub enum ProviderError {
    /// A name holds a NUL byte or is empty.
    #[error("provider {soname}: {name:?} is not a symbol name")]
    Name {
        /// The provider.
        soname: String,
        /// The bad name.
        name: String,
    },
    /// More than 32,000 versions.
    #[error("provider {soname}: too many symbol versions")]
    Versions {
        /// The provider.
        soname: String,
    },
    /// The ELF writer refused.
    #[error("provider {soname}: {source}")]
    Write {
        /// The provider.
        soname: String,
        /// Why.
        source: object::write::Error,
    },
}

/// The hash of `.gnu.hash` (`elf/dl-lookup.c:_dl_new_hash`).
fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash: u32, byte| {
        hash.wrapping_mul(33).wrapping_add(u32::from(*byte))
    })
}

/// Writes the provider library `soname` that defines `symbols`, for x86-64.
///
/// `versions` are defined in this order whether a symbol has them or not: a tool's reference to a version
/// that the library lacks is an error in `ld.so` even where no symbol needs it.
///
/// # Errors
/// When a name cannot stand in a string table.
pub fn write(
    soname: &str,
    versions: &[&str],
    symbols: &[Provided<'_>],
) -> Result<Vec<u8>, ProviderError> {
    let bad = |name: &str| name.is_empty() || name.contains('\0');
    let names = symbols.iter().map(|symbol| symbol.name);
    if let Some(name) = names.chain([soname]).chain(versions.iter().copied()).find(|name| bad(name)) {
        return Err(ProviderError::Name { soname: soname.into(), name: name.into() });
    }
    let numbers = number_versions(versions, symbols);
    if numbers.len() > 32_000 {
        return Err(ProviderError::Versions { soname: soname.into() });
    }
    // The table must be sorted by hash bucket; the hash is computed once.
    let bucket_count = u32::try_from(symbols.len() / 2 + 1).unwrap_or(u32::MAX);
    let mut sorted: Vec<(u32, &Provided<'_>)> =
        symbols.iter().map(|symbol| (gnu_hash(symbol.name.as_bytes()), symbol)).collect();
    sorted.sort_by_key(|(hash, _)| hash % bucket_count);
    emit(soname, &numbers, bucket_count, &sorted)
        .map_err(|source| ProviderError::Write { soname: soname.into(), source })
}

/// Numbers each version once: those asked for first, then those that only symbols name.
fn number_versions<'a>(versions: &[&'a str], symbols: &[Provided<'a>]) -> Vec<(&'a str, u16)> {
    let mut seen = HashMap::new();
    let mut numbers = Vec::new();
    let of_symbols = symbols.iter().filter_map(|symbol| symbol.version.map(|version| version.name));
    for name in versions.iter().copied().chain(of_symbols) {
        seen.entry(name).or_insert_with(|| {
            let number = FIRST_VERSION.saturating_add(u16::try_from(numbers.len()).unwrap_or(u16::MAX));
            numbers.push((name, number));
            number
        });
    }
    numbers
}

fn emit(
    soname: &str,
    versions: &[(&str, u16)],
    bucket_count: u32,
    symbols: &[(u32, &Provided<'_>)],
) -> object::write::Result<Vec<u8>> {
    let count = u32::try_from(symbols.len()).unwrap_or(u32::MAX);
    let bloom_count = (count / 8).next_power_of_two().max(1);
    let number: HashMap<&str, u16> = versions.iter().copied().collect();

    let mut bytes = Vec::new();
    let mut writer = Writer::new(object::Endianness::Little, true, &mut bytes);

    // Reserve: strings first, they are laid out when the table is reserved.
    writer.reserve_null_dynamic_symbol_index();
    let soname_id = writer.add_dynamic_string(soname.as_bytes());
    let version_ids: Vec<StringId> =
        versions.iter().map(|(name, _)| writer.add_dynamic_string(name.as_bytes())).collect();
    let name_ids: Vec<StringId> = symbols
        .iter()
        .map(|(_, symbol)| {
            writer.reserve_dynamic_symbol_index();
            writer.add_dynamic_string(symbol.name.as_bytes())
        })
        .collect();
    let versioned = !versions.is_empty();
    let verdef_count = if versioned { versions.len() + 1 } else { 0 };
    writer.reserve_file_header();
    writer.reserve_program_headers(4);
    let hash_at = writer.reserve_gnu_hash(bloom_count, bucket_count, count);
    let dynsym_at = writer.reserve_dynsym();
    let dynstr_at = writer.reserve_dynstr();
    let dynstr_len = writer.dynstr_len();
    let versym_at = if versioned { writer.reserve_gnu_versym() } else { 0 };
    let verdef_at = writer.reserve_gnu_verdef(verdef_count, verdef_count);
    let tables_end = writer.reserved_len();
    writer.reserve(0, PAGE);
    let dynamic_num = if versioned { 10 } else { 7 };
    let dynamic_at = writer.reserve_dynamic(dynamic_num);
    let end = writer.reserved_len();

    writer.write_file_header(&FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_DYN,
        e_machine: elf::EM_X86_64,
        e_entry: 0,
        e_flags: 0,
    })?;
    writer.write_align_program_headers();
    for (p_type, p_flags, start, stop, align) in [
        (elf::PT_LOAD, elf::PF_R, 0, tables_end, PAGE),
        (elf::PT_LOAD, elf::PF_R | elf::PF_W, dynamic_at, end, PAGE),
        (elf::PT_DYNAMIC, elf::PF_R | elf::PF_W, dynamic_at, end, 8),
        (elf::PT_GNU_STACK, elf::PF_R | elf::PF_W, 0, 0, 16),
    ] {
        writer.write_program_header(&ProgramHeader {
            p_type,
            p_flags,
            p_offset: start as u64,
            p_vaddr: start as u64,
            p_paddr: start as u64,
            p_filesz: (stop - start) as u64,
            p_memsz: (stop - start) as u64,
            p_align: align as u64,
        });
    }

    writer.write_gnu_hash(1, BLOOM_SHIFT, bloom_count, bucket_count, count, |i| symbols[i as usize].0);
    writer.write_null_dynamic_symbol();
    for ((_, symbol), name) in symbols.iter().zip(&name_ids) {
        let kind = match symbol.kind {
            ProvidedKind::Function => elf::STT_FUNC,
            ProvidedKind::Data => elf::STT_OBJECT,
        };
        writer.write_dynamic_symbol(&Sym {
            name: Some(*name),
            section: None,
            st_info: (elf::STB_GLOBAL << 4) | kind,
            st_other: elf::STV_DEFAULT,
            st_shndx: elf::SHN_ABS,
            st_value: symbol.address,
            st_size: 0,
        });
    }
    writer.write_dynstr();
    if versioned {
        writer.write_null_gnu_versym();
        for (_, symbol) in symbols {
            writer.write_gnu_versym(match symbol.version {
                None => elf::VER_NDX_GLOBAL,
                Some(version) => number[version.name] | if version.default { 0 } else { VERSYM_HIDDEN },
            });
        }
        writer.write_align_gnu_verdef();
        let base = (elf::VER_FLG_BASE, elf::VER_NDX_GLOBAL, soname_id);
        let own = versions.iter().zip(&version_ids).map(|((_, number), id)| (0, *number, *id));
        for (flags, index, name) in [base].into_iter().chain(own) {
            writer.write_gnu_verdef(&Verdef { version: elf::VER_DEF_CURRENT, flags, index, aux_count: 1, name });
        }
    }
    writer.pad_until(dynamic_at);
    writer.write_align_dynamic();
    writer.write_dynamic_string(elf::DT_SONAME.into(), soname_id)?;
    writer.write_dynamic(elf::DT_GNU_HASH.into(), hash_at as u64)?;
    writer.write_dynamic(elf::DT_STRTAB.into(), dynstr_at as u64)?;
    writer.write_dynamic(elf::DT_SYMTAB.into(), dynsym_at as u64)?;
    writer.write_dynamic(elf::DT_STRSZ.into(), dynstr_len as u64)?;
    writer.write_dynamic(elf::DT_SYMENT.into(), 24)?;
    if versioned {
        writer.write_dynamic(elf::DT_VERSYM.into(), versym_at as u64)?;
        writer.write_dynamic(elf::DT_VERDEF.into(), verdef_at as u64)?;
        writer.write_dynamic(elf::DT_VERDEFNUM.into(), verdef_count as u64)?;
    }
    writer.write_dynamic(elf::DT_NULL.into(), 0)?;
    Ok(bytes)
}

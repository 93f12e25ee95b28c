//! An object of this process as the dynamic linker mapped it: its dynamic section, symbols and relocations.
//!
//! Read from memory, not from the file: exact even where the file was replaced, and without any I/O.
//! Files that are not loaded yet are the business of `qmpi-elf`.
//!
//! # Safety
//! Everything here rests on one fact: an [`Image`] is made from what `dl_iterate_phdr` or a link map reports, so `ld.so` has
//! checked and mapped the tables it points to. Objects found this way are assumed never to be unloaded; MPI
//! libraries, the executable and its dependencies are not. Indices into tables come from the object itself, and are computed
//! with wrapping arithmetic: only the access is unsafe.
#![expect(unsafe_code, reason = "reads the tables of loaded objects through raw pointers")]

use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};

use libc::{Elf64_Phdr, Elf64_Sym, PF_R, PF_W, PF_X, PT_DYNAMIC, PT_GNU_RELRO, PT_LOAD, PT_NOTE};

use qmpi_elf::provider::ProvidedKind;
use qmpi_elf::{Name, NumberingNote};

use crate::objects;
use crate::version::Versions;

// Tags of the dynamic section (gABI chapter 5; the libc crate has none of them).
const DT_NEEDED: i64 = 1;
const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_SONAME: i64 = 14;
const DT_JMPREL: i64 = 23;
const DT_GNU_HASH: i64 = 0x6fff_fef5;
const DT_VERSYM: i64 = 0x6fff_fff0;
const DT_VERDEF: i64 = 0x6fff_fffc;
const DT_VERDEFNUM: i64 = 0x6fff_fffd;

const STT_OBJECT: u8 = 1;
const STT_FUNC: u8 = 2;
const STT_COMMON: u8 = 5;
const STT_TLS: u8 = 6;
const STT_GNU_IFUNC: u8 = 10;
const STB_LOCAL: u8 = 0;
const STB_WEAK: u8 = 2;

/// What a symbol of a loaded object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Code.
    Function,
    /// A variable.
    Data,
    /// A function that is chosen at run time; its address must be asked of `dlsym`.
    Ifunc,
    /// A thread-local variable: it has no address of its own.
    Tls,
    /// A symbol without a type, or of another one.
    Other,
}

/// A symbol in the dynamic symbol table of a loaded object.
#[derive(Debug, Clone, Copy)]
pub struct Symbol {
    /// Its name.
    pub name: &'static CStr,
    /// Its place in the symbol table.
    pub index: usize,
    /// What it is.
    pub kind: Kind,
    /// Defined here, or only referred to?
    pub defined: bool,
    /// Its address in this process; for an [`Kind::Ifunc`] that of the resolver. 0 when not defined.
    pub address: usize,
    /// How many bytes it has; 0 where the object does not tell.
    pub size: usize,
}

impl Symbol {
    /// How a provider shows it.
    pub(crate) fn provided_kind(&self) -> ProvidedKind {
        if self.kind == Kind::Data { ProvidedKind::Data } else { ProvidedKind::Function }
    }
}

/// A relocation of a loaded object that holds a symbol's address.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// The symbol it refers to.
    pub name: &'static CStr,
    /// The word that holds its address.
    pub place: *mut usize,
    /// Added to the symbol's address.
    pub addend: i64,
    /// The word is for calls only: nobody compares the address in it with another one.
    pub is_call: bool,
    /// The reference is weak: null if nobody defines the symbol.
    pub is_weak: bool,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Rela {
    offset: u64,
    info: u64,
    addend: i64,
}

/// The entry of a dynamic section.
#[repr(C)]
struct Dyn {
    tag: i64,
    value: u64,
}

/// One loaded object.
#[derive(Debug, Clone)]
pub struct Image {
    path: PathBuf,
    base: usize,
    phdrs: &'static [Elf64_Phdr],
    symtab: *const Elf64_Sym,
    strtab: *const c_char,
    gnu_hash: Option<GnuHash>,
    versions: Option<Versions>,
    relas: [(*const Rela, usize); 2],
    soname: Option<&'static CStr>,
    needed: Vec<&'static CStr>,
}

// SAFETY: the pointers refer to tables of a loaded object, which do not change after it was relocated.
unsafe impl Send for Image {}
// SAFETY: as above: all access is reading.
unsafe impl Sync for Image {}

/// The parts of a `.gnu.hash` section (`elf/dl-lookup.c:do_lookup_x`).
#[derive(Debug, Clone, Copy)]
struct GnuHash {
    bucket_count: u32,
    symbol_base: u32,
    bloom_mask: u32,
    bloom_shift: u32,
    bloom: *const u64,
    buckets: *const u32,
    chain: *const u32,
}

impl Image {
    /// All objects of the base namespace, in the order in which `ld.so` lists them: the executable first.
    pub fn of_process() -> Vec<Image> {
        let mut list = Vec::with_capacity(64);
        objects::find(|info| {
            list.extend(Image::of(info));
            None::<()>
        });
        list
    }

    /// The object that `info` describes, unless it has no dynamic symbols.
    pub fn of(info: &libc::dl_phdr_info) -> Option<Image> {
        if info.dlpi_phdr.is_null() {
            return None;
        }
        // SAFETY: `ld.so` keeps the program headers of a loaded object mapped.
        let phdrs = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let base = usize::try_from(info.dlpi_addr).ok()?;
        let name = if info.dlpi_name.is_null() {
            c""
        } else {
            // SAFETY: `dlpi_name` is a C string that lives as long as the object.
            unsafe { CStr::from_ptr(info.dlpi_name) }
        };
        Image::at(name, base, phdrs)
    }

    /// The object `name` at `base`, with these program headers, unless it has no dynamic symbols.
    pub(crate) fn at(name: &CStr, base: usize, phdrs: &'static [Elf64_Phdr]) -> Option<Image> {
        let path = if name.is_empty() {
            std::env::current_exe().unwrap_or_default()
        } else {
            PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(name.to_bytes()))
        };
        let dynamic = phdrs.iter().find(|phdr| phdr.p_type == PT_DYNAMIC)?;
        let mut entry = (base + usize::try_from(dynamic.p_vaddr).ok()?) as *const Dyn;
        // glibc relocates the pointers in place, unless the section is read-only (always in the vDSO).
        let absolute = |value: u64| {
            let value = value as usize;
            if value < base { base + value } else { value }
        };
        let (mut symtab, mut strtab, mut hash) = (0, 0, 0);
        let (mut versym, mut verdef, mut verdef_count) = (0, 0, 0);
        let (mut rela, mut rela_size, mut jmprel, mut jmprel_size) = (0, 0, 0, 0);
        let mut soname = None;
        let mut needed = Vec::new();
        loop {
            // SAFETY: the section ends with DT_NULL, where the loop stops.
            let Dyn { tag, value } = unsafe { &*entry };
            match *tag {
                0 => break,
                DT_NEEDED => needed.push(*value as usize),
                DT_SONAME => soname = Some(*value as usize),
                DT_SYMTAB => symtab = absolute(*value),
                DT_STRTAB => strtab = absolute(*value),
                DT_GNU_HASH => hash = absolute(*value),
                DT_VERSYM => versym = absolute(*value),
                DT_VERDEF => verdef = absolute(*value),
                DT_VERDEFNUM => verdef_count = *value as usize,
                DT_RELA => rela = absolute(*value),
                DT_RELASZ => rela_size = *value as usize,
                DT_JMPREL => jmprel = absolute(*value),
                DT_PLTRELSZ => jmprel_size = *value as usize,
                _ => {}
            }
            // SAFETY: not past DT_NULL.
            entry = unsafe { entry.add(1) };
        }
        if symtab == 0 || strtab == 0 {
            return None;
        }
        let strtab = strtab as *const c_char;
        // SAFETY: offsets in the dynamic section refer to the string table.
        let string = |offset: usize| unsafe { CStr::from_ptr(strtab.wrapping_add(offset)) };
        let count = |bytes: usize| bytes / size_of::<Rela>();
        Some(Image {
            path,
            base,
            phdrs,
            symtab: symtab as *const Elf64_Sym,
            strtab,
            gnu_hash: (hash != 0).then(|| GnuHash::at(hash)),
            versions: (versym != 0 && verdef != 0).then(|| Versions::at(versym, verdef, verdef_count, strtab)),
            relas: [(rela as *const Rela, count(rela_size)), (jmprel as *const Rela, count(jmprel_size))],
            soname: soname.map(string),
            needed: needed.into_iter().map(string).collect(),
        })
    }

    /// Tells it from all other objects that are loaded at the same time.
    pub fn id(&self) -> usize {
        self.symtab.addr()
    }

    /// Do both describe the same object?
    pub fn is_same(&self, other: &Image) -> bool {
        self.id() == other.id()
    }

    /// The file it was loaded from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its SONAME.
    pub fn soname(&self) -> Option<&'static CStr> {
        self.soname
    }

    /// Its SONAME, or else the last part of its path: what another object's DT_NEEDED asks for.
    pub fn name(&self) -> &str {
        self.soname.and_then(|name| name.to_str().ok()).or_else(|| self.path.file_name()?.to_str()).unwrap_or("")
    }

    /// The names of the libraries it needs.
    pub fn needed(&self) -> &[&'static CStr] {
        &self.needed
    }

    /// The versions it defines, where it has any.
    pub fn versions(&self) -> Option<&Versions> {
        self.versions.as_ref()
    }

    /// The names of the versions it defines, in the order of their numbers.
    pub fn version_names(&self) -> impl Iterator<Item = &str> {
        self.versions.iter().flat_map(Versions::names).filter_map(|name| name.to_str().ok())
    }

    /// Does `address` lie in one of its segments?
    pub fn contains(&self, address: usize) -> bool {
        is_loaded_at(address, self.base, self.phdrs)
    }

    /// By which numbers of functions its parts mean them, as [`qmpi_elf::ElfFile::numberings`] says of a file.
    pub fn numberings(&self) -> Vec<NumberingNote> {
        let mut found = Vec::new();
        for phdr in self.phdrs.iter().filter(|phdr| phdr.p_type == PT_NOTE && phdr.p_memsz > 0) {
            let (start, size) = (self.base.wrapping_add(phdr.p_vaddr as usize), phdr.p_memsz as usize);
            if !self.contains(start) || !self.contains(start.wrapping_add(size - 1)) {
                continue;
            }
            // SAFETY: `ld.so` has mapped both ends, and thus what is between them: notes are part of one segment.
            let notes = unsafe { std::slice::from_raw_parts(start as *const u8, size) };
            NumberingNote::collect(notes, phdr.p_align, &mut found);
        }
        found
    }

    /// `size` bytes of its code from `start` on, unless they are none.
    pub fn code(&self, start: usize, size: usize) -> Option<&'static [u8]> {
        let code =
            self.phdrs.iter().filter(|phdr| phdr.p_type == PT_LOAD && phdr.p_flags & (PF_X | PF_R) == PF_X | PF_R);
        let mut parts = code.map(|phdr| {
            let start = self.base + phdr.p_vaddr as usize;
            start..start + phdr.p_filesz as usize
        });
        let end = start.checked_add(size)?;
        let is_code = parts.any(|part| part.contains(&start) && end <= part.end);
        // SAFETY: mapped and readable, and not writable: only `direct.rs` changes code, and not while this is used.
        is_code.then(|| unsafe { std::slice::from_raw_parts(start as *const u8, size) })
    }

    /// The part of it that `ld.so` made read-only after relocation, as start and length in bytes.
    pub fn relro(&self) -> Option<(usize, usize)> {
        let relro = self.phdrs.iter().find(|phdr| phdr.p_type == PT_GNU_RELRO)?;
        Some((self.base + relro.p_vaddr as usize, relro.p_memsz as usize))
    }

    /// May the process write at `address` of this object once it is relocated?
    pub fn is_writable(&self, address: usize) -> bool {
        let relro = self.relro().is_some_and(|(start, len)| (start..start + len).contains(&address));
        !relro
            && self.phdrs.iter().filter(|phdr| phdr.p_type == PT_LOAD && phdr.p_flags & PF_W != 0).any(|phdr| {
                let start = self.base + phdr.p_vaddr as usize;
                (start..start + phdr.p_memsz as usize).contains(&address)
            })
    }

    /// All its dynamic symbols: those it defines and those it refers to.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + '_ {
        let count = self.gnu_hash.map_or(0, |hash| hash.symbol_count());
        (1..count).filter_map(|index| self.symbol(index))
    }

    /// The definition of `name`, of whatever version.
    pub fn find(&self, name: &CStr) -> Option<Symbol> {
        self.find_name(Name::from(name))
    }

    /// The same where the name's hash is known: many objects are asked for one name.
    pub fn find_name(&self, name: Name<'_>) -> Option<Symbol> {
        let index = self.gnu_hash?.find(name.hash(), |index| {
            // SAFETY: the hash table yields indices of the symbol table.
            let symbol = unsafe { &*self.symtab.wrapping_add(index) };
            // SAFETY: `st_name` is an offset in the string table.
            let found = unsafe { CStr::from_ptr(self.strtab.wrapping_add(symbol.st_name as usize)) };
            found.to_bytes() == name.bytes() && symbol.st_shndx != 0
        })?;
        self.symbol(index)
    }

    fn symbol(&self, index: usize) -> Option<Symbol> {
        // SAFETY: callers pass indices below the table's length.
        let symbol = unsafe { &*self.symtab.wrapping_add(index) };
        if symbol.st_info >> 4 == STB_LOCAL {
            return None;
        }
        let defined = symbol.st_shndx != 0;
        Some(Symbol {
            // SAFETY: `st_name` is an offset in the string table.
            name: unsafe { CStr::from_ptr(self.strtab.wrapping_add(symbol.st_name as usize)) },
            index,
            kind: match symbol.st_info & 0xf {
                STT_FUNC => Kind::Function,
                STT_OBJECT | STT_COMMON => Kind::Data,
                STT_GNU_IFUNC => Kind::Ifunc,
                STT_TLS => Kind::Tls,
                _ => Kind::Other,
            },
            defined,
            address: match (defined, symbol.st_shndx) {
                (false, _) => 0,
                (true, 0xfff1) => symbol.st_value as usize, // SHN_ABS
                (true, _) => self.base + symbol.st_value as usize,
            },
            size: symbol.st_size as usize,
        })
    }

    /// The words of this object that hold the address of a symbol by name: its GOT, and pointers in its data.
    pub fn bindings(&self) -> impl Iterator<Item = Binding> + '_ {
        // x86-64 psABI table 4.9: R_X86_64_64, GLOB_DAT and JUMP_SLOT.
        const JUMP_SLOT: u64 = 7;
        const BY_NAME: [u64; 3] = [1, 6, JUMP_SLOT];
        self.relas.into_iter().flat_map(|(table, count)| (0..count).map(move |index| (table, index))).filter_map(
            |(table, index)| {
                // SAFETY: the dynamic section gives the table's length.
                let rela = unsafe { *table.wrapping_add(index) };
                let symbol = (rela.info >> 32) as usize;
                if symbol == 0 || !BY_NAME.contains(&(rela.info & 0xffff_ffff)) {
                    return None;
                }
                // SAFETY: relocations name symbols of this table.
                let symbol = unsafe { &*self.symtab.wrapping_add(symbol) };
                Some(Binding {
                    // SAFETY: `st_name` is an offset in the string table.
                    name: unsafe { CStr::from_ptr(self.strtab.wrapping_add(symbol.st_name as usize)) },
                    place: (self.base + rela.offset as usize) as *mut usize,
                    addend: rela.addend,
                    is_call: rela.info & 0xffff_ffff == JUMP_SLOT,
                    is_weak: symbol.st_info >> 4 == STB_WEAK && symbol.st_shndx == 0,
                })
            },
        )
    }
}

/// Does `address` lie in a segment of the object that `info` describes?
pub fn contains(info: &libc::dl_phdr_info, address: usize) -> bool {
    if info.dlpi_phdr.is_null() {
        return false;
    }
    // SAFETY: `ld.so` keeps the program headers of a loaded object mapped.
    let phdrs = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    is_loaded_at(address, info.dlpi_addr as usize, phdrs)
}

fn is_loaded_at(address: usize, base: usize, phdrs: &[Elf64_Phdr]) -> bool {
    phdrs.iter().filter(|phdr| phdr.p_type == PT_LOAD).any(|phdr| {
        let start = base + phdr.p_vaddr as usize;
        (start..start + phdr.p_memsz as usize).contains(&address)
    })
}

impl GnuHash {
    fn at(address: usize) -> GnuHash {
        let words = address as *const u32;
        // SAFETY: a `.gnu.hash` section starts with four words.
        let [bucket_count, symbol_base, bloom_count, bloom_shift] = unsafe { *words.cast::<[u32; 4]>() };
        // SAFETY: the Bloom filter follows the header.
        let bloom = unsafe { words.add(4) }.cast::<u64>();
        // SAFETY: the buckets follow the filter.
        let buckets = unsafe { bloom.add(bloom_count as usize) }.cast::<u32>();
        // SAFETY: the chains follow the buckets.
        let chain = unsafe { buckets.add(bucket_count as usize) };
        GnuHash {
            bucket_count,
            symbol_base,
            bloom_mask: bloom_count.wrapping_sub(1),
            bloom_shift,
            bloom,
            buckets,
            chain,
        }
    }

    /// How long the symbol table is; no other table tells: the end of the chain of the last bucket.
    fn symbol_count(&self) -> usize {
        // SAFETY: as many buckets as the header says.
        let last = (0..self.bucket_count as usize).map(|i| unsafe { *self.buckets.wrapping_add(i) }).max().unwrap_or(0);
        if last < self.symbol_base {
            return self.symbol_base as usize;
        }
        let mut index = last as usize;
        // SAFETY: a chain ends with an entry whose lowest bit is set, where the loop stops.
        while unsafe { *self.chain.wrapping_add(index - self.symbol_base as usize) } & 1 == 0 {
            index += 1;
        }
        index + 1
    }

    fn find(&self, hash: u32, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        if self.bucket_count == 0 {
            return None;
        }
        let word = (hash / 64) & self.bloom_mask;
        // SAFETY: the mask keeps the index inside the filter.
        let filter = unsafe { *self.bloom.wrapping_add(word as usize) };
        if (filter >> (hash % 64)) & (filter >> ((hash >> self.bloom_shift) % 64)) & 1 == 0 {
            return None;
        }
        // SAFETY: the remainder keeps the index inside the buckets.
        let mut index = unsafe { *self.buckets.wrapping_add((hash % self.bucket_count) as usize) };
        if index < self.symbol_base {
            return None;
        }
        loop {
            // SAFETY: a chain ends with an entry whose lowest bit is set, where the loop stops.
            let entry = unsafe { *self.chain.wrapping_add((index - self.symbol_base) as usize) };
            if (entry ^ hash) >> 1 == 0 && is_it(index as usize) {
                return Some(index as usize);
            }
            if entry & 1 != 0 {
                return None;
            }
            index += 1;
        }
    }
}

//! One ELF file as the dynamic linker sees it: its tables, whatever they mean for a tool.

pub(crate) mod image;
pub mod name;
pub mod numbering_note;
mod strings;
pub(crate) mod symbol;
mod tables;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use goblin::elf::header::ET_DYN;
use goblin::elf::program_header::{PF_X, PT_GNU_STACK, PT_INTERP, PT_NOTE, PT_TLS};
use qmpi_dynamic::relocation::RelocationKind;
use qmpi_dynamic::thread_local::StaticRoom;
use qmpi_dynamic::{Bytes, Machine, Symbol, SymbolKind, Table, Tables, hash};

use crate::error::{ElfError, ElfErrorReason, ObjectKind};
use crate::file::image::OpenFile;
use crate::file::name::Name;
use crate::file::numbering_note::NumberingNote;
use crate::file::symbol::{NamedSymbol, NeededVersion};
use crate::file::tables::{FileTables, OVERLAP};
use crate::machine;

/// PATH_MAX: a longer name could not be opened.
const LONGEST_PATH: usize = 4096;

/// Thread-local storage that an object needs in every thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tls {
    /// In bytes.
    pub size: u64,
    /// In bytes, a power of two in a sound file.
    pub align: u64,
}

/// An inspected ELF file of this machine.
#[derive(Debug)]
pub struct ElfFile {
    path: PathBuf,
    identity: (u64, u64),
    machine: Machine,
    is_library: bool,
    /// The dynamic linker it names: executables, and the few libraries that can be run (libc.so.6).
    pub interp: Option<String>,
    needed: Vec<String>,
    /// Its PT_TLS segment.
    pub tls: Option<Tls>,
    /// What its thread-local variables ask for in the room that is fixed when the program starts.
    pub static_room: Option<StaticRoom>,
    /// Asks for executable stacks, which newer glibc versions refuse to a running process.
    pub exec_stack: bool,
    tables: FileTables,
    /// The versions that must be there when it is loaded.
    pub version_needs: Vec<NeededVersion>,
}

impl ElfFile {
    /// Reads a shared object, or a position-independent executable (see [`Self::is_shared_object`]).
    ///
    /// # Errors
    /// Every way in which the file is not a sound shared object of this machine.
    pub fn open(path: &Path) -> Result<ElfFile, ElfError> {
        ElfFile::open_for(path, Machine::HOST)
    }

    /// As [`Self::open`], but of this machine: for looking at a file that is to run elsewhere.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_for(path: &Path, machine: Machine) -> Result<ElfFile, ElfError> {
        let image = OpenFile::open(path, Some(machine))?;
        if image.object_type != ET_DYN {
            return Err(image.failed(ElfErrorReason::NotSharedObject(ObjectKind::Executable)));
        }
        ElfFile::read(image)
    }

    /// As [`Self::open_for`], but reads executables at fixed addresses (`ET_EXEC`) too: for looking at
    /// an application.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_program(path: &Path, machine: Machine) -> Result<ElfFile, ElfError> {
        ElfFile::read(OpenFile::open(path, Some(machine))?)
    }

    /// The machine that a file is for; `None` if it cannot be read, or is for none that is known.
    pub fn machine_of(path: &Path) -> Option<Machine> {
        OpenFile::open(path, None).ok().map(|image| image.machine)
    }

    /// DT_NEEDED of a file, in order, without reading more of it.
    ///
    /// # Errors
    /// When it is no ELF file for this machine, is truncated, or has no dynamic section.
    pub fn needed_by(path: &Path) -> Result<Vec<Vec<u8>>, ElfError> {
        tables::needed(&OpenFile::open(path, Some(Machine::HOST))?)
    }

    fn read(image: OpenFile) -> Result<ElfFile, ElfError> {
        let tables = FileTables::read(&image)?;
        // Nothing else bounds the time that a walk takes: 200,000 symbols may all have the same name of 5 MB. Linkers share the ends of
        // names, and a name stands there once for each version, so a sound file may be exceeded, but never so far.
        let limit = usize::try_from(image.size).unwrap_or(usize::MAX).saturating_mul(4).saturating_add(1 << 20);
        tables.check_names(&image, limit)?;
        let version_needs = read_version_needs(&image, &tables.view(), limit)?;
        let mut needed = Vec::new();
        for offset in tables.view().needed_offsets() {
            // Behind the table ld.so reads zeros, if the process survives it.
            let name = tables.text(offset).unwrap_or_default();
            if name.len() > LONGEST_PATH {
                let detail = "it needs a library whose name is longer than a path can be";
                return Err(image.malformed("dynamic section", detail));
            }
            needed.push(name.to_owned());
        }

        let segment = |wanted: u32| image.segments.iter().find(|segment| segment.p_type == wanted);
        let interp = segment(PT_INTERP).and_then(|segment| {
            let size = segment.p_filesz.min(LONGEST_PATH as u64);
            let bytes = image.read("interpreter name (PT_INTERP)", segment.p_offset, size).ok()?;
            Some(String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next()?).into_owned())
        });
        let tls = segment(PT_TLS).map(|segment| Tls { size: segment.p_memsz, align: segment.p_align });
        let by_default = machine::stack_is_executable_by_default(image.machine);
        Ok(ElfFile {
            path: image.path.clone(),
            identity: image.identity,
            machine: image.machine,
            is_library: image.object_type == ET_DYN && !tables.dynamic.pie(),
            interp,
            needed,
            tls,
            static_room: tls.and_then(|_| tables::static_room(&image, &tables.dynamic)),
            exec_stack: segment(PT_GNU_STACK).map_or(by_default, |segment| segment.p_flags & PF_X != 0),
            tables,
            version_needs,
        })
    }

    /// Its tables, without relocations.
    pub fn tables(&self) -> Tables<'_> {
        self.tables.view()
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The machine that it is for.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Device and inode: equal for two names of one file, which ld.so loads once.
    pub fn identity(&self) -> (u64, u64) {
        self.identity
    }

    /// The same of the file at a path, whatever it is; `None` if there is none.
    pub fn identity_at(path: &Path) -> Option<(u64, u64)> {
        std::fs::metadata(path).ok().map(|file| image::identity(&file))
    }

    /// The name by which other libraries ask for it.
    pub fn soname(&self) -> Option<&str> {
        self.tables.text(self.tables.dynamic.soname?)
    }

    /// SONAME, or the file name where there is none: what ld.so compares a DT_NEEDED name with.
    pub fn name(&self) -> &str {
        self.soname().or_else(|| self.path.file_name().and_then(|name| name.to_str())).unwrap_or_default()
    }

    /// DT_NEEDED, in order.
    pub fn needed(&self) -> &[String] {
        &self.needed
    }

    /// DT_RPATH, unexpanded.
    pub fn rpath(&self) -> Option<&str> {
        self.tables.text(self.tables.dynamic.rpath?)
    }

    /// DT_RUNPATH, unexpanded.
    pub fn runpath(&self) -> Option<&str> {
        self.tables.text(self.tables.dynamic.runpath?)
    }

    /// Dynamic symbols, defined and imported, without local and hidden ones.
    pub fn symbols(&self) -> impl Iterator<Item = NamedSymbol<'_>> {
        self.symbols_like(None, false)
    }

    /// The symbols that it offers.
    pub fn exports(&self) -> impl Iterator<Item = NamedSymbol<'_>> {
        self.symbols_like(Some(true), false)
    }

    /// The symbols that it wants from others.
    pub fn imports(&self) -> impl Iterator<Item = NamedSymbol<'_>> {
        self.symbols_like(Some(false), false)
    }

    /// The symbols that it offers, without mangled C++ names: a tenth of the time for a C++ library.
    pub fn plain_exports(&self) -> impl Iterator<Item = NamedSymbol<'_>> {
        self.symbols_like(Some(true), true)
    }

    /// Those that are definitions or imports, perhaps without mangled C++ names. Both are decided before a name is measured: that is what a
    /// walk costs.
    pub(crate) fn symbols_like(&self, defined: Option<bool>, plain: bool) -> impl Iterator<Item = NamedSymbol<'_>> {
        let view = self.tables();
        let is_mangled = |symbol: &Symbol<'_>| symbol.name_start() == Some(*b"_Z");
        view.symbols().filter_map(move |symbol| {
            let is_wanted = defined.is_none_or(|wanted| wanted == symbol.is_found_by_linker());
            (is_wanted && !(plain && is_mangled(&symbol))).then(|| self.named(&view, symbol)).flatten()
        })
    }

    /// `None` for what the dynamic linker does not bind: local and hidden symbols, those without a name, and those whose name lies outside of
    /// the string table. A definition that ld.so does not find is one of no reference, and its own are looked for elsewhere.
    fn named<'a>(&'a self, view: &Tables<'a>, symbol: Symbol<'a>) -> Option<NamedSymbol<'a>> {
        if symbol.name_offset() == 0 || !symbol.is_global() {
            return None;
        }
        let defined = symbol.is_found_by_linker();
        // 0 has none, too: GNU ld gives it to undefined symbols that it bound to nothing with a version.
        let number = view.version_index(symbol.index()).map_or(0, |index| index.number());
        let version = self.version_needs.iter().find(|need| !defined && need.number == number && !need.name.is_empty());
        let name = self.tables.text(symbol.name_offset() as u64)?;
        Some(NamedSymbol { name, defined, version, symbol })
    }

    /// Does a reference to this name find a definition in it? Of a damaged file not all of [`Self::exports`] are found.
    pub fn finds(&self, name: &str) -> bool {
        self.tables().find(name.as_bytes(), hash::gnu(name.as_bytes())).is_some()
    }

    /// The names of the functions that references find in it. Of a damaged file not all of [`Self::exports`] are found.
    pub fn found_functions(&self) -> impl Iterator<Item = Name<'_>> {
        let view = self.tables();
        let is_function = |symbol: &Symbol<'_>| matches!(symbol.kind(), SymbolKind::Function | SymbolKind::Ifunc);
        view.symbols().filter(move |symbol| is_function(symbol) && symbol.is_found_by_linker()).filter_map(
            move |symbol| {
                let name = Name::from(symbol.name().filter(|name| !name.is_empty())?);
                let mut definitions = view.definitions(name.bytes(), name.hash());
                definitions.any(|definition| definition.index() == symbol.index()).then_some(name)
            },
        )
    }

    /// Names of the functions that it imports and calls through its PLT. The type of an undefined symbol says nothing (linkers leave it
    /// out), a relocation does: `R_X86_64_JUMP_SLOT` is a function, whatever else refers to it. Other relocations tell neither way.
    ///
    /// # Errors
    /// If the file cannot be read any more, or the table lies outside of it.
    pub fn called(&self) -> Result<BTreeSet<&str>, ElfError> {
        let dynamic = &self.tables.dynamic;
        if dynamic.extent(Table::PltRelocations).is_none() {
            return Ok(BTreeSet::new());
        }
        let relocations = tables::relocations(&self.reopened()?, dynamic, Table::PltRelocations)?;
        let view = self.tables();
        let calls = relocations.iter().filter(|relocation| relocation.kind == RelocationKind::JumpSlot);
        let symbols = calls.filter_map(|call| self.named(&view, view.symbol(call.symbol)?));
        Ok(symbols.filter(|symbol| !symbol.defined).map(|symbol| symbol.name).collect())
    }

    fn reopened(&self) -> Result<OpenFile, ElfError> {
        OpenFile::open(&self.path, Some(self.machine))
    }

    /// How many of its definitions exist once per namespace whatever the scope (STB_GNU_UNIQUE).
    pub fn unique_count(&self) -> usize {
        self.tables().symbols().filter(Symbol::is_unique).count()
    }

    /// ld.so must not look for its libraries in the cache and the default directories (DF_1_NODEFLIB).
    pub fn no_default_lib(&self) -> bool {
        self.tables.dynamic.no_default_lib()
    }

    /// Can be loaded as a library: no executable, also no position-independent one (DF_1_PIE), which dlopen refuses.
    pub fn is_shared_object(&self) -> bool {
        self.is_library
    }

    /// By which numbers of functions its parts mean them: what `qmpi.h` noted, each once. Usually one or none.
    ///
    /// # Errors
    /// If the file cannot be read any more.
    pub fn numberings(&self) -> Result<Vec<NumberingNote>, ElfError> {
        let image = self.reopened()?;
        let mut found = Vec::new();
        for segment in image.segments.iter().filter(|segment| segment.p_type == PT_NOTE) {
            let bytes = image.read("notes (PT_NOTE)", segment.p_offset, segment.p_filesz)?;
            NumberingNote::collect(Bytes::from(&bytes[..]), segment.p_align, &mut found);
        }
        Ok(found)
    }

    /// Strings in the loaded contents that satisfy `pred`: NUL-terminated, printable ASCII, of at
    /// least 3 bytes. The dynamic string table is left out: symbol names are no evidence of a look-up.
    ///
    /// A linker merges strings with a common end, so that `MPI_Send` may be there as the end of
    /// `PMPI_Send` only; the longest form is what `pred` is asked about.
    ///
    /// # Errors
    /// If the file cannot be read any more.
    pub fn strings_in_rodata(&self, pred: &dyn Fn(&str) -> bool) -> Result<BTreeSet<String>, ElfError> {
        let image = self.reopened()?;
        let excluded = match self.tables.dynamic.extent(Table::Strings) {
            Some(extent) => {
                let (from, _) = image.locate(Table::Strings.name(), extent.address)?;
                from..from.saturating_add(extent.size.unwrap_or(0))
            }
            None => 0..0,
        };
        strings::scan(&image, excluded, pred)
    }
}

/// The versions that a file needs, with names of at most so many bytes together.
fn read_version_needs(image: &OpenFile, tables: &Tables<'_>, limit: usize) -> Result<Vec<NeededVersion>, ElfError> {
    let mut left = limit;
    let mut found = Vec::new();
    let mut walk = tables.version_needs();
    for need in walk.by_ref() {
        // A name outside of the table is that of no version.
        let text =
            |name: Option<&std::ffi::CStr>| name.and_then(|name| name.to_str().ok()).unwrap_or_default().to_owned();
        let (file, name) = (text(need.file()), text(need.name()));
        let rest = left.checked_sub(file.len() + name.len());
        left = rest.ok_or_else(|| image.malformed(Table::VersionNeeds.name(), OVERLAP))?;
        found.push(NeededVersion { number: need.number, file, name });
    }
    if walk.fault().is_some() {
        // ld.so reads on outside of the table, which is zeros if the process survives it: nothing is needed of the program, whose name is
        // empty.
        found.push(NeededVersion { number: 0, file: String::new(), name: String::new() });
    }
    Ok(found)
}

//! One ELF file as the dynamic linker sees it.
//!
//! Responsible for reading the tables and for offering them; what they mean for a tool is decided
//! in `tool`, and which other files belong to it in `closure`.

pub(crate) mod image;
pub mod name;
pub(crate) mod needed;
pub mod numbering_note;
pub(crate) mod relocation;
pub(crate) mod string_table;
pub(crate) mod strings;
pub mod symbol;
pub(crate) mod tables;
pub mod version;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use goblin::elf::header::ET_DYN;
use goblin::elf::program_header::{PF_X, PT_GNU_STACK, PT_INTERP, PT_NOTE, PT_TLS};
use qmpi_dynamic::thread_local::StaticRoom;
use qmpi_dynamic::{Machine, Table};

use crate::error::{Error, ObjectKind};
use crate::file::image::OpenFile;
use crate::file::name::Name;
use crate::file::numbering_note::NumberingNote;
use crate::file::symbol::{Select, SymbolKind, SymbolTable, Symbols};
use crate::file::tables::FileTables;
use crate::file::version::VersionTable;
use crate::machine;

const SECTION: &str = "dynamic section";
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
    interp: Option<String>,
    soname: Option<String>,
    needed: Vec<String>,
    rpath: Option<String>,
    runpath: Option<String>,
    tls: Option<Tls>,
    static_room: Option<StaticRoom>,
    exec_stack: bool,
    pub(crate) symbols: SymbolTable,
}

impl ElfFile {
    /// Reads a shared object, or a position-independent executable (see [`Self::is_pie_executable`]).
    ///
    /// # Errors
    /// Every way in which the file is not a sound shared object of this machine.
    pub fn open(path: &Path) -> Result<ElfFile, Error> {
        ElfFile::open_for(path, Machine::HOST)
    }

    /// As [`Self::open`], but of this machine: for looking at a file that is to run elsewhere.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_for(path: &Path, machine: Machine) -> Result<ElfFile, Error> {
        let image = OpenFile::open(path, Some(machine))?;
        if image.object_type != ET_DYN {
            return Err(Error::NotSharedObject { path: path.to_owned(), kind: ObjectKind::Executable });
        }
        ElfFile::read(image)
    }

    /// As [`Self::open`], but reads executables at fixed addresses (`ET_EXEC`) too: for looking at
    /// an application.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_program(path: &Path) -> Result<ElfFile, Error> {
        ElfFile::open_program_for(path, Machine::HOST)
    }

    /// As [`Self::open_program`], but of this machine.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_program_for(path: &Path, machine: Machine) -> Result<ElfFile, Error> {
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
    pub fn needed_by(path: &Path) -> Result<Vec<Vec<u8>>, Error> {
        needed::of(&OpenFile::open(path, Some(Machine::HOST))?)
    }

    fn read(image: OpenFile) -> Result<ElfFile, Error> {
        let tables = FileTables::read(&image)?;
        let limit = check_names(&image, &tables)?;
        let versions = VersionTable::read(&image, &tables.view(), limit)?;
        let dynamic = tables.dynamic;

        let text = |offset: u64| -> Result<&str, Error> {
            let text = usize::try_from(offset).ok().and_then(|offset| tables.strings.get(offset));
            text.ok_or_else(|| image.malformed(SECTION, "a name lies outside of the string table"))
        };
        let owned = |offset: Option<u64>| offset.and_then(|offset| text(offset).ok()).map(str::to_owned);
        let mut needed = Vec::with_capacity(tables.needed.len().min(64));
        for &offset in &tables.needed {
            // Behind the table ld.so reads zeros, if the process survives it.
            let name = text(offset).unwrap_or_default();
            if name.len() > LONGEST_PATH {
                return Err(image.malformed(SECTION, "it needs a library whose name is longer than a path can be"));
            }
            needed.push(name.to_owned());
        }
        let (soname, rpath, runpath) = (owned(dynamic.soname), owned(dynamic.rpath), owned(dynamic.runpath));

        let segment = |wanted: u32| image.segments.iter().find(|segment| segment.p_type == wanted);
        let interp = match segment(PT_INTERP) {
            Some(segment) => read_interp(&image, segment.p_offset, segment.p_filesz).ok(),
            None => None,
        };
        let tls = segment(PT_TLS).map(|segment| Tls { size: segment.p_memsz, align: segment.p_align });
        let static_room = tls.and_then(|_| relocation::static_room(&image, &dynamic));
        let by_default = machine::stack_is_executable_by_default(image.machine);
        let exec_stack = segment(PT_GNU_STACK).map_or(by_default, |segment| segment.p_flags & PF_X != 0);
        Ok(ElfFile {
            path: image.path().to_owned(),
            identity: image.identity,
            machine: image.machine,
            is_library: image.object_type == ET_DYN && !dynamic.pie(),
            interp,
            soname,
            needed,
            rpath,
            runpath,
            tls,
            static_room,
            exec_stack,
            symbols: SymbolTable { tables, versions },
        })
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
        self.soname.as_deref()
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
        self.rpath.as_deref()
    }

    /// DT_RUNPATH, unexpanded.
    pub fn runpath(&self) -> Option<&str> {
        self.runpath.as_deref()
    }

    /// Dynamic symbols, defined and imported, without local and hidden ones.
    pub fn symbols(&self) -> Symbols<'_> {
        self.symbols.iter(Select::default())
    }

    /// The symbols that it offers.
    pub fn exports(&self) -> Symbols<'_> {
        self.symbols.iter(Select { defined: Some(true), ..Select::default() })
    }

    /// The symbols that it wants from others.
    pub fn imports(&self) -> Symbols<'_> {
        self.symbols.iter(Select { defined: Some(false), ..Select::default() })
    }

    /// The symbols that it offers, without mangled C++ names: a tenth of the time for a C++ library.
    pub fn plain_exports(&self) -> Symbols<'_> {
        self.symbols.iter(Select { defined: Some(true), plain_only: true })
    }

    /// Does a reference to this name find a definition in it? Of a damaged file not all of [`Self::exports`] are found.
    pub fn finds(&self, name: &str) -> bool {
        self.symbols.tables.view().find(name.as_bytes(), qmpi_dynamic::hash::gnu(name.as_bytes())).is_some()
    }

    /// The names of the functions that references find in it. Of a damaged file not all of [`Self::exports`] are found.
    pub fn found_functions(&self) -> impl Iterator<Item = Name<'_>> {
        let view = self.symbols.tables.view();
        let is_function = |symbol: &qmpi_dynamic::Symbol<'_>| {
            matches!(symbol.kind(), SymbolKind::Function | SymbolKind::Ifunc) && symbol.is_found_by_linker()
        };
        let named = view.symbols().filter(|symbol| symbol.name_offset() != 0);
        named.filter(is_function).filter_map(move |symbol| {
            let name = Name::from(symbol.name()?);
            view.lists(symbol.index(), name.bytes(), name.hash()).then_some(name)
        })
    }

    /// How many of its definitions exist once per namespace whatever the scope (STB_GNU_UNIQUE).
    pub fn unique_count(&self) -> usize {
        self.symbols.unique_count()
    }

    /// Its PT_TLS segment.
    pub fn tls(&self) -> Option<Tls> {
        self.tls
    }

    /// What its thread-local variables ask for in the room that is fixed when the program starts.
    pub fn static_room(&self) -> Option<StaticRoom> {
        self.static_room
    }

    /// Everything is bound when it is loaded.
    pub fn bind_now(&self) -> bool {
        self.symbols.tables.dynamic.bind_now()
    }

    /// Asks for executable stacks, which newer glibc versions refuse to a running process.
    pub fn exec_stack(&self) -> bool {
        self.exec_stack
    }

    /// Never unloaded (DF_1_NODELETE).
    pub fn nodelete(&self) -> bool {
        self.symbols.tables.dynamic.nodelete()
    }

    /// ld.so must not look for its libraries in the cache and the default directories (DF_1_NODEFLIB).
    pub fn no_default_lib(&self) -> bool {
        self.symbols.tables.dynamic.no_default_lib()
    }

    /// A position-independent executable (DF_1_PIE): a shared object in form only; dlopen refuses it.
    pub fn is_pie_executable(&self) -> bool {
        self.symbols.tables.dynamic.pie()
    }

    /// Can be loaded as a library.
    pub fn is_shared_object(&self) -> bool {
        self.is_library
    }

    /// The dynamic linker it names: executables, and the few libraries that can be run (libc.so.6).
    pub fn interp(&self) -> Option<&str> {
        self.interp.as_deref()
    }

    /// (file, version) pairs that must be there when it is loaded.
    pub fn version_needs(&self) -> &[(String, String)] {
        &self.symbols.versions.needs
    }

    /// Versions that it defines, without the base version (its own name).
    pub fn version_definitions(&self) -> &[String] {
        &self.symbols.versions.definitions
    }

    /// By which numbers of functions its parts mean them: what `qmpi.h` noted, each once. Usually one or none.
    ///
    /// # Errors
    /// If the file cannot be read any more.
    pub fn numberings(&self) -> Result<Vec<NumberingNote>, Error> {
        let image = OpenFile::open(&self.path, Some(self.machine))?;
        let mut found = Vec::new();
        for segment in image.segments.iter().filter(|segment| segment.p_type == PT_NOTE) {
            let bytes = image.read("notes (PT_NOTE)", segment.p_offset, segment.p_filesz)?;
            NumberingNote::collect(&bytes, segment.p_align, &mut found);
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
    pub fn strings_in_rodata(&self, pred: &dyn Fn(&str) -> bool) -> Result<BTreeSet<String>, Error> {
        let image = OpenFile::open(&self.path, Some(self.machine))?;
        let excluded = match self.symbols.tables.dynamic.extent(Table::Strings) {
            Some(extent) => {
                let (from, _) = image.locate(Table::Strings.name(), extent.address)?;
                from..from.saturating_add(extent.size.unwrap_or(0))
            }
            None => 0..0,
        };
        strings::scan(&image, excluded, pred)
    }
}

/// Makes sure that the names of all symbols together are not longer than a sound file could hold. Returns how long all names
/// of one kind may be.
///
/// Nothing else bounds the time that a walk takes: 200,000 symbols may all have the same name of 5 MB. Linkers share the ends
/// of names, and a name stands there once for each version, so a sound file may be exceeded, but never so far.
fn check_names(image: &OpenFile, tables: &FileTables) -> Result<usize, Error> {
    let limit = usize::try_from(image.size).unwrap_or(usize::MAX).saturating_mul(4).saturating_add(1 << 20);
    // Nearly always so: no name is that long.
    let longest = limit / tables.symbol_count().max(1);
    if !tables.strings.has_longer_than(longest) {
        return Ok(limit);
    }
    let mut left = limit;
    for symbol in tables.view().symbols() {
        let length = tables.strings.get(symbol.name_offset()).map_or(0, str::len);
        left = left.checked_sub(length).ok_or_else(|| image.malformed(Table::Symbols.name(), version::OVERLAP))?;
    }
    Ok(limit)
}

fn read_interp(image: &OpenFile, offset: u64, size: u64) -> Result<String, Error> {
    let bytes = image.read("interpreter name (PT_INTERP)", offset, size.min(LONGEST_PATH as u64))?;
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).into_owned())
}

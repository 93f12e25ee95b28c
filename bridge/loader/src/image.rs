//! An object of this process as the dynamic linker mapped it, kept: its path, and its tables for as long as the process lives.
//!
//! The reader is [`qmpi_dynamic::Mapped`]; here is what needs `std`, and what the rest of the loader wants to hear.
//!
//! # Safety
//! An [`Image`] is made from what `dl_iterate_phdr` or a link map reports, so `ld.so` has mapped it. It may be read while the object is
//! loaded: under `ld.so`'s lock, or for ever where the object stays (`Image::keep`). The program may close what it has opened. So a list
//! that is kept longer is brought up to date under the lock before anything in it is read ([`listed::Listed::since`]).
#![expect(unsafe_code, reason = "keeps objects beyond the callback that shows them")]

pub mod listed;
pub mod objects;
pub mod rebind;
pub mod version;

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use libc::Elf64_Phdr;
pub use qmpi_dynamic::SymbolKind;
use qmpi_dynamic::objects::Info;
use qmpi_dynamic::version::Index;
use qmpi_dynamic::{Asked, Mapped, Segments};

use qmpi_elf::mpi::mpi_data;
use qmpi_elf::write::provider::ProvidedKind;
use qmpi_elf::{Name, NumberingNote};

use crate::image::listed::Listed;
use crate::image::rebind::Reference;
use crate::image::version::{Definition, ImageVersions, Version};

/// A symbol in the dynamic symbol table of a loaded object.
#[derive(Debug, Clone, Copy)]
pub struct Symbol {
    /// Its name.
    pub name: &'static CStr,
    /// Its place in the symbol table.
    pub index: usize,
    /// What it is.
    pub kind: SymbolKind,
    /// Defined here, or only referred to?
    pub defined: bool,
    /// Its address in this process; for an [`SymbolKind::Ifunc`] that of the resolver. 0 when not defined.
    pub address: usize,
    /// How many bytes it has; 0 where the object does not tell.
    pub size: usize,
}

impl Symbol {
    /// How a provider shows it.
    pub(crate) fn provided_kind(&self) -> ProvidedKind {
        if self.kind == SymbolKind::Data { ProvidedKind::Data } else { ProvidedKind::Function }
    }
}

/// A relocation of a loaded object that holds a symbol's address.
#[derive(Debug, Clone, Copy)]
pub struct BoundWord {
    /// The symbol it refers to.
    pub name: &'static CStr,
    /// The word that holds its address.
    pub place: *mut usize,
    /// Added to the symbol's address.
    pub addend: i64,
    /// The word is for calls only: its value is never compared with another address.
    pub is_call: bool,
}

/// One loaded object. A copy is a reference to the same.
#[derive(Debug, Clone)]
pub struct Image(Arc<LoadedObject>);

#[derive(Debug)]
struct LoadedObject {
    path: PathBuf,
    mapped: Mapped<'static>,
    versions: Option<ImageVersions>,
    needed: Vec<&'static CStr>,
}

impl Image {
    /// All objects of the base namespace, in the order in which `ld.so` lists them: the executable first.
    pub fn of_process() -> Vec<Image> {
        Listed::now().into_images()
    }

    /// The object that `info` describes, unless it has no dynamic symbols.
    pub fn of(info: &libc::dl_phdr_info) -> Option<Image> {
        // SAFETY: what `dl_iterate_phdr` gave.
        let info = unsafe { Info::new(info) };
        // SAFETY: the object is not unloaded, see above.
        Image::new(info.name(), unsafe { info.kept_segments() })
    }

    /// The object `name` at `base`, with these program headers, unless it has no dynamic symbols.
    pub(crate) fn at(name: &CStr, base: usize, headers: &'static [Elf64_Phdr]) -> Option<Image> {
        // SAFETY: of a link map, whose object is not unloaded.
        Image::new(name, unsafe { Segments::new(base, headers) })
    }

    fn new(name: &CStr, segments: Segments<'static>) -> Option<Image> {
        let mapped = Mapped::at(segments)?;
        let path = if name.is_empty() {
            std::env::current_exe().unwrap_or_default()
        } else {
            PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(name.to_bytes()))
        };
        let versions = ImageVersions::of(mapped.tables());
        let needed = mapped.tables().needed().collect();
        Some(Image(Arc::new(LoadedObject { path, mapped, versions, needed })))
    }

    /// Keeps it loaded for ever: the program may have opened it, and close it while tools are bound to it.
    pub(crate) fn keep(&self) {
        if let Ok(path) = CString::new(self.path().as_os_str().as_encoded_bytes()) {
            // SAFETY: RTLD_NOLOAD: no constructor can run.
            unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY | libc::RTLD_NODELETE) };
        }
    }

    /// Tells it from all other objects that are loaded at the same time.
    pub fn id(&self) -> usize {
        self.0.mapped.id()
    }

    /// Do both describe the same object?
    pub fn is_same(&self, other: &Image) -> bool {
        self.id() == other.id()
    }

    /// Is it the object that `info` describes? Only of objects that are loaded at the same time.
    fn is_at(&self, info: &libc::dl_phdr_info) -> bool {
        self.base() == info.dlpi_addr as usize && std::ptr::eq(self.0.mapped.headers().as_ptr(), info.dlpi_phdr)
    }

    /// Where it was loaded: what is added to the addresses in the file.
    pub fn base(&self) -> usize {
        self.0.mapped.base()
    }

    /// Its tables and segments.
    pub(crate) fn mapped(&self) -> &Mapped<'static> {
        &self.0.mapped
    }

    /// The file it was loaded from.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Its SONAME.
    pub fn soname(&self) -> Option<&'static CStr> {
        self.0.mapped.soname()
    }

    /// Its SONAME, or else the last part of its path: what another object's DT_NEEDED asks for.
    pub fn name(&self) -> &str {
        self.soname().and_then(|name| name.to_str().ok()).or_else(|| self.0.path.file_name()?.to_str()).unwrap_or("")
    }

    /// The names of the libraries it needs.
    pub fn needed(&self) -> &[&'static CStr] {
        &self.0.needed
    }

    /// The versions it defines, where it has any.
    pub fn versions(&self) -> Option<&ImageVersions> {
        self.0.versions.as_ref()
    }

    /// The names of the versions it defines, in the order of their numbers.
    pub fn version_names(&self) -> impl Iterator<Item = &str> {
        self.0.versions.iter().flat_map(ImageVersions::names).filter_map(|name| name.to_str().ok())
    }

    /// Does `address` lie in one of its segments?
    pub fn contains(&self, address: usize) -> bool {
        self.0.mapped.segments().contains(address)
    }

    /// By which numbers of functions its parts mean them, as [`qmpi_elf::ElfFile::numberings`] says of a file.
    pub fn numberings(&self) -> Vec<NumberingNote> {
        let mut found = Vec::new();
        for (notes, align) in self.0.mapped.segments().notes() {
            // SAFETY: notes are constants of a loaded object, all of them in one of its segments.
            let notes = unsafe { std::slice::from_raw_parts(notes.address() as *const u8, notes.len()) };
            NumberingNote::collect(notes, align, &mut found);
        }
        found
    }

    /// All its dynamic symbols: those it defines and those it refers to.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.0.mapped.tables().symbols().filter(|symbol| symbol.is_global()).filter_map(|symbol| self.symbol(&symbol))
    }

    /// Those of them that it defines.
    pub fn defined_symbols(&self) -> impl Iterator<Item = Symbol> + '_ {
        let symbols = self.0.mapped.tables().symbols().filter(|symbol| symbol.is_defined() && symbol.is_global());
        symbols.filter_map(|symbol| self.symbol(&symbol))
    }

    /// Those of them whose names begin like MPI's: `MPI`, `mpi` and the like, alone or behind a `P` or an `O`. A library has thousands of
    /// others.
    pub fn symbols_of_mpi(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.symbols_like(mpi_data::begins_like_mpi)
    }

    /// Those of them whose names begin with bytes that `is_likely` likes.
    pub(crate) fn symbols_like<const N: usize>(
        &self,
        is_likely: impl Fn([u8; N]) -> bool,
    ) -> impl Iterator<Item = Symbol> {
        let symbols = self.0.mapped.tables().symbols();
        let likely = symbols.filter(move |symbol| symbol.name_start().is_some_and(&is_likely));
        likely.filter(|symbol| symbol.is_global()).filter_map(|symbol| self.symbol(&symbol))
    }

    /// The names that it refers to and does not define; of those for which `measures` says no, given whether the reference is weak, none.
    pub fn undefined(&self, measures: impl Fn(bool) -> bool) -> impl Iterator<Item = (&'static CStr, bool)> {
        let undefined = self.0.mapped.tables().undefined().map(|symbol| (symbol, symbol.is_weak()));
        undefined
            .filter(move |(_, is_weak)| measures(*is_weak))
            .filter_map(|(symbol, is_weak)| Some((symbol.name()?, is_weak)))
    }

    /// Does it refer to `name` without defining it?
    pub fn refers_to(&self, name: &CStr) -> bool {
        self.0.mapped.tables().undefined().any(|symbol| symbol.is_named(name.to_bytes()))
    }

    /// The definition of `name`: the default version, or else any.
    pub fn find(&self, name: &CStr) -> Option<Symbol> {
        self.find_name(Name::from(name))
    }

    /// The same where the name's hash is known: many objects are asked for one name.
    pub fn find_name(&self, name: Name<'_>) -> Option<Symbol> {
        self.symbol(&self.0.mapped.tables().find(name.bytes(), name.hash())?)
    }

    /// The definition that a program's reference to `name` gets, which names no version.
    pub fn find_unversioned<'a>(&self, name: impl Into<Name<'a>>) -> Option<Symbol> {
        let name = name.into();
        self.symbol(&self.0.mapped.tables().find_asked(name.bytes(), name.hash(), Asked::Reference(None))?)
    }

    /// The definition that a reference to `name` gets, which asks for this version.
    pub fn find_versioned(&self, name: &CStr, version: &CStr) -> Option<Symbol> {
        let name = Name::from(name);
        self.symbol(&self.0.mapped.tables().find_versioned(name.bytes(), name.hash(), version.to_bytes())?)
    }

    /// The version that a reference of this object asks for, if it does.
    pub fn needed_version(&self, reference: &Reference<'_>) -> Option<&'static CStr> {
        self.0.mapped.tables().needed_version(reference.symbol)
    }

    /// The definitions of `name`, if one of them has a version.
    pub fn definitions(&self, name: &CStr) -> Vec<Definition> {
        let (name, tables) = (Name::from(name), self.0.mapped.tables());
        let Some(versions) = &self.0.versions else { return Vec::new() };
        let mut found = Vec::new();
        for symbol in tables.definitions(name.bytes(), name.hash()) {
            let version = match versions.of_symbol(symbol.index()) {
                Some(version) => Version::Named { name: version.name, is_default: version.default },
                None => Version::Unversioned {
                    is_hidden: tables.version_index(symbol.index()).is_some_and(Index::is_hidden),
                },
            };
            found.extend(self.symbol(&symbol).map(|symbol| Definition { symbol, version }));
        }
        if found.iter().all(|definition| matches!(definition.version, Version::Unversioned { .. })) {
            found.clear();
        }
        found
    }

    /// What is known of a symbol of its tables.
    pub(crate) fn symbol(&self, symbol: &qmpi_dynamic::Symbol<'static>) -> Option<Symbol> {
        Some(Symbol {
            name: symbol.name()?,
            index: symbol.index(),
            kind: symbol.kind(),
            defined: symbol.is_defined(),
            address: self.0.mapped.address(symbol),
            size: usize::try_from(symbol.size()).unwrap_or(0),
        })
    }

    /// The words of this object that hold the address of a symbol by name: its GOT, and pointers in its data.
    pub fn bindings(&self) -> impl Iterator<Item = BoundWord> + '_ {
        self.bindings_like(|_: [u8; 1]| true)
    }

    /// Those of them whose names begin with bytes that `is_likely` likes.
    pub fn bindings_like<const N: usize>(
        &self,
        is_likely: impl Fn([u8; N]) -> bool,
    ) -> impl Iterator<Item = BoundWord> {
        self.0.mapped.bindings_like(is_likely).map(|(binding, place)| BoundWord {
            name: binding.name,
            place: place as *mut usize,
            addend: binding.addend,
            is_call: binding.is_call,
        })
    }
}

/// Does `address` lie in a segment of the object that `info` describes?
pub fn contains(info: &libc::dl_phdr_info, address: usize) -> bool {
    // SAFETY: what `dl_iterate_phdr` gave.
    unsafe { Info::new(info) }.segments().contains(address)
}

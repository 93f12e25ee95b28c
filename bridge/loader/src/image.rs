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
pub mod rebind;
pub mod symbol;

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use qmpi_dynamic::SymbolKind;
use qmpi_dynamic::objects::Info;
use qmpi_dynamic::relocation::Reference;
use qmpi_dynamic::version::Index;
use qmpi_dynamic::{Asked, Mapped, Segments};
use qmpi_elf::mpi::mpi_data;
use qmpi_elf::{Name, NumberingNote};

use crate::image::symbol::{DefinedVersion, Definition, ImageSymbol};
use crate::link_map::{self, LinkMap};

/// One loaded object. A copy is a reference to the same. Two are equal that describe the same object, if both were loaded at the same time.
#[derive(Debug, Clone)]
pub struct Image(Arc<LoadedObject>);

impl PartialEq for Image {
    fn eq(&self, other: &Image) -> bool {
        self.0.mapped.id() == other.0.mapped.id()
    }
}

#[derive(Debug)]
struct LoadedObject {
    path: PathBuf,
    mapped: Mapped<'static>,
    needed: Vec<&'static CStr>,
}

impl Image {
    /// The object that `info` describes, unless it has no dynamic symbols.
    pub(crate) fn of(info: Info<'_>) -> Option<Image> {
        // SAFETY: the object is not unloaded as long as its image is read.
        Image::new(info.name(), unsafe { info.kept_segments() })
    }

    /// The object with this link map, unless it has no dynamic symbols.
    pub(crate) fn of_map(map: &'static LinkMap) -> Option<Image> {
        // SAFETY: base and headers are what `ld.so` says of the object, which is not unloaded as long as its image is read.
        Image::new(map.name(), unsafe { Segments::new(map.base, map.program_headers()?) })
    }

    fn new(name: &CStr, segments: Segments<'static>) -> Option<Image> {
        let mapped = Mapped::at(segments)?;
        let path = match name.is_empty() {
            true => std::env::current_exe().unwrap_or_default(),
            false => OsStr::from_bytes(name.to_bytes()).into(),
        };
        let needed = mapped.tables().needed().collect();
        Some(Image(Arc::new(LoadedObject { path, mapped, needed })))
    }

    /// Keeps it loaded for ever, whoever closes it.
    pub(crate) fn keep(&self) {
        if let Some(path) = self.c_path() {
            link_map::keep(&path);
        }
    }

    /// Is it the object that `info` describes? Only of objects that are loaded at the same time.
    fn is_at(&self, info: Info<'_>) -> bool {
        let info = info.raw();
        self.base() == info.dlpi_addr as usize
            && std::ptr::eq(self.0.mapped.segments().headers().as_ptr(), info.dlpi_phdr)
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

    /// The same for the C library.
    pub(crate) fn c_path(&self) -> Option<CString> {
        CString::new(self.path().as_os_str().as_bytes()).ok()
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

    /// Does it need the other object, by its name?
    pub(crate) fn needs(&self, other: &Image) -> bool {
        self.needed().iter().any(|name| name.to_bytes() == other.name().as_bytes())
    }

    /// Does it define versions?
    pub fn has_versions(&self) -> bool {
        let tables = self.0.mapped.tables();
        tables.version_index(0).is_some() && tables.version_definitions().next().is_some()
    }

    /// The names of the versions it defines.
    pub(crate) fn version_names(&self) -> impl Iterator<Item = &'static str> {
        let versions = self.0.mapped.tables().version_definitions().filter(|definition| !definition.is_base);
        versions.filter_map(|definition| definition.name()?.to_str().ok())
    }

    /// The references that symbol number `index` is for.
    pub(crate) fn version(&self, index: usize) -> DefinedVersion {
        let tables = self.0.mapped.tables();
        let index = tables.version_index(index).unwrap_or(Index(0));
        match tables.defined_version(index) {
            Some(name) => DefinedVersion::Named { name, is_default: !index.is_hidden() },
            None => DefinedVersion::Unversioned { is_hidden: index.is_hidden() },
        }
    }

    /// Does `address` lie in one of its segments?
    pub fn contains(&self, address: usize) -> bool {
        self.0.mapped.segments().contains(address)
    }

    /// By which numbers of functions its parts mean them, as [`qmpi_elf::ElfFile::numberings`] says of a file.
    pub fn numberings(&self) -> Vec<NumberingNote> {
        let mut found = Vec::new();
        for (notes, align) in self.0.mapped.segments().notes() {
            NumberingNote::collect(notes, align, &mut found);
        }
        found
    }

    /// All its dynamic symbols: those it defines and those it refers to.
    pub fn symbols(&self) -> impl Iterator<Item = ImageSymbol> + '_ {
        self.0.mapped.tables().symbols().filter(|symbol| symbol.is_global()).filter_map(|symbol| self.symbol(&symbol))
    }

    /// Those of them that it defines.
    pub fn defined_symbols(&self) -> impl Iterator<Item = ImageSymbol> + '_ {
        let symbols = self.0.mapped.tables().symbols().filter(|symbol| symbol.is_defined() && symbol.is_global());
        symbols.filter_map(|symbol| self.symbol(&symbol))
    }

    /// Those of them whose names begin like MPI's: `MPI`, `mpi` and the like, alone or behind a `P` or an `O`. A library has thousands of
    /// others.
    pub fn symbols_of_mpi(&self) -> impl Iterator<Item = ImageSymbol> + '_ {
        self.symbols_like(mpi_data::begins_like_mpi)
    }

    /// Those of them whose names begin with bytes that `is_likely` likes.
    pub(crate) fn symbols_like<const N: usize>(
        &self,
        is_likely: impl Fn([u8; N]) -> bool,
    ) -> impl Iterator<Item = ImageSymbol> {
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

    /// The definition of `name`: the default version, or else any. Where many objects are asked for one name, it may come with its hash.
    pub fn find<'a>(&self, name: impl Into<Name<'a>>) -> Option<ImageSymbol> {
        let name = name.into();
        self.symbol(&self.0.mapped.tables().find(name.bytes(), name.hash())?)
    }

    /// The definition that a program's reference to `name` gets, which names no version.
    pub fn find_unversioned<'a>(&self, name: impl Into<Name<'a>>) -> Option<ImageSymbol> {
        let name = name.into();
        self.symbol(&self.0.mapped.tables().find_asked(name.bytes(), name.hash(), Asked::Reference(None))?)
    }

    /// The definition that a reference to `name` gets, which asks for this version.
    pub fn find_versioned(&self, name: &CStr, version: &CStr) -> Option<ImageSymbol> {
        let name = Name::from(name);
        self.symbol(&self.0.mapped.tables().find_versioned(name.bytes(), name.hash(), version.to_bytes())?)
    }

    /// The version that a reference of this object asks for, if it does.
    pub fn needed_version(&self, reference: &Reference<'_>) -> Option<&'static CStr> {
        self.0.mapped.tables().needed_version(reference.symbol)
    }

    /// The definitions of `name`, if one of them has a version.
    pub fn definitions(&self, name: &CStr) -> Vec<Definition> {
        let name = Name::from(name);
        let mut found = Vec::new();
        for symbol in self.0.mapped.tables().definitions(name.bytes(), name.hash()) {
            let version = self.version(symbol.index());
            found.extend(self.symbol(&symbol).map(|symbol| Definition { symbol, version }));
        }
        if found.iter().all(|definition| matches!(definition.version, DefinedVersion::Unversioned { .. })) {
            found.clear();
        }
        found
    }

    /// What is known of a symbol of its tables.
    pub(crate) fn symbol(&self, symbol: &qmpi_dynamic::Symbol<'static>) -> Option<ImageSymbol> {
        Some(ImageSymbol {
            name: symbol.name()?,
            index: symbol.index(),
            kind: symbol.kind(),
            defined: symbol.is_defined(),
            address: self.0.mapped.address(symbol),
        })
    }
}

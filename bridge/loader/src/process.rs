//! The process as its namespaces have to see it: which MPI it runs, and which libraries exist only once.
//!
//! **Shared** are the MPI libraries, everything they brought with them, the glibc family and what stands before it (sanitizers,
//! allocators), the unwinder, and libraries that the program and a tool have in common (`process/common.rs`); a namespace gets providers
//! for them. All other libraries are private to an instance.
#![expect(unsafe_code, reason = "reads words of loaded objects")]

mod ask;
mod common;
pub mod loader_lock;
pub(crate) mod names_before;
pub mod scope_end;
pub mod sentinels;

/// glibc's own `dlsym` and `dlvsym`, which the overrides use as well.
pub use qmpi_overrides::glibc as dlsym;

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int};
use std::sync::{Arc, OnceLock};

use qmpi_abi::{FnId, MpiFamily, MpiSymbol};
use qmpi_dynamic::{LinkerLock, Mapped, mpi};
use qmpi_elf::linker::family as glibc;
use qmpi_elf::mpi::mpi_data::{is_fortran_sentinel_c, is_mpi_data_name, may_be_sentinel};
use qmpi_elf::write::provider::{Provided, ProvidedKind};
use qmpi_elf::{ElfFile, Name};

use crate::image::listed::Listed;
use crate::image::symbol::{DefinedVersion, Definition, ImageSymbol};
use crate::image::{Image, SymbolKind};
use crate::link_map;

/// The unwinder exists once per process: frames of the program, of tools and of glibc (`pthread_cancel`) stand on one stack, and two
/// copies do not know each other's contexts. See [`Process::open_unwinder`].
const UNWINDER: &str = "libgcc_s.so.1";

/// The loaded objects of the base namespace, and what is known about them.
#[derive(Debug, Clone, Default)]
pub struct Process {
    objects: Listed,
    /// The objects that belong to MPI, in the order of the link map.
    mpi: Vec<Image>,
    /// The objects of MPI that define a part of its interface. Others (Open MPI's run-time layer) are shared like any library.
    interface: Vec<Image>,
    /// The objects that exist once per process, by SONAME; the glibc family is not listed.
    shared: BTreeMap<String, Image>,
    /// The SONAMEs that the configuration added to `shared`.
    also_shared: Vec<String>,
    /// The SONAMEs of libraries that a tool has in common with the program. Another tool may have a file of this name of its own.
    in_common: Vec<String>,
    /// What the libraries of MPI's interface define, worked out when it is first needed.
    exports: OnceLock<Vec<Export>>,
    /// The tables of the MPI libraries, for readers that must not allocate, worked out when they are first needed.
    mpi_tables: OnceLock<&'static [Mapped<'static>]>,
    /// Where sentinels of Fortran are by the references of MPI's libraries, worked out when they are first needed.
    bound: OnceLock<BTreeMap<&'static CStr, usize>>,
    /// Sentinels of Fortran that the process's global scope has from `sentinels.rs`.
    published: BTreeMap<&'static CStr, usize>,
    /// The versions of the functions of glibc that are overridden, worked out when they are first needed.
    glibc_versions: OnceLock<Vec<(&'static CStr, &'static str, bool)>>,
}

/// A symbol that a library of MPI's interface defines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Export {
    /// As it goes into a provider.
    pub(crate) symbol: Provided<'static>,
    /// Which C function it is, plain or `PMPI_*`, if it is one of the table.
    pub(crate) function: Option<FnId>,
}

impl Process {
    /// Looks at the base namespace as it is now. `None`: no MPI library is loaded. What it returns holds as long as the lock does;
    /// [`Process::again`] brings it up to date.
    pub fn with_mpi(lock: &LinkerLock) -> Option<Process> {
        Process::of(Listed::now(), lock)
    }

    /// The same where its objects have been listed.
    pub fn of(objects: Listed, _: &LinkerLock) -> Option<Process> {
        let mut process = Process { objects, ..Process::default() };
        process.sort();
        process.mpi.iter().any(is_mpi_implementation).then_some(process)
    }

    /// The process as it is now: without what has been closed, with what has been opened since.
    pub fn again(self: &Arc<Process>, _: &LinkerLock) -> Arc<Process> {
        if self.objects.is_current() {
            return Arc::clone(self);
        }
        let mut process = (**self).clone();
        process.objects = self.objects.since();
        process.sort();
        Arc::new(process)
    }

    /// Keeps MPI's libraries loaded, as a preloaded tool that needs them would. Those that the program was linked with stay in any case.
    pub fn keep_mpi(&self) {
        self.mpi().for_each(Image::keep);
    }

    /// Finds out what each of the objects is.
    fn sort(&mut self) {
        let images = self.objects.images();
        let of_mpi = images.iter().enumerate().filter(|(index, image)| is_mpi(image, *index == 0));
        self.mpi = of_mpi.map(|(_, image)| image.clone()).collect();
        let others = of_other_mpis(&self.mpi);
        self.mpi.retain(|image| !others.contains(image));
        self.interface = self.mpi.iter().filter(|image| defines_interface(image)).cloned().collect();
        let by_name: BTreeMap<&str, &Image> = images.iter().map(|image| (image.name(), image)).collect();
        let mut todo: Vec<&Image> = self.mpi.iter().collect();
        let mut shared = BTreeMap::new();
        while let Some(image) = todo.pop() {
            let name = image.name();
            if qmpi_elf::is_language_runtime(name) || is_of_glibc(name) {
                continue;
            }
            if shared.insert(name, image).is_none() {
                todo.extend(image.needed().iter().filter_map(|name| by_name.get(name.to_str().ok()?)));
            }
        }
        // What takes the place of glibc's malloc (a sanitizer, another allocator) serves tools, too: there is one heap.
        let allocators = images.iter().skip(1).filter(|image| is_allocator(image));
        shared.extend(allocators.map(|image| (image.name(), image)));
        let others = self.also_shared.iter().map(String::as_str).chain([UNWINDER]);
        shared.extend(others.filter_map(|name| Some((name, *by_name.get(name)?))));
        self.shared = shared.into_iter().map(|(name, image)| (name.to_owned(), image.clone())).collect();
        self.exports = OnceLock::new();
        self.mpi_tables = OnceLock::new();
        self.bound = OnceLock::new();
    }

    /// All objects of the base namespace.
    pub fn images(&self) -> &[Image] {
        self.objects.images()
    }

    /// The object of this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Image> {
        self.objects.named(name)
    }

    /// The objects that belong to MPI.
    pub fn mpi(&self) -> impl Iterator<Item = &Image> {
        self.mpi.iter()
    }

    /// Does this object belong to MPI?
    pub fn is_mpi(&self, image: &Image) -> bool {
        self.mpi.contains(image)
    }

    /// The tables of the MPI libraries.
    pub(crate) fn mpi_tables(&self) -> &'static [Mapped<'static>] {
        self.mpi_tables.get_or_init(|| Box::leak(self.mpi().map(|image| *image.mapped()).collect::<Box<[_]>>()))
    }

    /// The libraries that define MPI's interface, Fortran's among them.
    pub fn interface(&self) -> impl Iterator<Item = &Image> {
        self.interface.iter()
    }

    /// Are the symbols of this library among [`Process::exports`], and so in the head of each namespace?
    pub(crate) fn is_in_heads(&self, soname: &str) -> bool {
        qmpi_elf::is_mpi_soname(soname) && self.shared(soname).is_none_or(|image| self.interface.contains(image))
    }

    /// Everything that the libraries of MPI's interface define, each name once.
    pub(crate) fn exports(&self) -> &[Export] {
        self.exports.get_or_init(|| {
            let mut exports = Vec::with_capacity(2048);
            for (index, image) in self.interface().enumerate() {
                for symbol in image.defined_symbols() {
                    let provided = Provided::new(symbol.name, symbol.provided_kind(), 0);
                    if self.interface().take(index).any(|other| other.find(provided.name).is_some()) {
                        continue;
                    }
                    if let Some(address) = self.resolve(image, &symbol) {
                        let function = qmpi_abi::classify_c(symbol.name).and_then(MpiSymbol::c_function);
                        exports.push(Export { symbol: Provided { address: address as u64, ..provided }, function });
                    }
                }
            }
            for (name, address) in &self.published {
                if self.interface().all(|image| image.find(*name).is_none()) {
                    let symbol = Provided::new(*name, ProvidedKind::Data, *address);
                    exports.push(Export { symbol, function: None });
                }
            }
            exports
        })
    }

    /// Under which versions the glibc of the process has these functions, which are always the same; the default one is marked.
    pub(crate) fn glibc_versions(&self, names: &[&CStr]) -> &[(&'static CStr, &'static str, bool)] {
        self.glibc_versions.get_or_init(|| {
            let family = self.images().iter().filter(|image| glibc::is_glibc_family(image.name()));
            let definitions = family.flat_map(|image| names.iter().flat_map(|name| image.definitions(name)));
            let version = |Definition { symbol, version }| match version {
                DefinedVersion::Named { name, is_default } => Some((symbol.name, name.to_str().ok()?, is_default)),
                DefinedVersion::Unversioned { .. } => None,
            };
            definitions.filter_map(version).collect()
        })
    }

    /// Is this name among [`Process::exports`]?
    pub(crate) fn exports_name(&self, name: Name<'_>) -> bool {
        self.interface().any(|image| image.find(name).is_some())
            || self.published.keys().any(|known| known.to_bytes() == name.bytes())
    }

    /// The library that exists once per process under this SONAME.
    pub fn shared(&self, soname: &str) -> Option<&Image> {
        let in_common = || self.named(self.in_common.iter().find(|name| *name == soname)?);
        self.shared.get(soname).or_else(in_common)
    }

    /// The SONAME under which the process has a library once, if `name`, what `dlopen` is given, says so by itself: without a path, or
    /// of a library of glibc's, which no other file can take the place of.
    pub(crate) fn once<'a>(&self, name: &'a str) -> Option<&'a str> {
        let file_name = name.rsplit('/').next().unwrap_or(name);
        (is_of_system(file_name) || name == file_name && self.shared(name).is_some()).then_some(file_name)
    }

    /// The SONAME under which the process has a library once in place of this file: the file itself, or an MPI library of this SONAME.
    pub(crate) fn once_as<'a>(&'a self, file: &'a ElfFile) -> Option<&'a str> {
        let of_mpi = file.soname().filter(|soname| self.shared(soname).is_some_and(|image| self.is_mpi(image)));
        let is_it = |image: &Image| ElfFile::identity_at(image.path()) == Some(file.identity());
        let same_file = || self.shared.iter().find(|(_, image)| is_it(image));
        of_mpi.or_else(|| same_file().map(|(soname, _)| soname.as_str()))
    }

    /// Must a namespace not load this library itself?
    pub fn is_shared(&self, soname: &str) -> bool {
        // A tool in the program may have such a name, too.
        let is_of_mpi = || self.named(soname).is_none_or(|image| self.is_mpi(image));
        self.shared.contains_key(soname) || (qmpi_elf::is_mpi_soname(soname) && is_of_mpi()) || is_of_system(soname)
    }

    /// Loads the unwinder here, unless it is, or can wait until a tool needs it (`namespace/providers.rs`).
    ///
    /// glibc opens it itself, in the base namespace, when `backtrace` or `pthread_cancel` is called for the first time. Before glibc 2.35 its
    /// references would then be bound to glibc's `dl_iterate_phdr`, which does not list the objects of tools.
    pub fn open_unwinder(&mut self) {
        if self.shared.contains_key(UNWINDER) || unwinder_can_wait() {
            return;
        }
        // A machine without the library has no tool that needs it, and glibc says so where it does.
        if open_in_base(UNWINDER).is_ok() {
            self.objects = self.objects.since();
            self.sort();
        }
    }

    /// The unwinder, which a tool is about to need: opened here if the process has none.
    pub(crate) fn unwinder(&self, soname: &str) -> Option<Image> {
        if soname != UNWINDER {
            return None;
        }
        // Where it cannot be opened, the tool finds one by its own DT_RUNPATH, or nothing does.
        open_in_base(UNWINDER).ok()?;
        self.objects.since().named(UNWINDER).cloned()
    }

    /// Makes a library exist once per process: loads `file`, a path or its SONAME, unless the process has one of this SONAME.
    ///
    /// # Errors
    /// What `dlerror` says.
    pub fn share(&mut self, soname: &str, file: &str) -> Result<(), String> {
        if self.shared.contains_key(soname) {
            return Ok(());
        }
        if self.named(soname).is_none() {
            open_in_base(file)?;
            self.objects = self.objects.since();
        }
        // The program may have opened it, and may close it.
        self.images().iter().filter(|image| image.name() == soname).for_each(Image::keep);
        self.also_shared.push(soname.into());
        self.sort();
        Ok(())
    }

    /// The MPI library's own `f`: `PMPI_f`, or `MPI_f` where there is no other name.
    pub fn real(&self, id: FnId) -> Option<usize> {
        // "P" and the longest name of the table fit.
        let mut profiling = [0; 80];
        let name = id.name().as_bytes();
        profiling[0] = b'P';
        profiling.get_mut(1..=name.len())?.copy_from_slice(name);
        let profiling = CStr::from_bytes_until_nul(&profiling).ok()?;
        let plain = CStr::from_bytes_until_nul(&profiling.to_bytes_with_nul()[1..]).ok()?;
        self.function(profiling).or_else(|| self.function(plain))
    }

    /// A function of whichever MPI library defines it.
    pub fn function<'a>(&self, name: impl Into<Name<'a>>) -> Option<usize> {
        let name = name.into();
        self.mpi().find_map(|image| callable(image, &image.find(name)?))
    }

    /// The address that a reference to this symbol of a shared library gets in this process.
    pub(crate) fn resolve(&self, image: &Image, symbol: &ImageSymbol) -> Option<usize> {
        match symbol.kind {
            SymbolKind::Data => {
                self.sentinel(symbol.name).or_else(|| match self.is_interposed(image, symbol.name.into()) {
                    // The executable may hold the real object: a copy relocation, or a Fortran common block.
                    true => dlsym::global(symbol.name).or(Some(symbol.address)),
                    false => Some(symbol.address),
                })
            }
            _ => callable(image, symbol),
        }
    }

    /// The address of a sentinel of Fortran, if that is another than what a look-up in the global scope says: MPI's libraries, and
    /// what they are bound to, may be in the local scope of a library that the program opened.
    fn sentinel(&self, name: &CStr) -> Option<usize> {
        if !is_fortran_sentinel_c(name) {
            return None;
        }
        self.published.get(name).or_else(|| self.bound().get(name)).copied()
    }

    /// Where the process has a sentinel of Fortran that is not in its global scope.
    pub(crate) fn local_sentinel(&self, name: &CStr) -> Option<usize> {
        let defined = || self.mpi().find_map(|image| image.find(name).filter(|symbol| symbol.kind == SymbolKind::Data));
        self.sentinel(name).or_else(|| defined().map(|symbol| symbol.address))
    }

    /// What the references of MPI's libraries to sentinels of Fortran are bound to. Those of its Fortran libraries come first:
    /// these compare what a program passes.
    fn bound(&self) -> &BTreeMap<&'static CStr, usize> {
        self.bound.get_or_init(|| {
            let (c, fortran): (Vec<&Image>, Vec<&Image>) = self.mpi().partition(|image| self.is_of_c(image));
            let mut bound = BTreeMap::new();
            let of_sentinels =
                |image: &&Image| image.symbols_like(may_be_sentinel).any(|symbol| is_fortran_sentinel_c(symbol.name));
            let images = fortran.into_iter().chain(c).filter(of_sentinels);
            let words = images.flat_map(|image| image.mapped().bindings_like(may_be_sentinel));
            for (binding, place) in words.filter(|(binding, _)| !binding.is_call && is_fortran_sentinel_c(binding.name))
            {
                // SAFETY: an aligned word of a loaded object, which `ld.so` has filled in.
                let word = unsafe { (place as *const usize).read() };
                bound.entry(binding.name).or_insert(word.wrapping_add_signed(-(binding.addend as isize)));
            }
            // Symbols without a definition are bound to nothing.
            bound.retain(|_, address| *address != 0);
            bound
        })
    }

    /// Is it MPI's C library, or one of MPI's that this needs? Open MPI 6 has its objects, and definitions of sentinels, in `libopen_mpi.so`.
    fn is_of_c(&self, image: &Image) -> bool {
        is_mpi_implementation(image) || self.mpi().any(|other| is_mpi_implementation(other) && other.needs(image))
    }

    /// Does an object that comes before `image` in the process's scope define this name as well?
    ///
    /// The link map lists objects in the order of the scope, as far as they were loaded at start-up; those loaded later are
    /// not in it before `image`.
    pub(crate) fn is_interposed(&self, image: &Image, name: Name<'_>) -> bool {
        self.before(image).any(|other| other.find(name).is_some())
    }

    /// What a reference to this version of a symbol of `image` gets from an object before it: `dlvsym` passes over definitions without a
    /// version in an object that has versions (`elf/dl-lookup.c: check_match`), which is what most preloaded libraries are.
    pub(crate) fn interposer(&self, image: &Image, name: &CStr, version: &CStr) -> Option<usize> {
        // Of libqmpi.so the tool's overrides take the place.
        let mut before = self.before(image).filter(|other| other.name() != qmpi_plan::preload::RUNTIME);
        let found = before.find_map(|other| other.find_versioned(name, version))?;
        matches!(found.kind, SymbolKind::Function | SymbolKind::Data).then_some(found.address)
    }

    /// The first definition of this name.
    pub(crate) fn definition(&self, name: Name<'_>) -> Option<ImageSymbol> {
        self.images().iter().find_map(|image| image.find(name))
    }

    /// The objects before this one.
    pub(crate) fn before(&self, image: &Image) -> impl Iterator<Item = &Image> {
        self.images().iter().take_while(move |other| *other != image)
    }

    /// Which MPI this process runs.
    pub fn family(&self) -> Option<MpiFamily> {
        let profiling = || self.mpi().filter(|image| is_mpi_implementation(image));
        if profiling().any(|image| image.name().starts_with("libmpi_abi.so")) {
            Some(MpiFamily::StandardAbi)
        } else if self.mpi().any(|image| image.find(c"ompi_mpi_comm_world").is_some()) {
            // Since Open MPI 6 in another library than the functions.
            Some(MpiFamily::OpenMpi)
        } else {
            // One without such objects goes on to another MPI (MPItrampoline), and has handles of its own.
            profiling().find(|image| mpi::defines_data(image.mapped().tables())).map(|_| MpiFamily::Mpich)
        }
    }

    /// Objects of Open MPI that its predefined handles are the addresses of, with these addresses.
    pub fn predefined_objects(&self) -> Vec<(String, usize)> {
        let objects = self.exports().iter().filter_map(|export| {
            let name = std::str::from_utf8(export.symbol.name.bytes()).ok()?;
            let is_one = ["ompi_mpi_", "ompi_request_", "ompi_message_"].iter().any(|start| name.starts_with(start));
            is_one.then(|| (name.to_owned(), export.symbol.address as usize))
        });
        objects.collect()
    }

    /// "4.0.2" of an MPICH, which says "MPICH Version:\t4.0.2\n..."; `None` for others.
    pub fn mpich_version(&self) -> Option<String> {
        /// More than any MPI's MPI_MAX_LIBRARY_VERSION_STRING (MPICH: 8192).
        const MAX: usize = 1 << 16;
        if self.family() != Some(MpiFamily::Mpich) {
            return None;
        }
        let mut text = vec![0u8; MAX];
        let mut len: c_int = 0;
        self.ask("MPI_Get_library_version", [text.as_mut_ptr().cast(), (&raw mut len).cast()])?;
        let text = CStr::from_bytes_until_nul(&text).ok()?.to_string_lossy().into_owned();
        let rest = text.split_once("MPICH Version:")?.1;
        rest.split_whitespace().next().map(str::to_owned)
    }

    /// The SONAME of the MPI library proper.
    pub fn mpi_name(&self) -> &str {
        self.mpi().find(|image| is_mpi_implementation(image)).map_or("no MPI library", Image::name)
    }

    /// The same with its family: "Open MPI (libmpi.so.40)".
    pub fn mpi_description(&self) -> String {
        let name = self.mpi_name();
        self.family().map_or_else(|| name.to_owned(), |family| format!("{} ({name})", family.name()))
    }
}

fn is_of_glibc(name: &str) -> bool {
    glibc::is_glibc_family(name) || glibc::is_dynamic_linker(name)
}

/// Can no other file take the place of the library of this name?
fn is_of_system(name: &str) -> bool {
    is_of_glibc(name) || name == UNWINDER
}

/// Does the library define malloc, and is none of glibc's?
fn is_allocator(image: &Image) -> bool {
    !is_of_glibc(image.name()) && image.find(c"malloc").is_some()
}

/// Does an unwinder that glibc opens find the frames of tools, whatever its references are bound to?
///
/// glibc tells of the objects of all namespaces since 2.35 (`_dl_find_object`), and libgcc_s asks it since GCC 12. An older one than the
/// system's would come by LD_LIBRARY_PATH.
fn unwinder_can_wait() -> bool {
    dlsym::global(c"_dl_find_object").is_some()
        && std::env::var_os("LD_LIBRARY_PATH").is_none_or(|path| path.is_empty())
}

/// Opens a library in the base namespace.
fn open_in_base(name: &str) -> Result<(), String> {
    let c_name = CString::new(name).map_err(|error| error.to_string())?;
    link_map::open(&c_name, libc::RTLD_NOW | libc::RTLD_LOCAL).map(|_| ())
}

/// The address at which a function of an object can be called. If the object chooses it at run time (IFUNC), `ld.so` knows which.
fn callable(image: &Image, symbol: &ImageSymbol) -> Option<usize> {
    match symbol.kind {
        SymbolKind::Ifunc => {
            link_map::open(&image.c_path()?, libc::RTLD_NOLOAD | libc::RTLD_LAZY).ok()?.find(symbol.name)
        }
        _ => symbol.is_callable().then_some(symbol.address),
    }
}

/// Does the object implement MPI, its profiling interface included? A tool may define `PMPI_*` as well.
pub fn is_mpi_implementation(image: &Image) -> bool {
    mpi::implements(image.mapped().tables(), || image.needed().iter().map(|name| name.to_bytes()))
}

/// Does the library define functions or variables of MPI's interface?
fn defines_interface(image: &Image) -> bool {
    let is_data = |name: &CStr| name.to_str().is_ok_and(is_mpi_data_name);
    let is_of_interface = |name| qmpi_abi::classify_c(name).is_some() || is_data(name);
    let is_of_cxx = || image.find(c"_ZN3MPI10COMM_WORLDE").is_some();
    image.symbols_of_mpi().any(|symbol| symbol.defined && is_of_interface(symbol.name)) || is_of_cxx()
}

/// Those of the objects `mpi` that belong to another MPI than the program calls, whose library is listed first: that library may have opened
/// another one (MPItrampoline, mpi_abi_wrapper), and what is linked with that calls it.
fn of_other_mpis(mpi: &[Image]) -> Vec<Image> {
    // These, and all of `mpi` that `step` leads to from them.
    let reached = |mut reached: Vec<Image>, step: &dyn Fn(&Image, &Image) -> bool| {
        let mut index = 0;
        while let Some(one) = reached.get(index).cloned() {
            let new: Vec<_> = mpi.iter().filter(|other| !reached.contains(other) && step(&one, other)).collect();
            reached.extend(new.into_iter().cloned());
            index += 1;
        }
        reached
    };
    let implementations = || mpi.iter().filter(|image| is_mpi_implementation(image)).cloned();
    let of_first = reached(implementations().take(1).collect(), &Image::needs);
    let others = implementations().filter(|other| !of_first.contains(other)).collect();
    reached(others, &|one, other| other.needs(one) && !of_first.contains(other))
}

/// Does the object belong to MPI?
fn is_mpi(image: &Image, is_program: bool) -> bool {
    let needed = || image.needed().iter().map(|name| name.to_bytes());
    mpi::belongs(image.mapped().tables(), needed, || qmpi_elf::is_mpi_soname(image.name()), is_program)
}

//! Which provider a library gets that a tool needs and the process has once: the glibc family, and what the MPI library brought.
//!
//! Each is written once and loaded into every namespace that needs it. Of glibc the *whole* family is shared: one heap,
//! one stdio, one `environ`, one set of TLS keys. Its members have thread-local variables in common (`errno` and three
//! more, all `GLIBC_PRIVATE`) that an absolute symbol cannot stand for, so none of them may be loaded a second time.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::Arc;

use qmpi_dynamic::{LinkerLock, Symbol};
use qmpi_elf::linker::family as glibc;
use qmpi_elf::write::provider::{self, Provided, ProvidedVersion, ProviderError};
use qmpi_elf::{Name, Tool};
use qmpi_overrides::Namespace;
use qmpi_system::Locked;

use crate::error::LoadError;
use crate::image::listed::Listed;
use crate::image::symbol::{DefinedVersion, ImageSymbol};
use crate::image::{Image, SymbolKind};
use crate::link_map::{self, Handle};
use crate::memory_file::MemoryFile;
use crate::namespace;
use crate::process::Process;
use crate::process::names_before::NamesBefore;

/// The SONAME by which the tool asks for its MPI library.
pub(crate) fn mpi_soname<'a>(tool: &'a Tool, process: &'a Process) -> &'a str {
    let is_mpi = |soname: &&String| process.is_in_heads(soname);
    tool.closure.stopped.iter().find(is_mpi).map_or(process.mpi_name(), String::as_str)
}

/// The provider for one needed library, if it takes one.
pub(crate) fn file(process: &Process, soname: &str) -> Result<Option<Arc<MemoryFile>>, LoadError> {
    if glibc::is_dynamic_linker(soname) {
        return Ok(None); // glibc itself stands the one real ld.so in
    }
    // Without a name it is the program's, which nothing more is asked of than that it is there.
    if !soname.is_empty() && !process.is_in_heads(soname) {
        return shared(process, soname);
    }
    // The head has the symbols; this one answers to another name.
    let versions: Vec<&str> = process.shared(soname).into_iter().flat_map(Image::version_names).collect();
    let name = if soname.is_empty() { "program" } else { soname };
    Ok(Some(Arc::new(MemoryFile::new(name, &provider::write(soname, &[], &versions, &[])?)?)))
}

/// The library of threads, where that is one of its own (before glibc 2.34) and the process has it.
///
/// A namespace has it whether its tool names it or not: libstdc++ and libgcc refer to its functions by weak references alone, and
/// take those that are null for a process with one thread. Under `LD_PRELOAD` they find the library, whichever object brought it.
pub(crate) fn threads(process: &Process) -> Option<&'static str> {
    const SONAME: &str = "libpthread.so.0";
    let mut images = process.images().iter().filter(|image| image.name() == SONAME);
    images.any(|image| image.find(c"pthread_create").is_some()).then_some(SONAME)
}

/// Loads the provider for a library into a namespace that is there already, unless it has one.
pub(crate) fn provide(
    namespace: &Namespace,
    process: &Process,
    soname: &str,
    lock: &LinkerLock,
) -> Result<(), LoadError> {
    if namespace.has_provider(soname) {
        return Ok(());
    }
    let Some(file) = file(process, soname)? else { return Ok(()) };
    let handle = namespace::load(namespace, file.path()).map_err(LoadError::link(soname))?;
    namespace::adopt(namespace, soname, handle, lock);
    Ok(())
}

/// The providers that were written and are still open, by SONAME; `None` where the process has no such library.
static WRITTEN: Locked<BTreeMap<String, Option<Arc<MemoryFile>>>> = Locked::new(BTreeMap::new());

/// The provider of a shared library, or `None` if the process has no such library (and glibc none to add).
///
/// # Errors
/// When it cannot be written.
fn shared(process: &Process, soname: &str) -> Result<Option<Arc<MemoryFile>>, LoadError> {
    let mut all = WRITTEN.lock();
    if let Some(known) = all.get(soname) {
        return Ok(known.clone());
    }
    let file = bytes(process, soname)?.map(|bytes| MemoryFile::new(soname, &bytes)).transpose()?.map(Arc::new);
    all.insert(soname.into(), file.clone());
    Ok(file)
}

/// Closes all files: the program's descriptors are its own. They are written anew when a tool opens a library later; until then their
/// contents are nobody's, a hundred kilobytes for glibc alone.
pub fn close_files() {
    WRITTEN.lock().retain(|_, file| file.is_none());
}

/// `ld.so` calls this for the libc of a new namespace (glibc ≥ 2.32); ours is initialized already.
const EARLY_INIT: &CStr = c"__libc_early_init";

fn bytes(process: &Process, soname: &str) -> Result<Option<Vec<u8>>, LoadError> {
    if !glibc::is_glibc_family(soname) {
        let image = process.shared(soname).cloned().or_else(|| process.unwinder(soname));
        let Some(image) = image else { return Ok(None) };
        return Ok(Some(write(soname, &image, |_| None, |symbol| process.resolve(&image, symbol))?));
    }
    let Some((image, handle)) = family_member(process, soname) else { return Ok(None) };
    let before = NamesBefore::of(process.before(&image));
    // Of nearly all of them the hash in glibc's own table says that they are glibc's, without a look at the name.
    let at_once = |symbol: &Symbol<'static>| {
        let hash = image.mapped().tables().gnu_hash_of(symbol.index())?;
        let is_plain = matches!(symbol.kind(), SymbolKind::Function | SymbolKind::Data);
        let is_own = is_plain && !before.may_define(hash) && !symbol.is_named(EARLY_INIT.to_bytes());
        is_own.then(|| image.mapped().address(symbol))
    };
    let resolve = |symbol: &ImageSymbol| glibc_address(process, &image, symbol, handle, &before);
    Ok(Some(write(soname, &image, at_once, resolve)?))
}

/// Writes a provider of everything that `image` defines and that has an address. `at_once`: the address of a symbol where its name is
/// not needed to find it.
fn write(
    soname: &str,
    image: &Image,
    at_once: impl Fn(&Symbol<'static>) -> Option<usize>,
    resolve: impl Fn(&ImageSymbol) -> Option<usize>,
) -> Result<Vec<u8>, ProviderError> {
    let copy = provider::copy(soname, image.mapped().tables(), |symbol| {
        let resolved = || resolve(&image.symbol(symbol).filter(|symbol| symbol.kind != SymbolKind::Tls)?);
        Some(at_once(symbol).or_else(resolved)? as u64)
    });
    if let Some(copy) = copy {
        return Ok(copy);
    }
    let versions: Vec<&str> = image.version_names().collect();
    let version = |symbol: &ImageSymbol| {
        let DefinedVersion::Named { name, is_default } = image.version(symbol.index) else { return None };
        let place = versions.iter().position(|version| version.as_bytes() == name.to_bytes())?;
        Some(ProvidedVersion { place: u16::try_from(place).ok()?, default: is_default })
    };
    let symbols = image.defined_symbols().filter(|symbol| symbol.kind != SymbolKind::Tls).filter_map(|symbol| {
        let provided = Provided::new(symbol.name, symbol.provided_kind(), resolve(&symbol)?);
        Some(Provided { version: version(&symbol), ..provided })
    });
    let symbols: Vec<Provided<'_>> = symbols.collect();
    provider::write(soname, &[], &versions, &symbols)
}

/// The member as the process has it; one that it lacks (libm in a C program) is loaded first.
fn family_member(process: &Process, soname: &str) -> Option<(Image, Handle)> {
    let handle = link_map::open(&CString::new(soname).ok()?, libc::RTLD_LAZY | libc::RTLD_LOCAL).ok()?;
    let image = process.named(soname).cloned().or_else(|| Listed::now().named(soname).cloned())?;
    Some((image, handle))
}

/// The address that the process itself uses: a preloaded malloc, or a `stdout` that was copied into the executable,
/// comes first in its scope.
fn glibc_address(
    process: &Process,
    image: &Image,
    symbol: &ImageSymbol,
    handle: Handle,
    before: &NamesBefore,
) -> Option<usize> {
    extern "C" fn nothing_to_do(_initial: bool) {}
    if symbol.name == EARLY_INIT {
        return Some((nothing_to_do as *const ()).addr());
    }
    // ld.so is asked only where its answer may be another one: asking takes ten times as long.
    let name = Name::from(symbol.name);
    let is_interposed = || before.may_define(name.hash()) && process.is_interposed(image, name);
    if symbol.kind != SymbolKind::Ifunc && !is_interposed() {
        return Some(symbol.address);
    }
    let version = match image.version(symbol.index) {
        DefinedVersion::Named { name, .. } => Some(name),
        DefinedVersion::Unversioned { .. } => None,
    };
    let interposer = version.and_then(|version| process.interposer(image, symbol.name, version));
    interposer.or_else(|| {
        [Handle(libc::RTLD_DEFAULT), handle].into_iter().find_map(|handle| match version {
            Some(version) => handle.find_version(symbol.name, version),
            None => handle.find(symbol.name),
        })
    })
}

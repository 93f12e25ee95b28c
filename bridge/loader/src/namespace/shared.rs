//! Providers for libraries that exist once per process: the glibc family, and what the MPI library brought.
//!
//! Each is written once and loaded into every namespace that needs it. Of glibc the *whole* family is shared: one heap,
//! one stdio, one `environ`, one set of TLS keys. Its members have thread-local variables in common (`errno` and three
//! more, all `GLIBC_PRIVATE`) that an absolute symbol cannot stand for, so none of them may be loaded a second time.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, PoisonError};

use qmpi_dynamic::Symbol;
use qmpi_elf::Name;
use qmpi_elf::linker::family as glibc;
use qmpi_elf::write::provider::{self, Provided, ProvidedVersion, ProviderError};

use crate::error::LoadError;
use crate::image::listed::Listed;
use crate::image::symbol::{DefinedVersion, ImageSymbol};
use crate::image::{Image, SymbolKind};
use crate::link_map::{self, Handle};
use crate::memory_file::MemoryFile;
use crate::process::Process;
use crate::process::names_before::NamesBefore;

/// The providers that were written and are still open, by SONAME; `None` where the process has no such library.
static WRITTEN: Mutex<BTreeMap<String, Option<Arc<MemoryFile>>>> = Mutex::new(BTreeMap::new());

/// The provider of a shared library, or `None` if the process has no such library (and glibc none to add).
///
/// # Errors
/// When it cannot be written.
pub(crate) fn provider(process: &Process, soname: &str) -> Result<Option<Arc<MemoryFile>>, LoadError> {
    let mut all = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
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
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, file| file.is_none());
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
        Some(provided.with_version(version(&symbol)))
    });
    let symbols: Vec<Provided<'_>> = symbols.collect();
    provider::write(soname, &[], &versions, &symbols)
}

/// The member as the process has it; one that it lacks (libm in a C program) is loaded first.
fn family_member(process: &Process, soname: &str) -> Option<(Image, Handle)> {
    let handle = link_map::open(&CString::new(soname).ok()?, libc::RTLD_LAZY | libc::RTLD_LOCAL).ok()?;
    let is_it = |image: &&Image| image.name() == soname;
    let known = process.images().iter().find(is_it).cloned();
    Some((known.or_else(|| Listed::now().images().iter().find(is_it).cloned())?, handle))
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

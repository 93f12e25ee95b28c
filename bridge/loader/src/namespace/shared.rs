//! Providers for libraries that exist once per process: the glibc family, and what the MPI library brought.
//!
//! Each is written once and loaded into every namespace that needs it. Of glibc the *whole* family is shared: one heap,
//! one stdio, one `environ`, one set of TLS keys. Its members have thread-local variables in common (`errno` and three
//! more, all `GLIBC_PRIVATE`) that an absolute symbol cannot stand for, so none of them may be loaded a second time.
#![expect(unsafe_code, reason = "asks the dynamic linker for addresses, versions included")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use qmpi_elf::Name;
use qmpi_elf::linker::family as glibc;
use qmpi_elf::write::provider::{self, Provided, ProvidedVersion};

use crate::error::LoadError;
use crate::image::{Image, Symbol, SymbolKind};
use crate::memory_file::MemoryFile;
use crate::process::Process;
use crate::process::dlsym;
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
    let file = bytes(process, soname)?.map(|bytes| {
        let file = MemoryFile::new(soname, &bytes);
        file.map(Arc::new).map_err(|source| LoadError::Memory { name: soname.into(), source })
    });
    let file = file.transpose()?;
    all.insert(soname.into(), file.clone());
    Ok(file)
}

/// Closes all files: the program's descriptors are its own. They are written anew when a tool opens a library later; until then their
/// contents are nobody's, a hundred kilobytes for glibc alone.
pub fn close_files() {
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, file| file.is_none());
}

fn bytes(process: &Process, soname: &str) -> Result<Option<Vec<u8>>, LoadError> {
    if !glibc::is_glibc_family(soname) {
        let image = process.shared(soname).cloned().or_else(|| process.unwinder(soname));
        let resolve =
            |image| move |symbol: &Symbol, _: VersionOf<'_>, name: Name<'_>| process.resolve(image, symbol, name);
        let bytes = image.as_ref().map(|image| write(soname, image, |_| None, resolve(image)));
        return bytes.transpose();
    }
    let member = family_member(process, soname);
    let bytes = member.map(|(image, handle)| {
        let before = NamesBefore::of(process.before(&image));
        let is_interposed = |name: Name<'_>| before.may_define(name) && process.is_interposed(&image, name);
        let interposer = |name: &CStr, version: &CStr| process.interposer(&image, name, version);
        // Of nearly all of them the hash in glibc's own table says that they are glibc's, without a look at the name.
        let at_once = |symbol: &qmpi_dynamic::Symbol<'static>| {
            let hash = image.mapped().tables().gnu_hash_of(symbol.index())?;
            let is_plain = matches!(symbol.kind(), SymbolKind::Function | SymbolKind::Data);
            let is_own = is_plain && !before.may_define_hash(hash) && !symbol.is_named(EARLY_INIT.to_bytes());
            is_own.then(|| image.mapped().address(symbol))
        };
        write(soname, &image, at_once, |symbol, version, name| {
            glibc_address(symbol, handle, version, &|| is_interposed(name), &interposer)
        })
    });
    bytes.transpose()
}

/// Says which version a symbol has.
type VersionOf<'a> = &'a dyn Fn() -> Option<&'static CStr>;

/// `ld.so` calls this for the libc of a new namespace (glibc ≥ 2.32); ours is initialized already.
const EARLY_INIT: &CStr = c"__libc_early_init";

/// Writes a provider of everything that `image` defines and that has an address. `at_once`: the address of a symbol where its name is
/// not needed to find it.
fn write(
    soname: &str,
    image: &Image,
    at_once: impl Fn(&qmpi_dynamic::Symbol<'static>) -> Option<usize>,
    resolve: impl Fn(&Symbol, VersionOf<'_>, Name<'_>) -> Option<usize>,
) -> Result<Vec<u8>, LoadError> {
    let versions = image.versions();
    let version = |index| versions.and_then(|versions| versions.of_symbol(index));
    let address = |symbol: &Symbol| {
        resolve(symbol, &|| version(symbol.index).map(|version| version.name), Name::from(symbol.name))
    };
    let copy = provider::copy(soname, image.mapped().tables(), |symbol| {
        if let Some(address) = at_once(symbol) {
            return Some(address as u64);
        }
        let symbol = image.symbol(symbol).filter(|symbol| symbol.kind != SymbolKind::Tls)?;
        Some(address(&symbol)? as u64)
    });
    if let Some(copy) = copy {
        return Ok(copy);
    }
    let symbols: Vec<Provided<'_>> = image
        .defined_symbols()
        .filter(|symbol| symbol.kind != SymbolKind::Tls)
        .filter_map(|symbol| {
            let version = version(symbol.index);
            let version = version.map(|version| ProvidedVersion { place: version.place, default: version.default });
            let provided = Provided::new(symbol.name, symbol.provided_kind(), address(&symbol)?);
            Some(provided.with_version(version))
        })
        .collect();
    let names: Vec<&str> = image.version_names().collect();
    Ok(provider::write(soname, &[], &names, &symbols)?)
}

/// The member as the process has it; one that it lacks (libm in a C program) is loaded first.
fn family_member(process: &Process, soname: &str) -> Option<(Image, *mut c_void)> {
    let name = CString::new(soname).ok()?;
    // SAFETY: a member of the family; its constructors are those of glibc.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return None;
    }
    let known = process.images().iter().find(|image| image.name() == soname).cloned();
    let image = known.or_else(|| Image::of_process().into_iter().find(|image| image.name() == soname))?;
    Some((image, handle))
}

/// The address that the process itself uses: a preloaded malloc, or a `stdout` that was copied into the executable,
/// comes first in its scope.
fn glibc_address(
    symbol: &Symbol,
    handle: *mut c_void,
    version: VersionOf<'_>,
    is_interposed: &dyn Fn() -> bool,
    interposer: &dyn Fn(&CStr, &CStr) -> Option<usize>,
) -> Option<usize> {
    extern "C" fn nothing_to_do(_initial: bool) {}
    if symbol.name == EARLY_INIT {
        return Some((nothing_to_do as *const ()).addr());
    }
    // ld.so is asked only where its answer may be another one: asking takes ten times as long.
    if symbol.kind != SymbolKind::Ifunc && !is_interposed() {
        return Some(symbol.address);
    }
    if let Some(found) = version().and_then(|version| interposer(symbol.name, version)) {
        return Some(found);
    }
    let look = |handle| {
        let found = match version() {
            // SAFETY: the handle is open or a pseudo handle, the names are C strings.
            Some(version) => unsafe { dlsym::real_versioned()(handle, symbol.name.as_ptr(), version.as_ptr()) },
            // SAFETY: as above.
            None => unsafe { dlsym::real()(handle, symbol.name.as_ptr()) },
        };
        (!found.is_null()).then(|| found.addr())
    };
    look(libc::RTLD_DEFAULT).or_else(|| look(handle))
}

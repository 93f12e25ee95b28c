//! `dlsym` and `dlvsym` as the process calls them: ours, exported, which end in a jump to glibc's (`arch/`).
//!
//! They hide functions that only this library has, find the version of a wrapper that they would find without it, and notice
//! libraries that were opened since the last call. Before this library's constructor has run they go on at once: sanitizers call
//! them when nothing is set up.
#![expect(unsafe_code, reason = "stands before dlsym")]

use core::ffi::{CStr, c_char, c_void};
use core::ptr::{null, with_exposed_provenance_mut};

use qmpi_abi::FnId;
use qmpi_dynamic::Asked;
use qmpi_ring::{Moment, message};

use crate::process::objects::ObjectOwner;
use crate::process::{glibc, objects, own};
use crate::references::{opened, pass_through};
use crate::ring::RING;
use crate::{core_library, start};

/// With which handle to go on, and where.
#[repr(C)]
pub(crate) struct GoesOnTo {
    handle: *mut c_void,
    real: *const c_void,
}

impl GoesOnTo {
    /// Goes on to the end: this is the address.
    fn found(address: usize) -> GoesOnTo {
        extern "C" fn found(address: *mut c_void) -> *mut c_void {
            address
        }
        GoesOnTo { handle: with_exposed_provenance_mut(address), real: found as *const c_void }
    }
}

/// `dlsym(handle, name)` by `caller`, the return address of the call.
pub(crate) extern "C" fn decide(handle: *mut c_void, name: *const c_char, caller: usize) -> GoesOnTo {
    let lookup = |handle| GoesOnTo { handle, real: glibc::dlsym() as *const c_void };
    if let Some(real) = of_preloaded_tool(handle, name, caller) {
        return GoesOnTo { handle, real };
    }
    let Some((id, name)) = function(name, caller) else {
        return wrapped(handle, name, null(), caller).map_or_else(|| lookup(handle), GoesOnTo::found);
    };
    if !finds_stub(handle, name) {
        return lookup(handle);
    }
    // SAFETY: `name` is a C string; the caller is this library, and has objects behind it.
    let behind_own = || unsafe { !glibc::dlsym()(libc::RTLD_NEXT, name.as_ptr()).is_null() };
    if !behind_own() {
        // MPI may have been opened for one library only; the layers are there for all.
        start::begin(Moment::FirstCall);
        if !RING.is_intercepted(id) {
            return lookup(without_mpi());
        }
    }
    match newest(id, name).filter(|_| comes_to_own(handle, caller)) {
        Some(address) => GoesOnTo::found(address),
        None => lookup(handle),
    }
}

/// `dlvsym(handle, name, version)` by `caller`. It does not find entry stubs, which have no version.
pub(crate) extern "C" fn decide_version(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
    caller: usize,
) -> GoesOnTo {
    let find = || {
        let (id, name) = function(name, caller).filter(|_| !version.is_null())?;
        let address = (core_library::open_already()?.find_version)(id.index(), version);
        // SAFETY: `dlvsym` wants a C string.
        let version = unsafe { CStr::from_ptr(version) };
        let is_layers = address != 0
            && comes_to_own(handle, caller)
            && finds_stub(handle, name)
            && !objects::defines_before_own(name, Asked::Dlvsym(version.to_bytes()));
        // Where the entry stub leads to the same place, all function pointers are equal.
        let is_stubs = || RING.get(id) == Some(address);
        is_layers.then(|| if is_stubs() { own::find(name) } else { None }.unwrap_or(address))
    };
    let find = || find().or_else(|| wrapped(handle, name, version, caller));
    find().map_or_else(|| GoesOnTo { handle, real: glibc::dlvsym() as *const c_void }, GoesOnTo::found)
}

/// The wrapper of a layer, where the name is that of a function that is not MPI's, and the look-up comes to this library's place among the
/// objects of the process; else what a tool of the stack exports under a name that nothing in the process has. `version` is null for
/// `dlsym`.
fn wrapped(handle: *mut c_void, name: *const c_char, version: *const c_char, caller: usize) -> Option<usize> {
    if name.is_null() || !start::is_loaded() {
        return None;
    }
    let functions = core_library::open_already()?;
    let address = match (functions.find_wrapped)(name, version) {
        0 if handle != libc::RTLD_NEXT && version.is_null() => (functions.find_export)(name),
        address => address,
    };
    let is_global = || handle == libc::RTLD_DEFAULT || handle == libc::RTLD_NEXT || objects::is_program(handle);
    let is_asked = address != 0 && is_global() && objects::is_others(caller) && comes_to_own(handle, caller);
    is_asked.then_some(address)
}

/// The `dlsym` of a PMPI tool that is preloaded behind this library, whose constructors run before this library's: what it looks up there it calls
/// later, when the stack is set up. So it is set up now, as where such a constructor calls MPI; from then on the tool's references are bound.
fn of_preloaded_tool(handle: *mut c_void, name: *const c_char, caller: usize) -> Option<*const c_void> {
    if start::is_loaded() || handle != libc::RTLD_NEXT || name.is_null() {
        return None;
    }
    // SAFETY: `dlsym` wants a C string.
    let name = unsafe { CStr::from_ptr(name) };
    let plain = name.to_bytes_with_nul().strip_prefix(b"P").and_then(|rest| CStr::from_bytes_with_nul(rest).ok());
    own::function(plain.unwrap_or(name))?;
    if objects::owner_of(caller) != Some(ObjectOwner::Behind) || !start::before_constructor_goes_on() {
        return None;
    }
    let address = (core_library::open_already()?.look_up_of)(caller);
    (address != 0).then(|| core::ptr::with_exposed_provenance(address))
}

/// The function that the name stands for, if this library has to do with it.
fn function<'a>(name: *const c_char, caller: usize) -> Option<(FnId, &'a CStr)> {
    if name.is_null() || !start::is_loaded() {
        return None;
    }
    opened::deal_with_new();
    // SAFETY: `dlsym` wants a C string.
    let name = unsafe { CStr::from_ptr(name) };
    let id = own::function(name)?;
    objects::is_others(caller).then_some((id, name))
}

/// Does glibc's `dlsym` find an entry stub?
fn finds_stub(handle: *mut c_void, name: &CStr) -> bool {
    // Which object comes next depends on the caller; but only one that comes before this library finds it.
    let asked = if handle == libc::RTLD_NEXT { libc::RTLD_DEFAULT } else { handle };
    // SAFETY: `name` is a C string; the caller of `dlsym` vouches for the handle.
    let found = unsafe { glibc::dlsym()(asked, name.as_ptr()) };
    own::function_at(found.addr()).is_some()
}

/// Is this library among the objects that come next?
fn comes_to_own(handle: *mut c_void, caller: usize) -> bool {
    handle != libc::RTLD_NEXT || objects::owner_of(caller) == Some(ObjectOwner::Before)
}

/// What `dlsym` finds instead of the entry stub, which leads to the oldest version.
fn newest(id: FnId, name: &CStr) -> Option<usize> {
    let oldest = RING.get(id);
    if oldest.is_none() {
        return pass_through::newest(name);
    }
    let newest = (core_library::open_already()?.find_version)(id.index(), null());
    (newest != 0 && oldest != Some(newest)).then_some(newest)
}

/// A handle in which no function of MPI is found: that of the C library.
fn without_mpi() -> *mut c_void {
    // SAFETY: the C library is loaded; no constructor can run.
    let handle = unsafe { glibc::dlopen()(c"libc.so.6".as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    if handle.is_null() { message::fatal(&[b"the C library is not named libc.so.6"], None) } else { handle }
}

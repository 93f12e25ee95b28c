//! `_dl_find_object` of glibc since 2.35: which object an address lies in. It takes no lock, may run in a signal handler, and leaves
//! nothing for `dlerror`; `dladdr` takes `ld.so`'s lock, and `dlinfo` frees the message of an earlier failure.
#![expect(unsafe_code, reason = "calls a function by its address")]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// `struct dl_find_object` (dlfcn.h), with room for what later versions add.
#[repr(C)]
struct DlFindObject {
    flags: u64,
    start: *const c_void,
    end: *const c_void,
    map: *const c_void,
    eh_frame: *const c_void,
    reserved: [u64; 16],
}

type FindObject = unsafe extern "C" fn(*const c_void, *mut DlFindObject) -> c_int;

static FUNCTION: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Where the function is.
pub fn set(address: usize) {
    FUNCTION.store(core::ptr::with_exposed_provenance_mut(address), Ordering::Relaxed);
}

/// The link map of the object that an address lies in, and where its first segment begins. `None`: in none, or this glibc is older.
pub(crate) fn find(address: usize) -> Option<(*const c_void, usize)> {
    let function = FUNCTION.load(Ordering::Relaxed);
    if function.is_null() {
        return None;
    }
    // SAFETY: a function of this type is what the name means in glibc.
    let function = unsafe { core::mem::transmute::<*mut c_void, FindObject>(function) };
    // SAFETY: all-zero is a valid value.
    let mut found: DlFindObject = unsafe { core::mem::zeroed() };
    // SAFETY: it stores no more than there is room for.
    if unsafe { function(core::ptr::without_provenance(address), &raw mut found) } != 0 {
        return None;
    }
    (!found.map.is_null()).then(|| (found.map, found.start.addr()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{glibc, namespace};

    #[test]
    fn the_object_is_that_of_dladdr() {
        let own = the_object_is_that_of_dladdr as fn() as usize;
        let map = namespace::object_at(own).unwrap().map().unwrap();
        let headers = map.program_headers().unwrap();
        let Some(function) = glibc::global(c"_dl_find_object") else { return };
        set(function);
        assert!(core::ptr::eq(find(own).unwrap().0.cast(), map));
        assert!(core::ptr::eq(namespace::object_at(own).unwrap().map().unwrap(), map));
        assert_eq!(map.program_headers().unwrap().as_ptr(), headers.as_ptr());
        assert!(find(1).is_none());
    }
}

//! `dl_iterate_phdr` with the objects of all namespaces: for tools, and for unwinders of the base namespace.
//!
//! glibc's lists the caller's namespace alone, so an unwinder in the tool would stop at the application's frames, and at
//! those of other layers. The order is: the executable (callers take the first for it), the objects of all instances, the
//! rest of the base.
//!
//! A tool calls it from a signal handler, too (profilers unwind at each tick of a timer). So nothing here allocates or takes a
//! lock but glibc's own iteration, which takes the lock of `ld.so`'s list.
#![expect(unsafe_code, reason = "walks link maps and calls the tool back")]

use std::ffi::{c_int, c_void};

use libc::PT_TLS;

use crate::Instance;
use crate::namespace::Namespace;
use crate::namespace::link_map::{self, Handle, LinkMap};

type Callback = extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

// Requests of dlinfo (dlfcn.h) that the libc crate lacks.
const RTLD_DI_TLS_MODID: c_int = 9;
const RTLD_DI_TLS_DATA: c_int = 10;

struct Walk {
    callback: Callback,
    data: *mut c_void,
    first: bool,
}

/// `dl_iterate_phdr(callback, data)`.
///
/// The instances' objects are walked inside the first callback of glibc's own iteration: there its lock is held, so that
/// no thread can add to the list meanwhile.
pub(crate) extern "C" fn of_tool(
    callback: Callback,
    data: *mut c_void,
    caller: usize,
    instance: &'static Instance,
) -> c_int {
    // A constructor of the tool may be the first to ask: then the namespace is found here.
    let _ = instance.namespace(caller);
    of_base(callback, data)
}

/// The same for an unwinder of the base namespace.
pub(crate) extern "C" fn of_base(callback: Callback, data: *mut c_void) -> c_int {
    let mut walk = Walk { callback, data, first: true };
    // SAFETY: `step` has the type that the function wants; `walk` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(step), (&raw mut walk).cast()) }
}

extern "C" fn step(info: *mut libc::dl_phdr_info, size: usize, walk: *mut c_void) -> c_int {
    // SAFETY: `of_base` passes its `Walk`.
    let walk = unsafe { &mut *walk.cast::<Walk>() };
    let result = (walk.callback)(info, size, walk.data);
    if result != 0 || !std::mem::take(&mut walk.first) {
        return result;
    }
    // SAFETY: glibc passes a valid description.
    let template = unsafe { *info };
    for map in Namespace::all().flat_map(objects) {
        let Some(mut own) = describe(map, &template) else { continue };
        let result = (walk.callback)(&raw mut own, size_of::<libc::dl_phdr_info>(), walk.data);
        if result != 0 {
            return result;
        }
    }
    0
}

/// The real objects of a namespace: no providers, and not the stand-in for ld.so, which the base lists.
fn objects(namespace: &'static Namespace) -> impl Iterator<Item = &'static LinkMap> {
    // SAFETY: reads the auxiliary vector.
    let linker = unsafe { libc::getauxval(libc::AT_BASE) } as usize;
    namespace.objects().filter(move |map| map.base != linker)
}

fn describe(map: &'static LinkMap, template: &libc::dl_phdr_info) -> Option<libc::dl_phdr_info> {
    let phdrs = map.program_headers()?;
    let mut info = libc::dl_phdr_info {
        dlpi_addr: map.base as u64,
        dlpi_name: map.name().as_ptr(),
        dlpi_phdr: phdrs.as_ptr(),
        dlpi_phnum: phdrs.len().try_into().ok()?,
        dlpi_tls_modid: 0,
        dlpi_tls_data: std::ptr::null_mut(),
        ..*template
    };
    if link_map::shows_headers() && phdrs.iter().any(|phdr| phdr.p_type == PT_TLS) {
        // SAFETY: stores a `size_t`.
        unsafe { libc::dlinfo(Handle::of(map).0, RTLD_DI_TLS_MODID, (&raw mut info.dlpi_tls_modid).cast()) };
        // SAFETY: stores a pointer.
        unsafe { libc::dlinfo(Handle::of(map).0, RTLD_DI_TLS_DATA, (&raw mut info.dlpi_tls_data).cast()) };
    }
    Some(info)
}

//! `dl_iterate_phdr` with the objects of all namespaces: for tools, and for unwinders of the base namespace.
//!
//! glibc's lists the caller's namespace alone, so an unwinder in the tool would stop at the application's frames, and at
//! those of other layers. The order is: the executable (callers take the first for it), the objects of all instances, the
//! rest of the base.
//!
//! A tool calls it from a signal handler, too (profilers unwind at each tick of a timer). The one lock is that of glibc's own
//! iteration.
#![expect(unsafe_code, reason = "walks link maps and calls the tool back")]

use core::ffi::{c_int, c_void};

use libc::{Elf64_Phdr, PT_TLS};
use qmpi_ring::ring::PhdrCallback;

use crate::answers::Answers;
use crate::link_map::{self, Handle, LinkMap};
use crate::namespace::Namespace;
use crate::object::Object;

// Requests of dlinfo (dlfcn.h) that the libc crate lacks.
const RTLD_DI_TLS_MODID: c_int = 9;
const RTLD_DI_TLS_DATA: c_int = 10;

struct ObjectWalk {
    callback: PhdrCallback,
    data: *mut c_void,
    first: bool,
}

/// `dl_iterate_phdr(callback, data)`.
///
/// The instances' objects are walked inside the first callback of glibc's own iteration: there its lock is held, so that
/// no thread can add to the list meanwhile, or take away what the tool opened.
pub(crate) extern "C" fn of_tool(
    callback: PhdrCallback,
    data: *mut c_void,
    caller: usize,
    answers: &'static Answers,
) -> c_int {
    // A constructor of the tool may be the first to ask: then the namespace is found here.
    let _ = answers.namespace(caller);
    of_base(callback, data)
}

/// The same for an unwinder of the base namespace.
pub extern "C" fn of_base(callback: PhdrCallback, data: *mut c_void) -> c_int {
    let mut walk = ObjectWalk { callback, data, first: true };
    // SAFETY: `step` has the type that the function wants; `walk` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(step), (&raw mut walk).cast()) }
}

extern "C" fn step(info: *mut libc::dl_phdr_info, size: usize, walk: *mut c_void) -> c_int {
    // SAFETY: `of_base` passes its own `ObjectWalk`, which outlives the iteration.
    let walk = unsafe { &mut *walk.cast::<ObjectWalk>() };
    let result = (walk.callback)(info, size, walk.data);
    if result != 0 || !core::mem::take(&mut walk.first) {
        return result;
    }
    // SAFETY: glibc passes a valid description.
    let template = unsafe { *info };
    for namespace in Namespace::all() {
        for (map, listed) in namespace.each_object() {
            let description = match listed {
                Some(object) => object.is_private.then(|| describe(map, object.headers, Some(object), &template)),
                None if map.is_linker() || namespace.is_provider(map) => None,
                None => map.program_headers().map(|headers| describe(map, headers, None, &template)),
            };
            let Some(mut own) = description else { continue };
            let result = (walk.callback)(&raw mut own, size_of::<libc::dl_phdr_info>(), walk.data);
            if result != 0 {
                return result;
            }
        }
    }
    0
}

fn describe(
    map: &'static LinkMap,
    headers: &'static [Elf64_Phdr],
    listed: Option<&Object>,
    template: &libc::dl_phdr_info,
) -> libc::dl_phdr_info {
    let mut info = libc::dl_phdr_info {
        dlpi_addr: map.base as u64,
        dlpi_name: map.name().as_ptr(),
        dlpi_phdr: headers.as_ptr(),
        dlpi_phnum: headers.len().try_into().unwrap_or(u16::MAX),
        dlpi_tls_modid: 0,
        dlpi_tls_data: core::ptr::null_mut(),
        ..*template
    };
    info.dlpi_tls_modid = listed.map_or_else(|| tls_module(map, headers), |object| object.tls_module);
    if info.dlpi_tls_modid != 0 {
        // SAFETY: this request stores a pointer, and `dlpi_tls_data` is one.
        unsafe { libc::dlinfo(Handle::of(map).0, RTLD_DI_TLS_DATA, (&raw mut info.dlpi_tls_data).cast()) };
    }
    info
}

/// The number of an object's thread-local variables; 0: it has none, or this glibc is one whose `dlinfo` is better not asked.
pub fn tls_module(map: &'static LinkMap, headers: &[Elf64_Phdr]) -> usize {
    let mut module = 0_usize;
    if link_map::shows_headers() && headers.iter().any(|header| header.p_type == PT_TLS) {
        // SAFETY: this request stores a `size_t`, and `module` is one.
        unsafe { libc::dlinfo(Handle::of(map).0, RTLD_DI_TLS_MODID, (&raw mut module).cast()) };
    }
    module
}

//! The program's own destructors, before those of its tools.
//!
//! `ld.so` finalizes the program's namespace last of all, and in it the program before what is preloaded. Under `LD_PRELOAD` a destructor of
//! the program meets its tools alive; so it does here: they are called before the first namespace is finalized, and `ld.so` is told
//! that the program has none.
#![expect(unsafe_code, reason = "writes a word of the program's dynamic section")]

use std::sync::atomic::{AtomicU64, Ordering};

use libc::{PT_DYNAMIC, dl_phdr_info};
use qmpi_dynamic::Segments;

use crate::exit::destructors::{DT_FINI_ARRAYSZ, Destructors};
use crate::image::objects;

/// Runs them, if there are any.
pub(crate) fn end() {
    // The first object is the program.
    let Some((base, segments)) = objects::find(|info| Some(program(info))) else { return };
    let destructors = Destructors::in_segments(base, &segments, 0);
    if destructors.are_there() && keep_from_linker(base, &segments) {
        destructors.run_array();
    }
}

fn program(info: &dl_phdr_info) -> (usize, Segments<'static>) {
    let base = info.dlpi_addr as usize;
    // SAFETY: the program's headers stay mapped; it is never unloaded.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    // SAFETY: `ld.so` shows where the object is.
    (base, unsafe { Segments::new(base, headers) })
}

/// Sets the size of the program's DT_FINI_ARRAY to 0.
fn keep_from_linker(base: usize, segments: &Segments<'static>) -> bool {
    let Some(header) = segments.headers().iter().find(|header| header.p_type == PT_DYNAMIC) else { return false };
    let Some(section) = segments.dynamic_section() else { return false };
    let Some(index) = qmpi_dynamic::entries(section).position(|(tag, _)| tag == DT_FINI_ARRAYSZ) else { return false };
    let place = base.wrapping_add(header.p_vaddr as usize) + index * 2 * size_of::<u64>() + size_of::<u64>();
    let is_writable = segments.is_writable(place);
    if !is_writable && !protect(place, libc::PROT_READ | libc::PROT_WRITE) {
        return false;
    }
    // SAFETY: the value of an entry of the dynamic section, writable by now; `ld.so` reads it after this, in the same thread.
    let word = unsafe { AtomicU64::from_ptr(std::ptr::with_exposed_provenance_mut(place)) };
    word.store(0, Ordering::Relaxed);
    if !is_writable {
        protect(place, libc::PROT_READ);
    }
    true
}

/// Changes the page of a word.
fn protect(place: usize, protection: i32) -> bool {
    let size = crate::arch::page_size();
    let page = place & !(size - 1);
    // SAFETY: a page of the program that holds no code; it stays readable.
    unsafe { libc::mprotect(std::ptr::with_exposed_provenance_mut(page), size, protection) == 0 }
}

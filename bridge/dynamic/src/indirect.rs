//! A function of a loaded object that becomes an indirect one (STT_GNU_IFUNC): from then on `ld.so` calls a function for its address, whenever
//! it binds a reference to the name.
#![expect(unsafe_code, reason = "writes into the symbol table of a loaded object")]

use core::mem::offset_of;
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use libc::Elf64_Sym;

use crate::mapped::Mapped;
use crate::symbol::Symbol;
use crate::tags::STT_GNU_IFUNC;

/// Makes `symbol` of `object` indirect: `resolver` returns its address. Returns whether that was possible.
///
/// # Safety
/// The object stays loaded, and is relocated. No other thread binds a reference meanwhile, no code is in the page of the symbol, and
/// `resolver` can be called while `ld.so` binds an object.
pub unsafe fn make_indirect(object: &Mapped<'_>, symbol: &Symbol<'_>, resolver: usize) -> bool {
    let Some(place) = object.tables().place_of(symbol) else { return false };
    if !place.is_multiple_of(align_of::<Elf64_Sym>()) {
        return false;
    }
    // SAFETY: asks for a constant.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let start = place & !page.wrapping_sub(1);
    let len = place.wrapping_add(size_of::<Elf64_Sym>()).wrapping_sub(start);
    // SAFETY: pages of the object, which are read alone.
    let protect =
        |protection| unsafe { libc::mprotect(core::ptr::with_exposed_provenance_mut(start), len, protection) == 0 };
    if !protect(libc::PROT_READ | libc::PROT_WRITE) {
        return false;
    }
    let value = place.wrapping_add(offset_of!(Elf64_Sym, st_value));
    let info = place.wrapping_add(offset_of!(Elf64_Sym, st_info));
    // SAFETY: a field of the symbol, aligned, in pages that can be written to now.
    let value = unsafe { AtomicUsize::from_ptr(core::ptr::with_exposed_provenance_mut(value)) };
    // SAFETY: as above.
    let info = unsafe { AtomicU8::from_ptr(core::ptr::with_exposed_provenance_mut(info)) };
    // `ld.so` adds the base to what stands there.
    value.store(resolver.wrapping_sub(object.segments().base()), Ordering::Relaxed);
    info.store(info.load(Ordering::Relaxed) & 0xf0 | STT_GNU_IFUNC, Ordering::Release);
    protect(libc::PROT_READ)
}

//! The C functions of `qmpi_thesis.h`, but for `QMPI_Exec_func`. None crashes, whatever level, index or null it is given.
//!
//! What the prototype calls `vector_get`, `vector_total` and `exec_func` has no export of that name: libqmpi.so is preloaded,
//! and would take such names from programs that use them for something else. The header has them.
#![expect(unsafe_code, reason = "exported C functions that follow pointers of their callers")]
#![allow(non_snake_case, reason = "names of the prototype")]
#![allow(unreachable_pub, reason = "reached by name from other objects")]

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering;

use qmpi_abi::thesis::COUNT;
use qmpi_ring::thesis::{Cell, Vector};

use crate::core_library;

fn place(index: c_int) -> Option<usize> {
    usize::try_from(index).ok().filter(|index| *index < COUNT)
}

/// Stores what comes next for a function, and returns 0. If there is none: 1, and a function that says so.
#[unsafe(no_mangle)]
pub extern "C" fn QMPI_Table_query(index: c_int, function: *mut *mut c_void, table: *const Cell) -> c_int {
    if function.is_null() {
        return 1;
    }
    let place = place(index);
    // SAFETY: null, or a table of an element of the vector.
    let table = unsafe { table.cast::<[Cell; COUNT]>().as_ref() };
    let cell = place.zip(table).map(|(place, table)| &table[place]);
    let next = cell.map(|cell| cell.func_ptr.load(Ordering::Acquire)).filter(|next| !next.is_null());
    let (next, result) = next.map_or_else(
        || (core::ptr::with_exposed_provenance_mut((core_library::functions().thesis_unsupported)(index)), 1), //
        |next| (next, 0),
    );
    // SAFETY: not null, so writable.
    unsafe { function.write(next) };
    result
}

/// Keeps a copy of `size` bytes for the layer. An earlier copy stays: the tool may have its address.
#[unsafe(no_mangle)]
pub extern "C" fn QMPI_Set_context(vector: *const Vector, level: c_int, context: *const c_void, size: usize) {
    // SAFETY: the caller passes what its wrapper got.
    let Some(layer) = (unsafe { Vector::layer(vector, level) }) else {
        (core_library::functions().thesis_no_layer)(level);
        return;
    };
    // SAFETY: no requirements. Memory of malloc, as in the prototype: a tool may free it.
    let copy = unsafe { libc::calloc(1, size.max(1)) };
    if !copy.is_null() && !context.is_null() {
        // SAFETY: the caller passes `size` bytes, and as many were allocated.
        unsafe { copy.cast::<u8>().copy_from_nonoverlapping(context.cast(), size) };
    }
    layer.context.store(copy, Ordering::Release);
}

/// The layer's copy; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn QMPI_Get_context(vector: *const Vector, level: c_int) -> *mut c_void {
    // SAFETY: the caller passes what its wrapper got.
    let layer = unsafe { Vector::layer(vector, level) };
    layer.map_or(core::ptr::null_mut(), |layer| layer.context.load(Ordering::Acquire))
}

/// The level to pass to what comes next; -1 for a level or an index that does not exist.
#[unsafe(no_mangle)]
pub extern "C" fn QMPI_Get_level(level: c_int, index: c_int, vector: *const Vector) -> c_int {
    // SAFETY: the caller passes what its wrapper got.
    let layer = unsafe { Vector::layer(vector, level) };
    let cell = layer.zip(place(index)).map(|(layer, place)| &layer.table[place]);
    cell.map_or(-1, |cell| cell.level.load(Ordering::Relaxed))
}

/// What `exec_func` returns when a null, or a level or an index that does not exist, is passed to it.
pub(crate) extern "C" fn misused() -> c_int {
    (core_library::functions().error_argument)()
}

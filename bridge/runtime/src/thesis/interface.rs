//! The C functions of `qmpi_thesis.h`, but for `exec_func`. None crashes, whatever level, index or null it is given.
//!
//! What the prototype calls `vector_get`, `vector_total` and `exec_func` has no export of that name: libqmpi.so is preloaded,
//! and would take such names from programs that use them for something else. The header has them; for a tool that was
//! compiled without it they are put at the end of the process's scope.
#![expect(unsafe_code, reason = "exported C functions that follow pointers of their callers")]
#![allow(non_snake_case, reason = "names of the prototype")]
#![allow(unreachable_pub, reason = "reached by name from other objects")]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_abi::thesis::COUNT;
use qmpi_elf::Tool;
use qmpi_loader::{LoadError, last_resort, log};

use super::vector::{self, Cell, DynamicLib, Vector};
use crate::arch::exec;
use crate::qmpi::Class;

/// The layer at this level.
///
/// # Safety
/// `vector` is null, or the vector that the runtime passes to wrappers.
unsafe fn layer<'a>(vector: *const Vector, level: c_int) -> Option<&'a DynamicLib> {
    // SAFETY: the caller's promise. The vector is never freed.
    let vector = unsafe { vector.as_ref() }?;
    let level = usize::try_from(level).ok().filter(|_| level < vector.total)?;
    // SAFETY: there are `total` items.
    let item = unsafe { vector.items.load(Ordering::Acquire).add(level) };
    // SAFETY: null if the caller made the vector itself; else an item of the runtime, which is never freed.
    unsafe { item.as_ref() }.copied()
}

fn place(index: c_int) -> Option<usize> {
    usize::try_from(index).ok().filter(|index| *index < COUNT)
}

/// Stores what comes next for a function, and returns 0. If nobody has it: 1, and a function that says so.
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
        || (std::ptr::with_exposed_provenance_mut(vector::lacking(place)), 1), //
        |next| (next, 0),
    );
    // SAFETY: not null, so writable.
    unsafe { function.write(next) };
    result
}

/// Keeps a copy of `size` bytes for the layer. An earlier copy stays: somebody may have its address.
#[unsafe(no_mangle)]
pub extern "C" fn QMPI_Set_context(vector: *const Vector, level: c_int, context: *const c_void, size: usize) {
    // SAFETY: the caller passes what its wrapper got.
    let Some(layer) = (unsafe { layer(vector, level) }) else {
        log::line(log::LogLevel::Warn, &format!("QMPI_Set_context: there is no layer at level {level}"));
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
    let layer = unsafe { layer(vector, level) };
    layer.map_or(std::ptr::null_mut(), |layer| layer.context.load(Ordering::Acquire))
}

/// The level to pass to what comes next; -1 for a level or an index that does not exist.
#[unsafe(no_mangle)]
pub extern "C" fn QMPI_Get_level(level: c_int, index: c_int, vector: *const Vector) -> c_int {
    // SAFETY: the caller passes what its wrapper got.
    let layer = unsafe { layer(vector, level) };
    let cell = layer.zip(place(index)).map(|(layer, place)| &layer.table[place]);
    cell.map_or(-1, |cell| cell.level.load(Ordering::Relaxed))
}

/// What `exec_func` returns when a null, or a level or an index that does not exist, is passed to it.
pub(crate) extern "C" fn misused() -> c_int {
    Class::Arg.code()
}

/// `vector_get(v, index)` of the prototype.
extern "C" fn vector_get(vector: *const Vector, index: c_int) -> *const DynamicLib {
    // SAFETY: the caller passes what its wrapper got.
    unsafe { layer(vector, index) }.map_or(std::ptr::null(), std::ptr::from_ref)
}

/// `vector_total(v)` of the prototype.
extern "C" fn vector_total(vector: *const Vector) -> c_int {
    // SAFETY: the caller passes what its wrapper got.
    unsafe { vector.as_ref() }.map_or(0, |vector| vector.total)
}

/// The prototype's names that are no exports, where `tool` wants one of them.
///
/// # Errors
/// When they cannot be added to the process.
pub(crate) fn provide_general_names(tool: &Tool) -> Result<(), LoadError> {
    static DONE: AtomicBool = AtomicBool::new(false);
    let names: [(&str, usize); 3] = [
        ("exec_func", (exec::QMPI_Exec_func as *const ()).addr()),
        ("vector_get", (vector_get as *const ()).addr()),
        ("vector_total", (vector_total as *const ()).addr()),
    ];
    let wants = |name: &str| tool.closure.root().imports().any(|symbol| symbol.name == name);
    if !names.iter().any(|(name, _)| wants(name)) || DONE.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    last_resort::add("libqmpi-thesis.so", &names)
}

#[cfg(test)]
mod tests {
    use std::ptr::{null, null_mut};

    use super::*;
    use crate::thesis::Builder;

    #[test]
    fn nothing_crashes() {
        let builder = Builder::new(&[None, None]);
        let vector: *const Vector = std::ptr::with_exposed_provenance(builder.vector());
        let mut function = null_mut();
        for (vector, levels) in [(null(), [0, 1, 2]), (vector, [-1, 3, c_int::MAX])] {
            for level in levels {
                assert!(QMPI_Get_context(vector, level).is_null());
                assert_eq!(QMPI_Get_level(level, 258, vector), -1);
                QMPI_Set_context(vector, level, null(), 1);
            }
        }
        for index in [-1, 360, c_int::MIN, c_int::MAX] {
            assert_eq!(QMPI_Get_level(1, index, vector), -1);
            assert_eq!(QMPI_Table_query(index, &raw mut function, null()), 1);
            assert!(!function.is_null(), "a function that says what is wrong");
        }
        assert_eq!(QMPI_Table_query(0, null_mut(), null()), 1);
        assert_eq!(QMPI_Table_query(0, &raw mut function, null()), 1);
    }

    #[test]
    fn contexts_are_copies_of_each_layer() {
        let builder = Builder::new(&[None, None]);
        let vector: *const Vector = std::ptr::with_exposed_provenance(builder.vector());
        let mut value = [7_u64, 8];
        QMPI_Set_context(vector, 1, value.as_ptr().cast(), size_of_val(&value));
        value = [9, 10];
        QMPI_Set_context(vector, 2, value.as_ptr().cast(), size_of_val(&value));
        // SAFETY: such contexts were set.
        let of = |level| unsafe { *QMPI_Get_context(vector, level).cast::<[u64; 2]>() };
        assert_eq!((of(1), of(2)), ([7, 8], [9, 10]));
        assert!(QMPI_Get_context(vector, 0).is_null());
        QMPI_Set_context(vector, 1, null(), 16);
        assert_eq!(of(1), [0, 0]);
    }
}

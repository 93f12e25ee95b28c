//! The C structs of the 2018 prototype: the vector has an element for each layer, at the index that is its level, and each
//! element a table of what comes next.
//!
//! Tools read these structs directly, so their layout is that of `qmpi_thesis.h` (tested where they are filled in). Atomics have
//! the layout of what is in them; they are here because a tool may run, and read, while layers above it are still being loaded.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

use qmpi_abi::thesis::COUNT;

/// `char path[100]`
pub const PATH: usize = 100;

/// What comes next for one function: `f(args..., level, vector)`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Cell {
    /// The function to call.
    pub func_ptr: AtomicPtr<c_void>,
    /// The level to pass.
    pub level: AtomicI32,
}

/// `struct dynamic_lib`: a layer.
#[derive(Debug)]
#[repr(C)]
pub struct DynamicLib {
    /// The file, cut off where it does not fit; ends with NUL.
    pub path: [u8; PATH],
    /// `dlopen`'s handle.
    pub handle: AtomicUsize,
    /// The names of the wrappers.
    pub mpi_interceptions: [AtomicPtr<c_char>; COUNT],
    /// What comes next.
    pub table: [Cell; COUNT],
    /// What the tool has set by `QMPI_Set_context`.
    pub context: AtomicPtr<c_void>,
}

/// `struct vector`: all layers, the first standing for the runtime.
#[derive(Debug)]
#[repr(C)]
pub struct Vector {
    /// The layers.
    pub items: AtomicPtr<&'static DynamicLib>,
    /// How many there is room for.
    pub capacity: c_int,
    /// How many there are.
    pub total: c_int,
}

impl Vector {
    /// The layer at this level.
    ///
    /// # Safety
    /// `vector` is null, or the vector that the runtime passes to wrappers.
    #[expect(unsafe_code, reason = "follows pointers that tools pass")]
    pub unsafe fn layer(vector: *const Vector, level: c_int) -> Option<&'static DynamicLib> {
        // SAFETY: the caller promises that it is null or the runtime's vector, which is never freed.
        let vector = unsafe { vector.as_ref() }?;
        let level = usize::try_from(level).ok().filter(|_| level < vector.total)?;
        // SAFETY: `items` has `total` items, and the level is below that number.
        let item = unsafe { vector.items.load(Ordering::Acquire).add(level) };
        // SAFETY: null if the caller made the vector itself; else an item of the runtime, which is never freed.
        unsafe { item.as_ref() }.copied()
    }
}

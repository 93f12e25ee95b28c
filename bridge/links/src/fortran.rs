//! Links for Fortran calls.
//!
//! A Fortran call of the application goes to the first layer that intercepts the function: to its Fortran wrapper, if it has
//! one, else through MPI's Fortran library, which calls C. A wrapper goes on with `pmpi_f_`; what MPI's Fortran library then
//! calls in C must enter the chain *below* the wrapper's layer, not at the top again.
//!
//! A word of thread-local storage (`ring/src/arch/thread_storage.s`) says how many layers the call has behind it; 0 outside of such
//! calls. Only tools with Fortran wrappers ever set it.
#![expect(unsafe_code, reason = "machine code, and a word that it reads")]

use std::ffi::{CStr, CString};
use std::mem::offset_of;
use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_system::Locked;

use crate::arch::{ARGUMENT_REGISTERS, machine_code};
use crate::shift::{Arity, MAX_ARGS};
use crate::thread_offsets;
use crate::trampoline::{self, Stub};

/// A call from a tool to MPI's Fortran library.
#[derive(Debug)]
#[repr(C)]
struct Resume {
    /// The Fortran library's function.
    target: AtomicUsize,
    /// How many layers the call has behind it.
    level: usize,
}

/// Words on the stack of the longest C function.
const MOST_WORDS: usize = MAX_ARGS - ARGUMENT_REGISTERS;

machine_code!(["fortran"], {
    level = const offset_of!(Resume, level),
    target = const offset_of!(Resume, target),
    level_offset = sym thread_offsets::FORTRAN_LEVEL,
});

unsafe extern "C" {
    /// The payload is a [`Resume`].
    fn qmpi_fortran_resume();
    /// By the number of words on the stack; at last, of a variadic function. The payload is a table of links, one for each level.
    static qmpi_fortran_to_c_table: [Stub; MOST_WORDS + 2];
}

/// A link from a tool to MPI's Fortran library: C functions called from there enter the chain below `level` layers.
pub fn resume(target: usize, level: usize) -> usize {
    trampoline::allocate(qmpi_fortran_resume, resume_at(target, level))
}

fn resume_at(target: usize, level: usize) -> &'static Resume {
    Box::leak(Box::new(Resume { target: AtomicUsize::new(target), level }))
}

/// Links whose functions the process does not have, with these functions' names: MPI's Fortran library may be opened later ([`bind`]).
static UNBOUND: Locked<Vec<(CString, &'static Resume)>> = Locked::new(Vec::new());

/// The same for a function that the process does not have: calls lead to `until` as long as there is none of this name.
pub fn resume_later(name: CString, level: usize, until: usize) -> usize {
    let resume = resume_at(until, level);
    UNBOUND.lock().push((name, resume));
    trampoline::allocate(qmpi_fortran_resume, resume)
}

/// Lets the links of [`resume_later`] lead to what `find` has under their names.
pub fn bind(find: impl Fn(&CStr) -> Option<usize>) {
    // `find` may ask ld.so: no lock is held meanwhile.
    let mut unbound = std::mem::take(&mut *UNBOUND.lock());
    unbound.retain(|(name, resume)| {
        let found = find(name);
        found.inspect(|address| resume.target.store(*address, Ordering::Release)).is_none()
    });
    UNBOUND.lock().append(&mut unbound);
}

/// A link from MPI's Fortran library to a C function of this arity: `links[level]` is the one below `level` layers.
pub fn to_c(links: Vec<usize>, arity: Arity) -> usize {
    let table: &'static [usize] = Box::leak(links.into_boxed_slice());
    let words = match arity {
        Arity::Fixed(count) => usize::from(count).saturating_sub(ARGUMENT_REGISTERS).min(MOST_WORDS),
        Arity::Variadic => MOST_WORDS + 1,
    };
    // SAFETY: a table of constants.
    let stub = unsafe { qmpi_fortran_to_c_table[words] };
    trampoline::with_word(stub, table.as_ptr().addr())
}

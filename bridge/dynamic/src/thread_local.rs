//! References to thread-local variables of other objects: the words of an object by which it finds them, bound anew.
//!
//! `ld.so` takes what it writes there from the object that defines the symbol. Where that is an object which only stands for the true one,
//! in another namespace, the words have to be written again before the object's code runs.

use core::ffi::CStr;

use crate::linker_lock::LinkerLock;
use crate::mapped::Mapped;
use crate::rebind::Words;
use crate::relocation::{Relocation, RelocationKind};

/// Where a thread-local variable is.
#[derive(Debug, Clone, Copy)]
pub struct ThreadLocalVariable {
    /// The number of the object that has it (`dlpi_tls_modid`).
    pub module: usize,
    /// Where it is among that object's.
    pub offset: usize,
    /// Where it is from the thread pointer, the same in all threads.
    pub from_thread: usize,
    /// The function of a descriptor, which returns the word behind it (TLSDESC: two words).
    pub descriptor: usize,
}

/// What references of an object to its own thread-local variables ask for in the static block of each thread, which has a size that
/// is fixed when the program starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StaticRoom {
    /// The object is loaded with it alone: the code counts from the thread pointer (initial exec).
    Needed,
    /// `ld.so` takes it as long as there is some: a descriptor then needs no allocation.
    Welcome,
}

impl StaticRoom {
    /// Of one relocation.
    pub fn of(relocation: &Relocation) -> Option<StaticRoom> {
        match relocation.kind {
            RelocationKind::ThreadOffset => Some(StaticRoom::Needed),
            RelocationKind::Descriptor => Some(StaticRoom::Welcome),
            _ => None,
        }
    }
}

/// Binds the references of `object` to the variables that `find` knows. Returns how many words were written.
///
/// # Safety
/// No code has used these words.
#[expect(unsafe_code, reason = "the promise is the caller's")]
pub unsafe fn bind(_: &LinkerLock, object: &Mapped<'_>, find: impl Fn(&CStr) -> Option<ThreadLocalVariable>) -> usize {
    let mut words = Words { object, unprotected: None };
    let mut count = 0_usize;
    for relocation in object.tables().relocations() {
        let Some(variable) = variable(object, &relocation, &find) else { continue };
        let addend = relocation.addend as isize;
        let from_thread = variable.from_thread.wrapping_add_signed(addend);
        let (first, second) = match relocation.kind {
            RelocationKind::Module => (variable.module, None),
            RelocationKind::ModuleOffset => (variable.offset.wrapping_add_signed(addend), None),
            RelocationKind::ThreadOffset => (from_thread, None),
            _ => (variable.descriptor, Some(from_thread)),
        };
        let behind = relocation.offset.wrapping_add(size_of::<usize>() as u64);
        for (place, word) in [(relocation.offset, Some(first)), (behind, second)] {
            count = count.wrapping_add(usize::from(word.is_some_and(|word| words.store(place, word))));
        }
    }
    count
}

/// The variable of another object that a relocation refers to.
fn variable(
    object: &Mapped<'_>,
    relocation: &Relocation,
    find: &impl Fn(&CStr) -> Option<ThreadLocalVariable>,
) -> Option<ThreadLocalVariable> {
    use RelocationKind::{Descriptor, Module, ModuleOffset, ThreadOffset};
    if relocation.symbol == 0 || !matches!(relocation.kind, Module | ModuleOffset | ThreadOffset | Descriptor) {
        return None;
    }
    let symbol = object.tables().symbol(relocation.symbol).filter(|symbol| !symbol.is_defined())?;
    find(symbol.name()?)
}

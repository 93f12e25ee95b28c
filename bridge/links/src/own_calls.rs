//! A layer whose own calls are hidden: what its wrappers pass on goes to the next layer, what it asks for itself to the MPI library, or
//! where the function is not MPI's to the library that has it.
//!
//! Which of the two a call is depends on the wrapper that it is made in ([`qmpi_plan::own_calls`]). A stub in front of each wrapper
//! records that the wrapper of f was entered on this thread, and a stub in place of `PMPI_f` looks for the record that is innermost
//! of those of its layer:
//!
//! ```text
//! next layer above -> record: f of layer 2 -> MPI_f   the wrapper
//!                                              PMPI_f -> innermost record of layer 2 is f?  yes -> next layer below
//!                                              PMPI_g ->                                    no  -> MPI library
//! ```
//!
//! The wrapper is entered by a jump, so its caller and all arguments are those of the call, and nothing runs when it returns, or is
//! left by an exception or `longjmp`. A record therefore holds by itself: as long as the place on the stack where the wrapper's
//! return address was still has it, and lies above the stack pointer. Records are taken away by the next wrapper that is entered
//! less deep.
//!
//! The records are in thread-local storage of the library that is in the process from the start
//! (`ring/src/arch/thread_storage.s`), [`OWN_DEPTH`] of them for all layers of a thread.
#![expect(unsafe_code, reason = "reads the records of a thread, and the stack")]

use std::sync::atomic::{AtomicU32, Ordering};

use qmpi_abi::FnId;
use qmpi_elf::Name;
use qmpi_elf::tool::spelling;
use qmpi_plan::own_calls::{always_passes_on, other_always_passes_on, same_function};
use qmpi_ring::ring::OWN_DEPTH;

use crate::arch::{EnteredCall, machine_code, thread_pointer};
use crate::{thread_offsets, trampoline};

/// A function of a layer: the layer's number above, the function's below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
struct LayerFunction(u64);

impl LayerFunction {
    /// What stands for functions that are not MPI's, beside a hash of the name.
    const OTHER: u32 = 1 << 31;

    fn of(layer: u32, id: FnId) -> LayerFunction {
        LayerFunction(u64::from(layer) << 32 | same_function(id).index() as u64)
    }

    /// Two functions of one hash are taken for one: a call of one in a wrapper of the other is passed on.
    fn of_other(layer: u32, name: &str) -> LayerFunction {
        let hash = Name::from(spelling::plain(name)).hash();
        LayerFunction(u64::from(layer) << 32 | u64::from(hash | LayerFunction::OTHER))
    }

    fn layer(self) -> u64 {
        self.0 >> 32
    }
}

/// A wrapper that is entered, and where it is.
#[derive(Debug)]
#[repr(C)]
struct EnteredEntry {
    key: LayerFunction,
    wrapper: usize,
}

/// The function that a layer calls, and where it may go.
#[derive(Debug)]
#[repr(C)]
struct CalledLink {
    key: LayerFunction,
    next: usize,
    /// Past all layers.
    library: usize,
}

/// What is recorded of a wrapper that was entered.
type EnteredWrapper = EnteredCall<LayerFunction>;

/// The records of a thread.
#[derive(Debug)]
#[repr(C)]
struct EnteredWrappers {
    /// Bytes from here to the topmost record; 0: there is none.
    top: usize,
    /// Stands for a place above all others: machine code need not look where the records end.
    end: usize,
    unused: usize,
    records: [EnteredWrapper; OWN_DEPTH],
}

// Up to `near` above the stack pointer a record's place is read at once: it is on the same stack then. So many bytes `below` the stack
// pointer are the same stack: a function of MPI, which is about to be called, needs more. On AArch64 all is decided in Rust.
machine_code!(
    ["own_calls"],
    { decide = sym decide, enter = sym record_entry, },
    x86_64 {
        offset = sym thread_offsets::OWN_CALLS,
        last = sym thread_offsets::LAST_OWN_CALL,
        record = const size_of::<EnteredWrapper>(),
        key = const std::mem::offset_of!(EnteredWrapper, key),
        place = const std::mem::offset_of!(EnteredWrapper, place),
        return_address = const std::mem::offset_of!(EnteredWrapper, return_address),
        entry_key = const std::mem::offset_of!(EnteredEntry, key),
        wrapper = const std::mem::offset_of!(EnteredEntry, wrapper),
        link_key = const std::mem::offset_of!(CalledLink, key),
        next = const std::mem::offset_of!(CalledLink, next),
        library = const std::mem::offset_of!(CalledLink, library),
        near = const 0x4000,
        below = const 0x800,
    }
);

unsafe extern "C" {
    /// Into a wrapper: the payload is an [`EnteredEntry`].
    fn qmpi_own_entry();
    /// Out of a layer: the payload is a [`CalledLink`].
    fn qmpi_own_link();
}

/// The layer whose calls are told apart.
#[derive(Debug, Clone, Copy)]
pub struct CallsOfLayer {
    layer: u32,
}

impl CallsOfLayer {
    /// Those of one more layer.
    pub fn next() -> CallsOfLayer {
        static LAST: AtomicU32 = AtomicU32::new(0);
        CallsOfLayer { layer: LAST.fetch_add(1, Ordering::Relaxed) + 1 }
    }

    /// The function `wrapper` of this layer, recorded as one of `id` when it is entered.
    pub fn entry(self, id: FnId, wrapper: usize) -> usize {
        enter(LayerFunction::of(self.layer, id), wrapper)
    }

    /// The same of a function that is not MPI's.
    pub fn other_entry(self, name: &str, wrapper: usize) -> usize {
        if other_always_passes_on(name) { wrapper } else { enter(LayerFunction::of_other(self.layer, name), wrapper) }
    }

    /// What the layer calls as `PMPI_f`: `next` is the next layer's, or `mpi` the MPI library's; 0: there is none.
    pub fn link(self, id: FnId, next: usize, mpi: usize) -> usize {
        if next == 0 || mpi == 0 || next == mpi || always_passes_on(id) {
            return next;
        }
        leave(CalledLink { key: LayerFunction::of(self.layer, id), next, library: mpi })
    }

    /// What the layer calls as `f`, which is not MPI's: `next` is the wrapper of a layer below, `library` the function itself.
    pub fn other_link(self, name: &str, next: usize, library: usize) -> usize {
        if other_always_passes_on(name) {
            return next;
        }
        leave(CalledLink { key: LayerFunction::of_other(self.layer, name), next, library })
    }
}

fn enter(key: LayerFunction, wrapper: usize) -> usize {
    trampoline::allocate(qmpi_own_entry, Box::leak(Box::new(EnteredEntry { key, wrapper })))
}

fn leave(link: CalledLink) -> usize {
    trampoline::allocate(qmpi_own_link, Box::leak(Box::new(link)))
}

/// Where a call goes for which the topmost record says nothing. `stack` is the stack pointer at the link's entry.
extern "C" fn decide(link: &CalledLink, stack: usize) -> usize {
    // SAFETY: the records are this thread's. Nothing else writes to them meanwhile but the handler of a signal, which comes back before this goes on.
    let records = unsafe { &*own_records() };
    let is_innermost = |record: &&EnteredWrapper| record.key.layer() == link.key.layer() && record.holds(stack);
    match records.taken().iter().rev().find(is_innermost) {
        Some(record) if record.key == link.key => link.next,
        _ => link.library,
    }
}

/// Records that a wrapper is entered, where the stub has not. Returns the wrapper.
extern "C" fn record_entry(entry: &EnteredEntry, stack: usize, return_address: usize) -> usize {
    // SAFETY: the records are this thread's, which does nothing else with them now.
    let records = unsafe { &mut *own_records() };
    let mut count = records.taken().len();
    // Calls as deep as this one, or deeper, are over.
    while count > 0 && records.records[count - 1].place <= stack {
        count -= 1;
    }
    if count == OWN_DEPTH {
        // Records of calls that are over, whatever their place, are taken away. If none is, the new one takes the place of the last: a wrapper
        // that many calls inside of calls may pass a second call of its function on to the MPI library.
        let mut held = 0;
        for index in 0..count {
            let record = records.records[index];
            if record.place > stack && record.holds(stack) {
                records.records[held] = record;
                held += 1;
            }
        }
        count = held.min(OWN_DEPTH - 1);
    }
    records.records[count] = EnteredWrapper { key: entry.key, place: stack, return_address };
    records.top = (count + 1) * size_of::<EnteredWrapper>();
    entry.wrapper
}

/// The records of this thread.
fn own_records() -> *mut EnteredWrappers {
    let offset = thread_offsets::OWN_CALLS.load(Ordering::Relaxed);
    std::ptr::with_exposed_provenance_mut(thread_pointer().wrapping_add(offset))
}

impl EnteredWrappers {
    fn taken(&self) -> &[EnteredWrapper] {
        &self.records[..self.top / size_of::<EnteredWrapper>()]
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::arch::{PAGE, can_be_read};
    use crate::in_tests::{LINK, qmpi_test_jump};

    const NEXT: usize = 1;
    const MPI: usize = 2;

    extern "C" fn next() -> usize {
        NEXT
    }

    extern "C" fn mpi() -> usize {
        MPI
    }

    fn id(name: &str) -> FnId {
        FnId::by_name(name).unwrap()
    }

    /// A layer with links for two functions, and wrappers of them.
    #[derive(Clone, Copy)]
    struct Layer {
        own_calls: CallsOfLayer,
        send: usize,
        recv: usize,
    }

    impl Layer {
        fn new() -> Layer {
            let own_calls = CallsOfLayer::next();
            let (next, mpi) = (next as extern "C" fn() -> usize, mpi as extern "C" fn() -> usize);
            let link = |name| own_calls.link(id(name), next as usize, mpi as usize);
            Layer { own_calls, send: link("MPI_Send"), recv: link("MPI_Recv") }
        }

        /// Where its calls of MPI_Send and MPI_Recv go.
        fn goes_to(self) -> (usize, usize) {
            (call(self.send), call(self.recv))
        }

        /// Runs `body` inside of its wrapper of a function.
        fn inside(self, name: &str, body: &mut dyn FnMut()) {
            let wrapper = wrapper as unsafe extern "C-unwind" fn(&mut &mut dyn FnMut()) as usize;
            let entry = self.own_calls.entry(id(name), wrapper);
            // SAFETY: a stub that jumps to the wrapper.
            let entry = unsafe { std::mem::transmute::<usize, extern "C-unwind" fn(&mut &mut dyn FnMut())>(entry) };
            entry(&mut { body });
        }
    }

    unsafe extern "C-unwind" fn wrapper(body: &mut &mut dyn FnMut()) {
        body();
    }

    #[inline(never)]
    fn call(link: usize) -> usize {
        // SAFETY: a stub that jumps to one of the functions above.
        unsafe { std::mem::transmute::<usize, extern "C" fn() -> usize>(link)() }
    }

    fn depth() -> usize {
        // SAFETY: those of this thread.
        unsafe { &*own_records() }.taken().len()
    }

    #[test]
    fn a_wrapper_passes_its_own_function_on() {
        let layer = Layer::new();
        assert_eq!(layer.goes_to(), (MPI, MPI));
        layer.inside("MPI_Send", &mut || assert_eq!(layer.goes_to(), (NEXT, MPI)));
        layer.inside("MPI_Recv", &mut || assert_eq!(layer.goes_to(), (MPI, NEXT)));
        layer.inside("MPI_Send_c", &mut || assert_eq!(layer.goes_to(), (NEXT, MPI)));
        assert_eq!(layer.goes_to(), (MPI, MPI));
        std::thread::spawn(move || assert_eq!(layer.goes_to(), (MPI, MPI))).join().unwrap();
    }

    #[test]
    fn the_innermost_wrapper_of_the_layer_counts() {
        let (layer, other) = (Layer::new(), Layer::new());
        layer.inside("MPI_Send", &mut || {
            other.inside("MPI_Recv", &mut || {
                assert_eq!((layer.goes_to(), other.goes_to()), ((NEXT, MPI), (MPI, NEXT)));
                layer.inside("MPI_Recv", &mut || assert_eq!(layer.goes_to(), (MPI, NEXT)));
                assert_eq!((layer.goes_to(), other.goes_to()), ((NEXT, MPI), (MPI, NEXT)));
            });
            assert_eq!((layer.goes_to(), other.goes_to()), ((NEXT, MPI), (MPI, MPI)));
        });
    }

    #[test]
    fn functions_that_all_layers_need() {
        let own_calls = CallsOfLayer::next();
        assert_eq!(own_calls.link(id("MPI_Finalize"), 3, 4), 3);
        assert_eq!(own_calls.link(id("MPI_Send"), 0, 4), 0);
        assert_eq!(own_calls.link(id("MPI_Send"), 3, 3), 3);
    }

    /// Wrappers of functions of the C library: one function under several names, beside those of MPI.
    #[test]
    fn functions_that_are_not_of_mpi() {
        let layer = Layer::new();
        let (next, library) = (next as extern "C" fn() -> usize as usize, mpi as extern "C" fn() -> usize as usize);
        let link = |name| layer.own_calls.other_link(name, next, library);
        let (print, open, release) = (link("vfprintf"), link("open"), link("free"));
        assert_eq!((call(print), call(open), call(release)), (MPI, MPI, NEXT));
        layer.inside("MPI_Send", &mut || assert_eq!((call(print), layer.goes_to()), (MPI, (NEXT, MPI))));
        let wrapper = wrapper as unsafe extern "C-unwind" fn(&mut &mut dyn FnMut()) as usize;
        assert_eq!(layer.own_calls.other_entry("malloc", wrapper), wrapper);
        let entry = layer.own_calls.other_entry("__fprintf_chk", wrapper);
        // SAFETY: a stub that jumps to the wrapper.
        let entry = unsafe { std::mem::transmute::<usize, extern "C-unwind" fn(&mut &mut dyn FnMut())>(entry) };
        let body: &mut dyn FnMut() = &mut || {
            assert_eq!((call(print), call(open), layer.goes_to()), (NEXT, MPI, (MPI, MPI)));
        };
        entry(&mut { body });
    }

    /// Calls at ever deeper places of the stack, inside of a wrapper of MPI_Recv, leave records that are over.
    #[inline(never)]
    fn descend(layer: Layer, levels: usize, at_the_end: &mut dyn FnMut()) {
        layer.inside("MPI_Send", &mut || assert_eq!(layer.goes_to(), (NEXT, MPI)));
        assert_eq!(layer.goes_to(), (MPI, NEXT), "{levels} levels above the deepest");
        if levels > 0 {
            descend(layer, levels - 1, at_the_end);
        } else {
            at_the_end();
        }
        assert!(depth() <= OWN_DEPTH);
    }

    #[test]
    fn records_that_are_over_make_room() {
        let layer = Layer::new();
        layer.inside("MPI_Recv", &mut || {
            descend(layer, 5 * OWN_DEPTH, &mut || {
                layer.inside("MPI_Send", &mut || {
                    for _ in 0..2 {
                        layer.inside("MPI_Recv", &mut || assert_eq!(layer.goes_to(), (MPI, NEXT)));
                        assert_eq!(layer.goes_to(), (NEXT, MPI));
                    }
                });
            });
            assert_eq!(layer.goes_to(), (MPI, NEXT));
        });
        layer.inside("MPI_Recv", &mut || assert_eq!(depth(), 1));
    }

    /// More calls inside of calls than there is room for: the innermost is right all the same.
    #[test]
    fn more_than_there_is_room_for() {
        fn nest(layer: Layer, levels: usize) {
            let names = ["MPI_Send", "MPI_Recv"];
            layer.inside(names[levels % 2], &mut || {
                assert_eq!(layer.goes_to(), if levels.is_multiple_of(2) { (NEXT, MPI) } else { (MPI, NEXT) });
                if levels > 0 {
                    nest(layer, levels - 1);
                }
            });
        }
        nest(Layer::new(), 3 * OWN_DEPTH);
    }

    #[test]
    fn frames_larger_than_what_is_near() {
        #[inline(never)]
        fn in_large_frame(layer: Layer) -> (usize, usize) {
            let room = std::hint::black_box([1u8; 600_000]);
            let found = layer.goes_to();
            assert_eq!(std::hint::black_box(&room)[7], 1);
            found
        }
        let layer = Layer::new();
        layer.inside("MPI_Send", &mut || assert_eq!(in_large_frame(layer), (NEXT, MPI)));
        assert_eq!(in_large_frame(layer), (MPI, MPI));
    }

    #[test]
    fn a_wrapper_that_is_left_by_unwinding() {
        let layer = Layer::new();
        let result =
            std::panic::catch_unwind(|| layer.inside("MPI_Send", &mut || std::panic::resume_unwind(Box::new(7))));
        assert_eq!(*result.unwrap_err().downcast::<i32>().unwrap(), 7);
        assert_eq!(layer.goes_to(), (MPI, MPI));
    }

    /// Words on a stack that is gone are not read.
    #[test]
    fn a_record_on_memory_that_is_gone() {
        let layer = Layer::new();
        let page = PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory, which nothing can read.
        let gone = unsafe { libc::mmap(std::ptr::null_mut(), page, libc::PROT_NONE, flags, -1, 0) };
        let here = std::ptr::from_ref(&page).addr();
        assert!(!can_be_read(gone.addr(), here) && can_be_read(layer.send, here));
        let record = EnteredWrapper {
            key: LayerFunction::of(1, id("MPI_Send")),
            place: gone.addr(),
            return_address: usize::MAX / 3,
        };
        assert!(!record.holds(gone.addr() - 64 * page));
    }

    type Words = extern "C" fn(usize, usize, usize, usize, usize, usize, usize, usize, usize, f64, f64) -> usize;

    extern "C" fn sum(
        a0: usize,
        a1: usize,
        a2: usize,
        a3: usize,
        a4: usize,
        a5: usize,
        a6: usize,
        a7: usize,
        a8: usize,
        x: f64,
        y: f64,
    ) -> usize {
        let words = [a0, a1, a2, a3, a4, a5, a6, a7, a8];
        assert_eq!((words, x, y), ([1, 2, 3, 4, 5, 6, 7, 8, 9], 1.5, -2.5));
        words.iter().sum()
    }

    #[test]
    fn all_arguments_arrive() {
        let own_calls = CallsOfLayer::next();
        let sum = sum as Words as usize;
        let link = own_calls.link(id("MPI_Send"), sum, mpi as extern "C" fn() -> usize as usize);
        LINK.store(link, Ordering::Relaxed);
        let entry = own_calls.entry(id("MPI_Send"), qmpi_test_jump as unsafe extern "C" fn() as usize);
        // SAFETY: stubs that lead to `sum`.
        let entry = unsafe { std::mem::transmute::<usize, Words>(entry) };
        assert_eq!(entry(1, 2, 3, 4, 5, 6, 7, 8, 9, 1.5, -2.5), 45);
        // By way of the functions that are asked where to go: there is no room, and the innermost record is another layer's.
        let other = Layer::new();
        fn nest(layer: Layer, levels: usize, then: &mut dyn FnMut()) {
            match levels {
                0 => then(),
                _ => layer.inside("MPI_Send", &mut || nest(layer, levels - 1, then)),
            }
        }
        nest(other, OWN_DEPTH, &mut || assert_eq!(entry(1, 2, 3, 4, 5, 6, 7, 8, 9, 1.5, -2.5), 45));
        let outside = own_calls.link(id("MPI_Send"), mpi as extern "C" fn() -> usize as usize, sum);
        // SAFETY: a stub that leads to `sum`.
        let outside = unsafe { std::mem::transmute::<usize, Words>(outside) };
        other.inside("MPI_Send", &mut || assert_eq!(outside(1, 2, 3, 4, 5, 6, 7, 8, 9, 1.5, -2.5), 45));
    }
}

//! A layer that can be switched off and on again while the program runs: calls go into it, or past it to the next.
//!
//! Each link to such a layer is a stub that reads the layer's state, one word, and goes on with a jump. So a call is in the layer as a
//! whole or not at all, whichever thread changes the state meanwhile, and whoever holds the link (a GOT slot, a tool that keeps what
//! `QMPI_Get_function` gave it) need not be told. The word may be in memory that another process writes to (`qmpi ctl`).
//!
//! | function | goes past a layer that is off |
//! |---|---|
//! | makes, ends, names an object; MPI_Init, MPI_Finalize, MPI_Pcontrol, ... ([`Handles::is_needed`]) | never |
//! | starts a request | always; the request is known as one that the layer has not seen |
//! | takes requests | if the layer has seen none of them started; also where the layer is on |
//! | all others | always |
//!
//! A layer that is on may have a filter ([`crate::filter`]), which sends some calls past it as if it were off.
//!
//! The stub of most functions is one of a block (`blocks.rs`) and jumps itself: a load, a comparison, a branch, a jump. All stubs leave
//! the arguments, the stack and its return address as they are, and end in a jump.
#![expect(unsafe_code, reason = "the rows that machine code jumps through")]

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use qmpi_abi::{FnId, Handles};

use crate::arch::{ARGUMENT_REGISTERS, PAGE, SWITCH_SIZE, WholePages, machine_code};
use crate::blocks::Blocks;
use crate::filter::{CallFilter, Switched};
pub use crate::handles::Caller;
use crate::requests::{self, Arguments, KnownRequests, Watch};
use crate::{thread_offsets, trampoline};

/// The switch of a layer.
#[derive(Debug, Clone, Copy)]
pub struct Switch {
    bit: usize,
    /// 0: on.
    state: &'static AtomicU32,
    /// Which calls go into the layer while it is on; `None`: all.
    filter: Option<&'static CallFilter>,
}

/// A call that starts a request, on its way into the layer or past it.
#[repr(C)]
struct Passing {
    /// On the way past the layer its bit, which is set in the thread's word; on the way into it all other bits, which stay as they are.
    bits: u64,
    target: AtomicUsize,
}

/// A function that takes requests.
#[repr(C)]
struct Taking {
    on: AtomicUsize,
    off: usize,
    bit: usize,
    arguments: Arguments,
}

/// How many stubs a block has.
const SWITCHES: usize = 2048;

/// What a stub of a block reads.
#[repr(C)]
struct SwitchRow {
    /// The address of the layer's state: 0 as long as it is on.
    state: AtomicUsize,
    /// Into the layer.
    on: AtomicUsize,
    /// Past it.
    off: AtomicUsize,
    unused: usize,
}

type SwitchRows = [SwitchRow; SWITCHES];

static ROWS: WholePages<SwitchRows> = WholePages(
    [const { SwitchRow { state: AtomicUsize::new(0), on: AtomicUsize::new(0), off: AtomicUsize::new(0), unused: 0 } };
        SWITCHES],
);

const _: () = assert!((SWITCHES * SWITCH_SIZE).is_multiple_of(PAGE));

machine_code!(["switch"], {
    page = const PAGE,
    count = const SWITCHES,
    size = const SWITCH_SIZE,
    row = const size_of::<SwitchRow>(),
    rows = sym ROWS,
    past = sym thread_offsets::PAST,
    bits = const offset_of!(Passing, bits),
    target = const offset_of!(Passing, target),
    requests = sym requests::COUNT,
    on = const offset_of!(Taking, on),
    decide_on = sym decide_on,
    decide_off = sym decide_off,
});

unsafe extern "C" {
    static qmpi_switches: u8;
    static qmpi_switches_end: u8;
    /// Into a layer that is on: the payload is a [`Passing`].
    fn qmpi_switch_into();
    /// Past a layer that is off: the payload is a [`Passing`].
    fn qmpi_switch_past();
    /// Of a layer that is on: the payload is a [`Taking`].
    fn qmpi_switch_taking_on();
    /// Of a layer that is off: the payload is a [`Taking`].
    fn qmpi_switch_taking_off();
}

impl Switch {
    /// The switch of the layer number `bit`, less than [`requests::MAX_SWITCHES`], with this state and filter.
    pub fn new(bit: usize, state: &'static AtomicU32, filter: Option<&'static CallFilter>) -> Switch {
        requests::set_state(bit, state);
        Switch { bit, state, filter }
    }

    /// Tells the stub in front of the MPI library's function that the layer has a wrapper of it.
    pub fn announce(self, id: FnId, watch: &Watch) {
        watch.intercepted_by(self.bit, !Handles::of(id).is_needed());
    }

    /// A link that leads to `on`, a function of the layer, or past it to `off`. `None`: the layer is to see all calls of the function.
    pub fn link(self, id: FnId, on: usize, off: usize, caller: Caller) -> Option<Switched> {
        let handles = Handles::of(id);
        if handles.is_needed() {
            return None;
        }
        if handles.starts() {
            let bit = 1u64 << self.bit;
            let passing = |bits, target| &*Box::leak(Box::new(Passing { bits, target: AtomicUsize::new(target) }));
            let into = passing(!bit, on);
            let on = trampoline::allocate(qmpi_switch_into, into);
            let off = trampoline::allocate(qmpi_switch_past, passing(bit, off));
            let on = self.filter.map_or(on, |filter| filter.before(id, on, off, caller).address);
            return Some(Switched { function: &into.target, ..self.other(on, off) });
        }
        if handles.takes_requests() {
            let arguments = Arguments { handles, caller };
            let taking: &'static Taking =
                Box::leak(Box::new(Taking { on: AtomicUsize::new(on), off, bit: self.bit, arguments }));
            let on = trampoline::allocate(qmpi_switch_taking_on, taking);
            let off = trampoline::allocate(qmpi_switch_taking_off, taking);
            return Some(Switched { function: &taking.on, ..self.other(on, off) });
        }
        let Some(filter) = self.filter else { return Some(self.other(on, off)) };
        let Switched { address, function } = filter.before(id, on, off, caller);
        Some(Switched { function, ..self.other(address, off) })
    }

    /// The same for a function that has nothing to do with requests, or is not MPI's: goes to `on` as long as the state is 0, else to `off`.
    pub fn other(self, on: usize, off: usize) -> Switched {
        static BLOCKS: Blocks<SwitchRows> =
            // SAFETY: the text above is whole pages that only jump, by these rows; rows are atomic words, for which zeros are values.
            unsafe { Blocks::new(&raw const qmpi_switches, &raw const qmpi_switches_end, &ROWS) };
        let (block, index) = BLOCKS.take(SWITCHES);
        let row = &block.rows[index];
        row.on.store(on, Ordering::Relaxed);
        row.off.store(off, Ordering::Relaxed);
        // Nothing jumps through it before its address is given away.
        row.state.store(std::ptr::from_ref(self.state).expose_provenance(), Ordering::Release);
        Switched { address: block.code + index * SWITCH_SIZE, function: &row.on }
    }
}

extern "C" fn decide_on(link: &Taking, arguments: &[usize; ARGUMENT_REGISTERS]) -> usize {
    decide(link, arguments, true)
}

extern "C" fn decide_off(link: &Taking, arguments: &[usize; ARGUMENT_REGISTERS]) -> usize {
    decide(link, arguments, false)
}

/// Where a call goes that takes requests.
fn decide(link: &Taking, arguments: &[usize; ARGUMENT_REGISTERS], is_on: bool) -> usize {
    let goes_in = match link.arguments.known(link.bit, arguments) {
        KnownRequests::None => is_on,
        KnownRequests::NotSeen => false,
        KnownRequests::Seen => true,
    };
    if goes_in { link.on.load(Ordering::Relaxed) } else { link.off }
}

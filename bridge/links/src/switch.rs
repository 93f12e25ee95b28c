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

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use qmpi_abi::{FnId, Handles};

use crate::arch;
use crate::error::StubError;
use crate::filter::CallFilter;
use crate::requests::{self, Arguments, KnownRequests, Watch};
use crate::trampoline;

/// The switch of a layer.
#[derive(Debug, Clone, Copy)]
pub struct Switch {
    bit: usize,
    /// 0: on.
    state: &'static AtomicU32,
    /// Which calls go into the layer while it is on; `None`: all.
    filter: Option<&'static CallFilter>,
}

/// How a link is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// With MPI's arguments.
    C,
    /// With context and tool id before them.
    Qmpi,
    /// From Fortran.
    Fortran,
}

/// A call that starts a request, on its way into the layer or past it.
#[repr(C)]
pub(crate) struct Passing {
    /// To be set, or all others.
    pub(crate) bits: u64,
    pub(crate) target: AtomicUsize,
}

/// A function that takes requests.
#[repr(C)]
pub(crate) struct Taking {
    pub(crate) on: AtomicUsize,
    off: usize,
    bit: usize,
    arguments: Arguments,
}

/// A link that can be led past a layer.
#[derive(Debug, Clone, Copy)]
pub struct Switched {
    /// The link.
    pub address: usize,
    /// Where it leads while the layer is on: the layer's function, which can be exchanged.
    pub function: &'static AtomicUsize,
}

impl Switch {
    /// The switch of the layer number `bit`, less than [`requests::MAX_SWITCHES`], with this state and filter.
    #[must_use]
    pub fn new(bit: usize, state: &'static AtomicU32, filter: Option<&'static CallFilter>) -> Switch {
        requests::set_state(bit, state);
        Switch { bit, state, filter }
    }

    /// Tells the stub in front of the MPI library's function that the layer has a wrapper of it.
    pub fn announce(self, id: FnId, watch: &Watch) {
        watch.intercepted_by(self.bit, !Handles::of(id).is_needed());
    }

    /// A link that leads to `on`, a function of the layer, or past it to `off`. `None`: the layer is to see all calls of the function.
    ///
    /// # Errors
    /// When no further stubs can be mapped.
    pub fn link(self, id: FnId, on: usize, off: usize, caller: Caller) -> Result<Option<Switched>, StubError> {
        let handles = Handles::of(id);
        if handles.is_needed() {
            return Ok(None);
        }
        if handles.starts() {
            let bit = 1u64 << self.bit;
            let passing = |bits, target| &*Box::leak(Box::new(Passing { bits, target: AtomicUsize::new(target) }));
            let into = passing(!bit, on);
            let on = trampoline::allocate(arch::switch_into, into)?;
            let off = trampoline::allocate(arch::switch_past, passing(bit, off))?;
            let on = match self.filter {
                Some(filter) => filter.before(id, on, off, caller)?.0,
                None => on,
            };
            let (address, _) = self.stub(on, off)?;
            return Ok(Some(Switched { address, function: &into.target }));
        }
        if handles.takes_requests() {
            let shift = if caller == Caller::Qmpi { 2 } else { 0 };
            let arguments = Arguments { handles, shift, is_fortran: caller == Caller::Fortran };
            let taking: &'static Taking =
                Box::leak(Box::new(Taking { on: AtomicUsize::new(on), off, bit: self.bit, arguments }));
            let on = trampoline::allocate(arch::switch_taking_on, taking)?;
            let off = trampoline::allocate(arch::switch_taking_off, taking)?;
            let (address, _) = self.stub(on, off)?;
            return Ok(Some(Switched { address, function: &taking.on }));
        }
        let Some(filter) = self.filter else { return self.other(on, off).map(Some) };
        let (on, function) = filter.before(id, on, off, caller)?;
        let (address, _) = self.stub(on, off)?;
        Ok(Some(Switched { address, function }))
    }

    /// The same for a function that has nothing to do with requests, or is not MPI's.
    ///
    /// # Errors
    /// As above.
    pub fn other(self, on: usize, off: usize) -> Result<Switched, StubError> {
        let (address, function) = self.stub(on, off)?;
        Ok(Switched { address, function })
    }

    fn stub(self, on: usize, off: usize) -> Result<(usize, &'static AtomicUsize), StubError> {
        let state = std::ptr::from_ref(self.state).expose_provenance();
        let (address, row) = arch::switch(state, on, off).map_err(StubError)?;
        Ok((address, &row.on))
    }
}

/// Where a call goes that takes requests.
pub(crate) fn decide(link: &Taking, arguments: &[usize; arch::ARGUMENT_REGISTERS], is_on: bool) -> usize {
    let goes_in = match link.arguments.known(link.bit, arguments) {
        KnownRequests::None => is_on,
        KnownRequests::NotSeen => false,
        KnownRequests::Seen => true,
    };
    if goes_in { link.on.load(Ordering::Relaxed) } else { link.off }
}

//! How many bytes the calls through a probe send and receive, where their arguments tell: counts, datatypes, communicators.
//!
//! What a function sends is what it reads from buffers of the program, what it receives is the room that it is given in them. Arguments are
//! looked at when the call has succeeded: then MPI has read the same, and questions about them are allowed. A buffer of which nothing in the call
//! tells the size, or whose arguments have no meaning on this rank, has no bytes.
//!
//! | file | what |
//! |---|---|
//! | `rules.rs` | which buffers a function has, and what their sizes are the products of |
//! | `sizes.rs` | sizes of datatypes, and those that a thread remembers |
//! | `statuses.rs` | what a status says |
#![expect(unsafe_code, reason = "arguments of the program, and memory that machine code writes to")]

pub(crate) mod rules;
pub(crate) mod sizes;
pub(crate) mod statuses;

use std::ptr;
use std::sync::OnceLock;

use qmpi_abi::FnId;
use qmpi_abi::parameters::Factor;
use qmpi_elf::MpiFamily;
use rules::{Amount, Buffer, Moves};
use sizes::{Predefined, Sizes};
use statuses::Statuses;

use crate::arch;
use crate::probe::{Probe, Recorder};
use crate::questions::Questions;

/// `MPI_IN_PLACE` of MPICH; 1 in the others.
const IN_PLACE: [u64; 2] = [u64::MAX, 1];

/// What holds for all calls.
#[derive(Debug)]
pub(crate) struct Settings {
    family: MpiFamily,
    pub(crate) questions: Questions,
    pub(crate) sizes: Sizes,
    pub(crate) statuses: Statuses,
    /// `MPI_NO_OP`: the origin's buffer has no meaning.
    no_op: u64,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Makes probes count bytes. `real` finds functions of the MPI library, and `objects` are the addresses of Open MPI's variables by their names.
pub fn prepare(family: MpiFamily, real: impl Fn(FnId) -> Option<usize>, objects: &[(String, usize)]) {
    let questions = Questions::new(family, &real);
    let real = |name: &str| FnId::by_name(name).and_then(&real).unwrap_or(0);
    let address =
        |name: &str| objects.iter().find(|(known, _)| known == name).map_or(0, |(_, address)| *address as u64);
    // abi/constants.tsv, as all constants here and below.
    let no_op = match family {
        MpiFamily::Mpich => 1_476_395_022,
        MpiFamily::OpenMpi => address("ompi_mpi_op_no_op"),
        MpiFamily::StandardAbi => 61,
    };
    let predefined = match family {
        // The kind of a handle is in its two highest bits (mpich: src/include/mpir_objects.h).
        MpiFamily::Mpich => Predefined::Range(0x4000_0000..0x8000_0000),
        // MPI 5.0, 20.3.1: constants are below the first page, and 0 is none.
        MpiFamily::StandardAbi => Predefined::Range(1..4096),
        MpiFamily::OpenMpi => {
            let mut addresses: Vec<u64> = objects.iter().map(|(_, address)| *address as u64).collect();
            addresses.sort_unstable();
            Predefined::Addresses(addresses.into_boxed_slice())
        }
    };
    let null = match family {
        MpiFamily::Mpich => 0x0c00_0000,
        MpiFamily::OpenMpi => address("ompi_mpi_datatype_null"),
        MpiFamily::StandardAbi => 512,
    };
    let byte = match family {
        MpiFamily::Mpich => 1_275_068_685,
        MpiFamily::OpenMpi => address("ompi_mpi_byte"),
        MpiFamily::StandardAbi => 583,
    };
    let sizes = Sizes::new(predefined, null, real("MPI_Type_size_x"), real("MPI_Type_size"));
    let statuses = Statuses::new(byte, real);
    // It is prepared once.
    let _ = SETTINGS.set(Settings { family, questions, sizes, statuses, no_op });
}

/// What was prepared; `None`: no bytes are counted.
pub(crate) fn settings() -> Option<&'static Settings> {
    SETTINGS.get()
}

/// How the bytes of a function's calls are counted.
#[derive(Debug)]
pub(crate) struct Bytes {
    /// Words before the arguments.
    leading: u8,
    pub(crate) buffers: &'static [Buffer],
    root: Option<u8>,
    communicator: Option<u8>,
    /// An operation that may be `MPI_NO_OP`.
    no_op: Option<u8>,
    /// Arrays follow the local group, in reductions, also between two groups.
    is_local: bool,
    /// Whether MPI is asked how long arrays are, and they are added up: that takes time, which is nobody's.
    asks: bool,
    /// Where all of it is in registers.
    plain: Option<Plain>,
}

/// One buffer with a count and a datatype: the words that they are in.
#[derive(Debug)]
struct Plain {
    count: usize,
    datatype: usize,
    is_int: bool,
    is_received: bool,
}

/// A number of elements; none if it is negative.
#[inline]
fn number(word: u64, is_int: bool) -> u64 {
    let number = if is_int { i64::from(word as i32) } else { word.cast_signed() };
    number.max(0).cast_unsigned()
}

/// The arguments of a call, which the probe has kept.
pub(crate) struct Arguments<'a> {
    pub(crate) leading: u8,
    pub(crate) registers: &'a [u64; arch::ARGUMENT_REGISTERS],
    /// Where the caller put those that are on the stack.
    pub(crate) stack: *const u64,
}

impl Arguments<'_> {
    #[inline]
    pub(crate) fn word(&self, place: u8) -> u64 {
        let word = usize::from(self.leading) + usize::from(place);
        if let Some(register) = self.registers.get(word) {
            return *register;
        }
        // SAFETY: the caller has put so many words there.
        let place = unsafe { self.stack.add(word - self.registers.len()) };
        // SAFETY: as above.
        unsafe { place.read() }
    }

    /// A number of elements; none if it is negative.
    #[inline]
    pub(crate) fn number(&self, place: u8, is_int: bool) -> u64 {
        number(self.word(place), is_int)
    }

    /// An array of handles.
    pub(crate) fn handles(&self, place: u8, settings: &Settings) -> Array {
        Array { address: self.word(place), size: settings.handle_size() }
    }

    /// An array of numbers.
    pub(crate) fn array(&self, place: u8, is_int: bool) -> Array {
        Array { address: self.word(place), size: if is_int { 4 } else { 8 } }
    }
}

/// What a rank is in a collective operation with a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The root of its group, or there is none: all arguments have a meaning.
    Root,
    /// The root of an operation between two groups: it alone is in its group.
    RootBetween,
    /// One of the others.
    Other,
    /// In the root's group, and not the root.
    Nothing,
}

/// Adds up the bytes of a call that has succeeded.
///
/// Called by the probes of `arch` on each call. No heap, no lock, no `std` that may panic.
pub(crate) extern "C" fn count(
    probe: &Probe,
    registers: &[u64; arch::ARGUMENT_REGISTERS],
    stack: *const u64,
    recorder: &Recorder,
    caller: usize,
) {
    let Some(bytes) = probe.bytes else { return };
    // Most calls: one buffer, and a datatype that the thread remembers.
    if let Some(plain) = &bytes.plain
        && let (Some(count), Some(datatype)) = (registers.get(plain.count), registers.get(plain.datatype))
        && let Some(size) = recorder.sizes.known(*datatype)
    {
        let count = number(*count, plain.is_int);
        let counts = probe.bytes_of(recorder, caller).cast::<u64>();
        // SAFETY: two words of the thread's record.
        let sum = unsafe { counts.add(usize::from(plain.is_received)) };
        // SAFETY: as above.
        let so_far = unsafe { sum.read() };
        // SAFETY: as above.
        unsafe { sum.write(so_far.wrapping_add(count.wrapping_mul(size))) };
        return;
    }
    count_all(probe, registers, stack, recorder, caller);
}

#[inline(never)]
extern "C" fn count_all(
    probe: &Probe,
    registers: &[u64; arch::ARGUMENT_REGISTERS],
    stack: *const u64,
    recorder: &Recorder,
    caller: usize,
) {
    let (Some(bytes), Some(settings)) = (probe.bytes, settings()) else { return };
    let counts = probe.bytes_of(recorder, caller);
    let arguments = Arguments { leading: bytes.leading, registers, stack };
    if bytes.asks {
        let began = arch::ticks();
        bytes.add(&arguments, recorder, settings, counts);
        recorder.leave_out(arch::ticks().wrapping_sub(began));
    } else {
        bytes.add(&arguments, recorder, settings, counts);
    }
}

impl Bytes {
    /// Of a function that is called with so many words before its arguments; `None`: its arguments do not tell.
    pub(crate) fn of(function: FnId, leading: u8) -> Option<&'static Bytes> {
        Self::with(function, leading, rules::buffers(function))
    }

    /// The same of what is sent and received each time that a persistent request is started.
    pub(crate) fn of_persistent(function: FnId, leading: u8) -> Option<&'static Bytes> {
        Self::with(function, leading, rules::persistent_buffers(function))
    }

    fn with(function: FnId, leading: u8, buffers: Vec<Buffer>) -> Option<&'static Bytes> {
        settings()?;
        if buffers.is_empty() {
            return None;
        }
        let place = |found: fn(&qmpi_abi::parameters::Parameter) -> bool| {
            function.parameters().iter().position(found).map(|place| place as u8)
        };
        use qmpi_abi::parameters::Kind;
        let root = place(|parameter| parameter.kind == Kind::Rank && parameter.name() == "root");
        let op = place(|parameter| parameter.kind == Kind::Op);
        let window = place(|parameter| parameter.kind == Kind::Window);
        let asks = buffers.iter().any(|buffer| buffer.amount.asks());
        let plain = match buffers[..] {
            [Buffer { amount: Amount::Plain { count, is_int, datatype }, moves, is_origin: false, .. }]
                if root.is_none() =>
            {
                let word = |place: u8| usize::from(leading) + usize::from(place);
                let is_received = moves == Moves::In;
                let plain = Plain { count: word(count), datatype: word(datatype), is_int, is_received };
                (moves != Moves::Both).then_some(plain)
            }
            _ => None,
        };
        let bytes = Bytes {
            plain,
            leading,
            buffers: Box::leak(buffers.into_boxed_slice()),
            root,
            communicator: place(|parameter| parameter.kind == Kind::Communicator),
            no_op: op.filter(|_| window.is_some()),
            is_local: op.is_some(),
            asks,
        };
        Some(Box::leak(Box::new(bytes)))
    }

    #[inline]
    fn add(&self, arguments: &Arguments<'_>, recorder: &Recorder, settings: &Settings, counts: *mut [u64; 2]) {
        self.each(arguments, recorder, settings, |buffer, is_root, amount| {
            let [sent, received] = match buffer.moves {
                Moves::Out => [amount, 0],
                Moves::In => [0, amount],
                Moves::Both => [amount, amount],
                Moves::FromRoot if is_root => [amount, 0],
                Moves::FromRoot => [0, amount],
            };
            // SAFETY: two words of the thread's record.
            let counts = unsafe { &mut *counts };
            counts[0] = counts[0].wrapping_add(sent);
            counts[1] = counts[1].wrapping_add(received);
        });
    }

    /// The buffers that have a meaning in a call that has succeeded, whether the rank is the root, and how many bytes each has.
    #[inline]
    pub(crate) fn each(
        &self,
        arguments: &Arguments<'_>,
        recorder: &Recorder,
        settings: &Settings,
        mut tell: impl FnMut(&Buffer, bool, u64),
    ) {
        let role = self.role(arguments, settings);
        for buffer in self.buffers {
            let is_due = match role {
                Role::Root => true,
                Role::RootBetween => buffer.at_root || buffer.moves == Moves::FromRoot,
                Role::Other => !buffer.at_root,
                Role::Nothing => false,
            };
            let is_in_place = || buffer.may_be_in_place && IN_PLACE.contains(&arguments.word(buffer.place));
            if !is_due || is_in_place() || buffer.is_origin && self.has_no_operation(arguments, settings) {
                continue;
            }
            let amount = match &buffer.amount {
                Amount::Plain { count, is_int, datatype } => match arguments.number(*count, *is_int) {
                    0 => 0,
                    count => count.wrapping_mul(settings.sizes.of(arguments.word(*datatype), recorder)),
                },
                Amount::Product(factors) => self.product(factors, arguments, recorder, settings),
            };
            tell(buffer, matches!(role, Role::Root | Role::RootBetween), amount);
        }
    }

    fn role(&self, arguments: &Arguments<'_>, settings: &Settings) -> Role {
        let (Some(root), Some(communicator)) = (self.root, self.communicator) else { return Role::Root };
        let (root, communicator) = (arguments.word(root) as i32, arguments.word(communicator));
        let questions = &settings.questions;
        if questions.is_between_groups(communicator) {
            return match root {
                root if root == questions.root => Role::RootBetween,
                root if root == questions.proc_null => Role::Nothing,
                _ => Role::Other,
            };
        }
        if questions.rank(communicator) == Some(root) { Role::Root } else { Role::Other }
    }

    fn has_no_operation(&self, arguments: &Arguments<'_>, settings: &Settings) -> bool {
        self.no_op.is_some_and(|op| settings.handle(arguments.word(op)) == settings.no_op)
    }

    /// A product with arrays or the size of a communicator. All of it is right, or it is 0.
    fn product(
        &self,
        product: &rules::Product,
        arguments: &Arguments<'_>,
        recorder: &Recorder,
        settings: &Settings,
    ) -> u64 {
        let elements = |length: &[Factor]| self.elements(length, arguments, settings);
        let count = match product.counts {
            rules::Counts::Number => 1,
            rules::Counts::Argument { place, is_int } => arguments.number(place, is_int),
            rules::Counts::Array { place, is_int, length } => {
                let count = elements(length);
                let array = arguments.array(place, is_int);
                if let Some(types) = product.datatypes {
                    let types = arguments.handles(types, settings);
                    let bytes = |element| match array.number(element) {
                        0 => 0,
                        count => count.wrapping_mul(settings.sizes.of(types.word(element), recorder)),
                    };
                    return (0..count).map(bytes).fold(0, u64::wrapping_add);
                }
                (0..count).map(|element| array.number(element)).fold(0, u64::wrapping_add)
            }
        };
        let count = count.wrapping_mul(elements(product.times));
        match count {
            0 => 0,
            count => count.wrapping_mul(settings.sizes.of(arguments.word(product.datatype), recorder)),
        }
    }

    /// How many ranks or neighbors these are: the product.
    pub(crate) fn elements(&self, length: &[Factor], arguments: &Arguments<'_>, settings: &Settings) -> u64 {
        let number = |factor: &Factor| match *factor {
            Factor::Ranks(place) => settings.questions.ranks(arguments.word(place), self.is_local),
            Factor::Sources(place) => settings.questions.neighbors(arguments.word(place)).0,
            Factor::Destinations(place) => settings.questions.neighbors(arguments.word(place)).1,
            _ => 0,
        };
        length.iter().map(number).fold(1, u64::wrapping_mul)
    }
}

impl Settings {
    pub(crate) fn handle_size(&self) -> usize {
        if self.family == MpiFamily::Mpich { 4 } else { 8 }
    }

    /// A handle from a word whose upper half may be anything.
    pub(crate) fn handle(&self, word: u64) -> u64 {
        if self.family == MpiFamily::Mpich { word & 0xffff_ffff } else { word }
    }
}

/// An array that is an argument.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Array {
    address: u64,
    /// Bytes of an element, 4 or 8.
    size: usize,
}

impl Array {
    pub(crate) fn word(&self, element: u64) -> u64 {
        let address = self.address as usize + element as usize * self.size;
        if self.size == 4 {
            // SAFETY: MPI has read the array, which has so many elements.
            u64::from(unsafe { ptr::with_exposed_provenance::<u32>(address).read_unaligned() })
        } else {
            // SAFETY: as above.
            unsafe { ptr::with_exposed_provenance::<u64>(address).read_unaligned() }
        }
    }

    pub(crate) fn signed(&self, element: u64) -> i64 {
        let word = self.word(element);
        if self.size == 4 { i64::from(word as i32) } else { word.cast_signed() }
    }

    /// A number of elements; none if it is negative.
    pub(crate) fn number(&self, element: u64) -> u64 {
        self.signed(element).max(0).cast_unsigned()
    }
}

#[cfg(test)]
mod tests;

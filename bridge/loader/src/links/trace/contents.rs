//! What is in the buffers of a call, as a hash: for comparisons, and only where it was asked for.
//!
//! Buffers are looked at when the call has succeeded. Then MPI has found the arguments right, what it sends is still there as it was sent, and
//! what it receives has come. Left out is what is not there yet (nonblocking functions, windows), what a datatype leaves gaps in, and memory that
//! cannot be read. The kernel reads it for us, so that an address of another device's memory is an error and not a signal.
#![expect(unsafe_code, reason = "asks the kernel and MPI about memory of the program")]

use std::hash::{DefaultHasher, Hasher};

use qmpi_abi::FnId;
use qmpi_abi::parameters::{Direction, Kind, Parameter};

use crate::links::bytes::rules::{Amount, Buffer, Counts, Moves};
use crate::links::bytes::{Arguments, Bytes, Settings};
use crate::links::probe::Recorder;

/// Bytes that are read at a time: they are on the stack of the program's thread.
const BLOCK: usize = 4096;
/// Addresses below are constants that stand for something.
const LOWEST: u64 = 4096;

/// How the buffers of a function are read.
#[derive(Debug)]
pub(crate) struct Contents {
    bytes: &'static Bytes,
    /// Whether what is received is there when the function returns.
    receives: bool,
    /// A status that tells how much has been received.
    status: Option<u8>,
    /// Where data comes from and goes to, which may be `MPI_PROC_NULL`.
    source: Option<u8>,
    destination: Option<u8>,
    /// The functions of MPI that tell where the elements of a datatype lie.
    extents: [usize; 2],
}

/// A buffer's bytes and their hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Content {
    /// Which argument.
    pub(crate) place: u8,
    pub(crate) bytes: u64,
    pub(crate) hash: u64,
}

/// Where the elements of a datatype lie that has no gaps.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Bytes from the address of an element to its first byte.
    first: i64,
    /// From an element to the next one.
    extent: i64,
}

type Ask = extern "C" fn(u64, &mut i64, &mut i64) -> i32;

impl Contents {
    /// Of a function that is called with so many words before its arguments; `None`: nothing is known of its buffers.
    pub(crate) fn of(function: FnId, leading: u8, extents: [usize; 2]) -> Option<Contents> {
        let bytes = Bytes::of(function, leading)?;
        let parameters = function.parameters();
        let place = |found: &dyn Fn(&Parameter) -> bool| parameters.iter().position(found).map(|place| place as u8);
        let is_later = |parameter: &Parameter| {
            parameter.kind == Kind::Window || parameter.kind == Kind::Request && parameter.direction == Direction::Out
        };
        let begins = ["_begin", "_begin_c"].iter().any(|end| function.name().ends_with(end));
        let rank =
            |name: &'static str| place(&move |parameter| parameter.kind == Kind::Rank && parameter.name() == name);
        Some(Contents {
            bytes,
            receives: !begins && place(&is_later).is_none(),
            status: place(&|parameter| parameter.kind == Kind::Status && parameter.direction == Direction::Out),
            source: rank("source"),
            destination: rank("dest").or(rank("target_rank")),
            extents,
        })
    }

    /// How many there are at most.
    pub(crate) fn most(&self) -> usize {
        self.bytes.buffers.len()
    }

    /// Tells what is in each buffer of a call that has succeeded.
    pub(crate) fn each(&self, arguments: &Arguments<'_>, recorder: &Recorder, mut tell: impl FnMut(Content)) {
        let Some(settings) = crate::links::bytes::settings() else { return };
        let is_null =
            |rank: Option<u8>| rank.is_some_and(|rank| arguments.word(rank) as i32 == settings.questions.proc_null);
        self.bytes.each(arguments, recorder, settings, |buffer, is_root, amount| {
            let is_sent = buffer.moves == Moves::Out || buffer.moves == Moves::FromRoot && is_root;
            let is_nowhere = is_null(if is_sent { self.destination } else { self.source });
            if !is_sent && !self.receives || is_nowhere {
                return;
            }
            let mut hasher = DefaultHasher::new();
            if let Some(bytes) = self.read(buffer, is_sent, amount, arguments, recorder, settings, &mut hasher) {
                tell(Content { place: buffer.place, bytes, hash: hasher.finish() });
            }
        });
    }

    /// Reads all of a buffer, and returns how many bytes that are.
    #[expect(clippy::too_many_arguments, reason = "what a call has told so far")]
    fn read(
        &self,
        buffer: &Buffer,
        is_sent: bool,
        amount: u64,
        arguments: &Arguments<'_>,
        recorder: &Recorder,
        settings: &Settings,
        hasher: &mut DefaultHasher,
    ) -> Option<u64> {
        let start = arguments.word(buffer.place);
        if amount == 0 || start < LOWEST || start == u64::MAX {
            return None;
        }
        let datatype = match &buffer.amount {
            Amount::Plain { datatype, .. } => arguments.word(*datatype),
            Amount::Product(product) if product.datatypes.is_none() => arguments.word(product.datatype),
            Amount::Product(_) => return None,
        };
        let size = settings.sizes.of(datatype, recorder);
        let layout = self.layout(datatype, size, amount)?;
        let displacements = match &buffer.amount {
            Amount::Product(product) => match (product.counts, product.displacements) {
                (Counts::Array { place, is_int, length }, Some(displacements)) => {
                    Some((place, is_int, length, displacements))
                }
                _ => None,
            },
            Amount::Plain { .. } => None,
        };
        let start = start.wrapping_add_signed(layout.first);
        let Some((counts, is_int, length, displacements)) = displacements else {
            // What was not received is what was there before, or nothing at all.
            let status = self.status.map(|place| arguments.word(place)).filter(|status| *status >= LOWEST);
            let received = status.filter(|status| !is_sent && *status != u64::MAX);
            let received = received.and_then(|status| settings.statuses.bytes(status)).unwrap_or(amount);
            return Some(amount.min(received)).filter(|bytes| *bytes > 0).and_then(|bytes| read(start, bytes, hasher));
        };
        let mut sum = 0_u64;
        for element in 0..self.bytes.elements(length, arguments, settings) {
            let count = arguments.array(counts, is_int).number(element);
            let displacement = arguments.array(displacements, is_int).signed(element);
            let place = start.wrapping_add_signed(displacement.wrapping_mul(layout.extent));
            sum = sum.wrapping_add(read(place, count.wrapping_mul(size), hasher)?);
        }
        Some(sum)
    }

    /// `None` if there are gaps in so many bytes of this datatype.
    fn layout(&self, datatype: u64, size: u64, amount: u64) -> Option<Layout> {
        let ask = |function: usize| {
            let (mut first, mut extent) = (0, 0);
            if function == 0 {
                return None;
            }
            // SAFETY: this function of MPI; MPI_Aint has 64 bits.
            let ask = unsafe { std::mem::transmute::<usize, Ask>(function) };
            (ask(datatype, &mut first, &mut extent) == 0).then_some((first, extent))
        };
        let [(_, extent), (first, length)] = [ask(self.extents[0])?, ask(self.extents[1])?];
        let is_whole = length.cast_unsigned() == size && (amount == size || extent == length);
        is_whole.then_some(Layout { first, extent })
    }
}

/// Hashes so many bytes at an address; `None` if they cannot be read.
fn read(start: u64, bytes: u64, hasher: &mut DefaultHasher) -> Option<u64> {
    // SAFETY: the thread's variable.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    // SAFETY: a system call without arguments.
    let process = unsafe { libc::getpid() };
    let mut block = [0_u8; BLOCK];
    let mut place = 0;
    while place < bytes {
        let size = (bytes - place).min(BLOCK as u64) as usize;
        let target = libc::iovec { iov_base: block.as_mut_ptr().cast(), iov_len: size };
        let source = libc::iovec {
            iov_base: std::ptr::without_provenance_mut((start.wrapping_add(place)) as usize),
            iov_len: size,
        };
        // SAFETY: writes to the block; an address that cannot be read is an error of the call's.
        let done = unsafe { libc::process_vm_readv(process, &raw const target, 1, &raw const source, 1, 0) };
        if done != size as isize {
            break;
        }
        hasher.write(&block[..size]);
        place += size as u64;
    }
    // SAFETY: as above.
    unsafe { errno.write(before) };
    (place == bytes).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(bytes: &[u8]) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        let read = read(bytes.as_ptr().addr() as u64, bytes.len() as u64, &mut hasher);
        read.map(|_| hasher.finish())
    }

    #[test]
    fn contents_and_not_addresses() {
        let mut bytes = vec![7_u8; 3 * BLOCK + 5];
        let first = hash(&bytes);
        assert!(first.is_some() && first == hash(&bytes.clone()));
        bytes[3 * BLOCK + 4] = 8;
        assert_ne!(first, hash(&bytes), "the last byte is another one");
    }

    #[test]
    fn memory_that_is_not_there() {
        let mut hasher = DefaultHasher::new();
        // SAFETY: reads a number of the system.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
        assert_eq!(read(page / 2, 8, &mut hasher), None);
        assert_eq!(read(u64::MAX - 7, 8, &mut hasher), None);
    }
}

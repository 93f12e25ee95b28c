//! One line, where no report can be made: what the process knows itself.
#![expect(unsafe_code, reason = "reads the list of layers, and writes")]

use qmpi_ring::arch::registers::INSTRUCTION;
use qmpi_ring::crash::Crash;

use crate::report;

/// Longer lines are cut off.
const LINE: usize = 512;

struct Line {
    bytes: [u8; LINE],
    length: usize,
}

/// Writes it to stderr.
pub(crate) fn write(crash: &Crash) {
    let place = crash.registers[INSTRUCTION];
    let mut line = Line { bytes: [0; LINE], length: 0 };
    line.text(b"qmpi: crash");
    if let Some((number, label)) = layer_at(place) {
        line.text(b" in layer ");
        line.text(number);
        line.text(b", ");
        line.text(label);
    }
    line.text(b": ");
    line.text(name(crash.signal));
    line.text(b" at ");
    line.hexadecimal(crash.address);
    line.text(b" by the instruction at ");
    line.hexadecimal(place);
    line.text(b", process ");
    line.decimal(crash.process.unsigned_abs());
    line.text(b", thread ");
    line.decimal(crash.thread.unsigned_abs());
    line.text(b" (no back trace: the command qmpi could not be started)");
    line.byte(b'\n', LINE);
    // SAFETY: so many bytes are there.
    unsafe { libc::syscall(libc::SYS_write, 2, line.bytes.as_ptr(), line.length) };
}

impl Line {
    /// The newline keeps its place.
    fn text(&mut self, text: &[u8]) {
        text.iter().for_each(|byte| self.byte(*byte, LINE - 1));
    }

    fn byte(&mut self, byte: u8, end: usize) {
        if let Some(place) = self.bytes.get_mut(self.length).filter(|_| self.length < end) {
            *place = byte;
            self.length += 1;
        }
    }

    fn number(&mut self, mut value: u64, base: u64) {
        let mut digits = [0; 20];
        let mut count = 0;
        for digit in digits.iter_mut().rev() {
            *digit = b"0123456789abcdef".get((value % base) as usize).copied().unwrap_or(b'?');
            value /= base;
            count += 1;
            if value == 0 {
                break;
            }
        }
        let skipped = digits.len() - count;
        digits.iter().skip(skipped).for_each(|digit| self.text(&[*digit]));
    }

    fn hexadecimal(&mut self, value: u64) {
        self.text(b"0x");
        self.number(value, 16);
    }

    fn decimal(&mut self, value: u32) {
        self.number(value.into(), 10);
    }
}

fn name(signal: i32) -> &'static [u8] {
    match signal {
        libc::SIGSEGV => b"SIGSEGV",
        libc::SIGBUS => b"SIGBUS",
        libc::SIGFPE => b"SIGFPE",
        libc::SIGILL => b"SIGILL",
        _ => b"SIGABRT",
    }
}

/// The number and the label of the layer that has this code.
fn layer_at(place: u64) -> Option<(&'static [u8], &'static [u8])> {
    let layers = report::layers()?;
    // SAFETY: the core has written so many bytes, and never changes them.
    let text = unsafe { core::slice::from_raw_parts(layers.text, layers.length) };
    text.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b'\t');
        let number = fields.next()?.strip_prefix(b"layer ")?;
        let label = fields.next()?;
        let mut objects = fields.nth(2)?.split(|byte| *byte == b',');
        objects.any(|object| contains(object, place) == Some(true)).then_some((number, label))
    })
}

/// Is the address in the range, `START-END`?
fn contains(range: &[u8], place: u64) -> Option<bool> {
    let mut ends = range.split(|byte| *byte == b'-').map(|text| {
        text.iter().try_fold(0_u64, |value, digit| Some(value << 4 | u64::from(char::from(*digit).to_digit(16)?)))
    });
    let (start, end) = (ends.next()??, ends.next()??);
    Some((start..end).contains(&place))
}

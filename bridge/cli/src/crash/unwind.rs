//! The frames on a stack, by the tables that compilers write for exceptions (`.eh_frame`), with all registers: a frame may be found by
//! any of them, and the kernel's frame of a signal restores all.
//!
//! Where an object has no tables, the frame pointer is tried, and then the first word of the stack that looks like a return address.

use std::collections::HashMap;

use gimli::{
    CfaRule, Encoding, EndianSlice, EvaluationResult, Format, Location, Piece, Register, RegisterRule, UnwindContext,
    UnwindExpression, UnwindSection, UnwindTableRow, Value,
};
use qmpi_ring::arch::registers::{COUNT, FRAME_POINTER, INSTRUCTION, RETURN_ADDRESS, STACK_POINTER};

use super::arch;
use super::objects::{Frames, Object, Objects, Reader};
use super::process::Process;

/// More frames than a stack of eight megabytes can have.
const MOST: usize = 1 << 20;
/// Words that are looked at for a return address.
const WORDS: u64 = 512;

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The next instruction of the frame.
    pub place: u64,
    /// An address in the instruction that the frame is at: the call before `place`, but for the innermost frame and one that was
    /// interrupted.
    pub address: u64,
    /// It is the kernel's, which called a signal handler.
    pub is_signal: bool,
    /// Nothing says that this is a frame.
    pub is_guess: bool,
}

/// Tables that were read, by address.
type Rows = HashMap<u64, Option<(UnwindTableRow<usize>, bool)>>;

/// The registers of a frame, by number in DWARF.
pub(super) type Values = [u64; COUNT];

/// All frames, the innermost first.
#[must_use]
pub fn frames(process: &Process, objects: &Objects, registers: &Values) -> Vec<Frame> {
    let mut values = *registers;
    let mut rows = Rows::new();
    let mut context = UnwindContext::new();
    let mut frames: Vec<Frame> = Vec::new();
    let mut is_guess = false;
    while frames.len() < MOST {
        let place = values[INSTRUCTION];
        let is_exact = frames.last().is_none_or(|last| last.is_signal);
        let address = if is_exact { place } else { place.wrapping_sub(1) };
        let object = objects.object(address);
        let row = rows.entry(address).or_insert_with(|| row(object?, address, &mut context));
        let interrupted = arch::interrupted(process, &values);
        let is_signal = interrupted.is_some() || row.as_ref().is_some_and(|(_, is_signal)| *is_signal);
        frames.push(Frame { place, address, is_signal, is_guess });
        let stack = values[STACK_POINTER];
        let by_table = row.as_ref().zip(object.and_then(|object| object.frames.as_ref()));
        let by_table = by_table.map(|((row, _), frames)| step(process, row, frames, &values));
        let next = match interrupted.map(End::Caller).or(by_table) {
            Some(End::There) => break,
            Some(End::Caller(caller)) => Some((caller, false)),
            Some(End::Unknown) | None => without_table(process, objects, &values, is_exact),
        };
        let Some((caller, guessed)) = next else { break };
        // The stack of a signal handler may be anywhere, and a function that calls none may have nothing on the stack.
        let is_outer = caller[STACK_POINTER] > stack || is_exact && caller[STACK_POINTER] == stack;
        if caller[INSTRUCTION] == 0 || !(is_outer || is_signal) {
            break;
        }
        values = caller;
        is_guess = guessed;
    }
    frames
}

/// Where a stack ends.
enum End {
    /// Here.
    There,
    /// Not here: the registers of the caller.
    Caller(Values),
    /// The table does not say.
    Unknown,
}

fn row(object: &Object, address: u64, context: &mut UnwindContext<usize>) -> Option<(UnwindTableRow<usize>, bool)> {
    let frames = object.frames.as_ref()?;
    let table = frames.index.table()?;
    let cie = gimli::EhFrame::<Reader>::cie_from_offset;
    let fde = table.fde_for_address(&frames.section, &frames.bases, address, cie).ok()?;
    let row = fde.unwind_info_for_address(&frames.section, &frames.bases, context, address).ok()?;
    Some((row.clone(), fde.is_signal_trampoline()))
}

/// The caller's registers.
fn step(process: &Process, row: &UnwindTableRow<usize>, frames: &Frames, values: &Values) -> End {
    let known = |register: Register| values.get(usize::from(register.0)).copied();
    let evaluated = |expression: &UnwindExpression<usize>, cfa: Option<u64>| {
        let expression = expression.get(&frames.section).ok()?;
        let bytes = gimli::Reader::to_slice(&expression.0).ok()?.into_owned();
        evaluate(process, &bytes, values, cfa)
    };
    let cfa = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            known(*register).map(|value| value.wrapping_add_signed(*offset))
        }
        CfaRule::Expression(expression) => evaluated(expression, None),
    };
    let Some(cfa) = cfa else { return End::Unknown };
    let mut caller = *values;
    for (number, value) in caller.iter_mut().enumerate() {
        let found = match row.register(Register(number as u16)) {
            // The outermost frame: `_start`, the start of a thread.
            Some(RegisterRule::Undefined) if number == RETURN_ADDRESS => return End::There,
            Some(RegisterRule::Offset(offset)) => process.word(cfa.wrapping_add_signed(offset)),
            Some(RegisterRule::ValOffset(offset)) => Some(cfa.wrapping_add_signed(offset)),
            Some(RegisterRule::Register(other)) => known(other),
            Some(RegisterRule::Expression(expression)) => {
                evaluated(&expression, Some(cfa)).and_then(|place| process.word(place))
            }
            Some(RegisterRule::ValExpression(expression)) => evaluated(&expression, Some(cfa)),
            Some(RegisterRule::Constant(constant)) => Some(constant),
            _ if number == STACK_POINTER => Some(cfa),
            // The same value: those that the callee saves and has not saved.
            _ => Some(*value),
        };
        match found {
            Some(found) => *value = found,
            None if number == RETURN_ADDRESS => return End::Unknown,
            None => {}
        }
    }
    caller[INSTRUCTION] = arch::code(caller[RETURN_ADDRESS]);
    End::Caller(caller)
}

/// The value of an expression (DWARF 5, 2.5) of registers and memory.
fn evaluate(process: &Process, bytes: &[u8], values: &Values, cfa: Option<u64>) -> Option<u64> {
    let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 5 };
    let expression = gimli::Expression(EndianSlice::new(bytes, gimli::LittleEndian));
    let mut evaluation = expression.evaluation(encoding);
    if let Some(cfa) = cfa {
        evaluation.set_initial_value(cfa);
    }
    let mut result = evaluation.evaluate().ok()?;
    for _ in 0..1000 {
        result = match result {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register, .. } => {
                let value = *values.get(usize::from(register.0))?;
                evaluation.resume_with_register(Value::Generic(value)).ok()?
            }
            EvaluationResult::RequiresMemory { address, size, .. } => {
                let mut word = process.read(address, usize::from(size))?;
                word.resize(8, 0);
                let value = u64::from_le_bytes(word.try_into().ok()?);
                evaluation.resume_with_memory(Value::Generic(value)).ok()?
            }
            _ => return None,
        };
    }
    match evaluation.result().as_slice() {
        [Piece { location: Location::Address { address }, .. }] => Some(*address),
        _ => None,
    }
}

/// The caller where no table says, and whether it is a guess. `is_exact`: a frame that was interrupted, at the instruction itself.
fn without_table(process: &Process, objects: &Objects, values: &Values, is_exact: bool) -> Option<(Values, bool)> {
    let returns_to_code = |caller: &Values| objects.is_code(caller[INSTRUCTION].wrapping_sub(1));
    let caller_at = |place: u64, frame: u64| {
        let mut caller = *values;
        caller[INSTRUCTION] = arch::code(process.word(place)?);
        caller[STACK_POINTER] = place + 8;
        caller[FRAME_POINTER] = frame;
        returns_to_code(&caller).then_some(caller)
    };
    let (stack, frame) = (values[STACK_POINTER], values[FRAME_POINTER]);
    if is_exact {
        let is_nowhere = !objects.is_code(values[INSTRUCTION]);
        let caller = if is_nowhere { arch::from_nowhere(process, values) } else { arch::of_leaf(process, values) };
        if let Some(caller) = caller.filter(returns_to_code) {
            return Some((caller, false));
        }
    }
    let by_record = || {
        let is_record = frame >= stack && frame % 8 == 0;
        let outer = process.word(frame).filter(|outer| is_record && *outer > frame)?;
        caller_at(frame + 8, outer)
    };
    let is_return = |value: u64| objects.is_code(value.wrapping_sub(1)) && arch::ends_call(process, value);
    let among = |words: u64| {
        let words = (0..words.min(WORDS)).map(|word| stack + word * 8);
        let mut found = words.map_while(|place| Some((place, process.word(place)?)));
        found.find_map(|(place, value)| caller_at(place, frame).filter(|_| is_return(arch::code(value))))
    };
    // Frames of code without tables, below a record that is an outer one's.
    if arch::RECORD_MAY_BE_OUTER
        && let Some(caller) = among(frame.saturating_sub(stack) / 8)
    {
        return Some((caller, true));
    }
    if let Some(caller) = by_record() {
        return Some((caller, false));
    }
    Some((among(WORDS)?, true))
}

//! What is said of a crash.

use std::fmt::Write as _;
use std::path::Path;

use qmpi_ring::arch::registers::STACK_POINTER;
use qmpi_ring::crash::{Condition, Crash, Layers};

use super::objects::Objects;
use super::owner::{Owner, Owners, file_name};
use super::process::Process;
use super::symbols::{Place, Symbols};
use super::unwind::{self, Frame};

/// Of a long stack, the first and the last frames.
const FIRST: usize = 24;
const LAST: usize = 8;
/// As far from the stack pointer a fault may be that comes of a stack that is used up: a function may have large variables.
const NEAR: u64 = 1 << 20;
/// The longest list of layers that is read.
const LIST: usize = 1 << 20;
const LIBRARY: &str = "libqmpi_crash.so";

/// The report; `None` if the condition does not hold.
#[must_use]
pub fn report(process: &Process, crash: &Crash) -> Option<String> {
    let objects = Objects::of(process);
    let frames = unwind::frames(process, &objects, &crash.registers);
    let mut look = Look { owners: owners(process, crash), objects: &objects, symbols: Symbols::default() };
    // A handler that was called for an earlier fault: that is where the crash began.
    let fault = frames.windows(2).rposition(|pair| pair[1].is_signal && look.name(&pair[0]) == LIBRARY);
    let site = fault.map_or(0, |place| place + 2);
    let is_meant = match crash.condition {
        condition if condition == Condition::InHandler as u32 => fault.is_some(),
        condition if condition == Condition::InAbort as u32 => {
            frames.iter().take(8).any(|frame| look.function(frame).as_deref() == Some("abort"))
        }
        _ => true,
    };
    let frames = frames.get(site..)?;
    if !is_meant || frames.is_empty() {
        return None;
    }
    let mut text = String::new();
    let _ = writeln!(text, "qmpi: crash in {}: {}", look.whose(frames), what(&objects, crash, site > 0));
    let _ = writeln!(text, "qmpi:   {}{}", who(process, crash), look.innermost(frames));
    let cut = if frames.len() > FIRST + LAST + 1 { FIRST..frames.len() - LAST } else { 0..0 };
    let mut number = 0;
    for (index, frame) in frames.iter().enumerate() {
        if cut.contains(&index) {
            if index == cut.start {
                let _ = writeln!(text, "qmpi:   ... {} frames that are not shown", cut.len());
            }
            number += 1;
            continue;
        }
        number = look.write(&mut text, frame, number);
    }
    Some(text)
}

fn owners(process: &Process, crash: &Crash) -> Owners {
    let text = || {
        let address = (crash.layers != 0).then_some(crash.layers)?;
        let length = process.word(address + std::mem::offset_of!(Layers, length) as u64)?;
        let bytes = process.word(address + std::mem::offset_of!(Layers, text) as u64)?;
        process.read(bytes, usize::try_from(length).ok()?.min(LIST))
    };
    let text = text().unwrap_or_default();
    Owners::read(process, &String::from_utf8_lossy(&text), c_string(&crash.program).into())
}

fn c_string(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// The signal, and why.
fn what(objects: &Objects, crash: &Crash, is_earlier: bool) -> String {
    let name = match crash.signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        libc::SIGABRT => "SIGABRT",
        _ => "a signal",
    };
    let stack = crash.registers[STACK_POINTER];
    let is_near = stack.abs_diff(crash.address) < NEAR && crash.address < stack.saturating_add(4096);
    let is_used_up = is_near && objects.mapping(crash.address).is_none_or(|mapping| !mapping.is_readable);
    let reason = match (crash.signal, crash.code) {
        (_, code) if code <= 0 && crash.sender == crash.process => "raised by the process itself".to_owned(),
        (_, code) if code <= 0 => format!("sent by process {}", crash.sender),
        (libc::SIGSEGV, _) if is_used_up => "the stack is used up".to_owned(),
        (libc::SIGSEGV, 1) => "no memory is there".to_owned(),
        (libc::SIGSEGV, 2) => "the memory is protected".to_owned(),
        (libc::SIGSEGV, 0x80) => "no valid address".to_owned(),
        (libc::SIGBUS, 1) => "the address is not aligned".to_owned(),
        (libc::SIGBUS, 2) => "nothing stands behind the memory, a file may have become shorter".to_owned(),
        (libc::SIGFPE, 1) => "integer division by zero, or overflow of one".to_owned(),
        (libc::SIGFPE, _) => "a floating-point operation".to_owned(),
        (libc::SIGILL, _) => "no instruction of this processor".to_owned(),
        (_, code) => format!("code {code}"),
    };
    let mut text = format!("{name} ({reason})");
    let has_address = crash.code > 0 && crash.code != 0x80 && matches!(crash.signal, libc::SIGSEGV | libc::SIGBUS);
    if has_address || crash.address != 0 {
        let _ = write!(text, " at address {:#x}", crash.address);
    }
    if is_earlier && crash.signal == libc::SIGABRT {
        text.push_str(", by a handler of an earlier signal");
    }
    text
}

/// Rank, process and thread.
fn who(process: &Process, crash: &Crash) -> String {
    let rank = qmpi_plan::rank_from_env(&|name| process.variable(crash.environment, name));
    let rank = rank.map(|rank| format!("rank {rank}, ")).unwrap_or_default();
    let system = rustix::system::uname();
    let host = system.nodename().to_string_lossy();
    let mut text = format!("{rank}process {} on {host}", crash.process);
    if crash.thread != crash.process {
        let _ = write!(text, ", thread {} ({})", crash.thread, c_string(&crash.thread_name));
    }
    text
}

/// Finds out what frames are.
struct Look<'a> {
    owners: Owners,
    objects: &'a Objects,
    symbols: Symbols,
}

impl Look<'_> {
    fn owner(&self, frame: &Frame) -> Owner {
        self.owners.of(self.objects.object(frame.address))
    }

    /// The file of the frame's code: that of a clone is not the object's (`loader/src/namespace/clone_code.rs`).
    fn path(&self, frame: &Frame) -> &str {
        let mapping = self.objects.mapping(frame.address).map(|mapping| mapping.path.as_str());
        let object = self.objects.object(frame.address).map(|object| object.path.as_str());
        mapping.filter(|path| path.starts_with('/') && !path.starts_with("/memfd:")).or(object).unwrap_or_default()
    }

    /// The name of that file.
    fn name(&self, frame: &Frame) -> &str {
        file_name(self.path(frame))
    }

    /// Inlined functions first.
    fn places(&mut self, frame: &Frame) -> Vec<Place> {
        let Some(object) = self.objects.object(frame.address) else { return Vec::new() };
        let path = self.path(frame).to_owned();
        let mut places = self.symbols.find(Path::new(&path), frame.address.wrapping_sub(object.bias));
        if let Some(offset) = places.last_mut().and_then(|place| place.offset.as_mut()) {
            *offset += frame.place - frame.address;
        }
        places
    }

    fn function(&mut self, frame: &Frame) -> Option<String> {
        self.places(frame).pop()?.function
    }

    /// Who the crash is in: of libraries that all use, and of the C library that ends a process, who called them.
    fn whose(&self, frames: &[Frame]) -> String {
        let mut named = frames.iter().filter_map(|frame| {
            let owner = self.owner(frame);
            matches!(owner, Owner::Layers(_) | Owner::Program | Owner::Mpi)
                .then(|| (owner, self.name(frame).to_owned()))
        });
        let Some((owner, file)) = named.next() else {
            let file = frames.first().map(|frame| self.name(frame)).filter(|name| !name.is_empty());
            return file.map_or("code that is in no file".to_owned(), str::to_owned);
        };
        let name = |owner: &Owner, file: &str| match owner {
            Owner::Program => format!("the program ({file})"),
            Owner::Mpi => format!("the MPI library ({file})"),
            owner => format!("{owner} ({file})"),
        };
        let text = name(&owner, &file);
        if owner != Owner::Mpi {
            return text;
        }
        match named.find(|(owner, _)| *owner != Owner::Mpi) {
            Some((caller, file)) if self.owners.has_layers() => format!("{text}, called by {}", name(&caller, &file)),
            _ => text,
        }
    }

    /// The function at the top.
    fn innermost(&mut self, frames: &[Frame]) -> String {
        let function = frames.first().and_then(|frame| self.places(frame).into_iter().next()?.function);
        function.map(|name| format!(", in {name}")).unwrap_or_default()
    }

    /// Writes the lines of a frame; returns the number of the next.
    fn write(&mut self, text: &mut String, frame: &Frame, mut number: usize) -> usize {
        let owner = self.owner(frame);
        let file = self.name(frame).to_owned();
        let whose = match file.as_str() {
            "" => owner.to_string(),
            file => format!("{owner} ({file})"),
        };
        if frame.is_signal {
            let _ = writeln!(text, "qmpi:   #{number:<2} signal handler called");
            return number + 1;
        }
        let offset =
            self.objects.object(frame.address).map_or(frame.place, |object| frame.place.wrapping_sub(object.bias));
        let places = self.places(frame);
        let last = places.len().saturating_sub(1);
        let default = [Place::default()];
        for (index, place) in if places.is_empty() { &default[..] } else { &places[..] }.iter().enumerate() {
            let function = match (&place.function, place.offset) {
                (Some(name), Some(offset)) => format!("{name}+{offset:#x}"),
                (Some(name), None) => name.clone(),
                (None, _) => format!("{offset:#x}"),
            };
            let line = place.line.as_ref().map(|line| format!(" at {line}")).unwrap_or_default();
            let inlined = if index < last { ", inlined" } else { "" };
            let guess = if frame.is_guess { ", perhaps" } else { "" };
            let _ = writeln!(text, "qmpi:   #{number:<2} {function}{line}{inlined}{guess}  {whose}");
            number += 1;
        }
        number
    }
}

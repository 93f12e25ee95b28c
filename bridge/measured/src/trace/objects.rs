//! Handles that a program makes, named by the calls that made them: values differ from run to run, and are used again.
//!
//! A handle passes several layers on its way up, with one value: all these calls return the same object, and the outermost of them is its
//! maker. Objects of each kind are counted for each layer that called the maker, and each of its threads, so that what one layer or thread makes
//! does not change the names of others.

use std::collections::HashMap;

use qmpi_abi::parameters::{Direction, Kind, Parameter};

use crate::rank_record::number;
use crate::trace::constants::Constants;
use crate::trace::file::{RawCall, RawValue};
use crate::trace::nesting::Event;

/// The kinds of handles, with what their objects are called.
const KINDS: [(Kind, &str); 11] = [
    (Kind::Communicator, "comm"),
    (Kind::Group, "group"),
    (Kind::Datatype, "type"),
    (Kind::Op, "op"),
    (Kind::Request, "request"),
    (Kind::Message, "message"),
    (Kind::Window, "win"),
    (Kind::File, "file"),
    (Kind::Info, "info"),
    (Kind::Errhandler, "errhandler"),
    (Kind::Session, "session"),
];

pub(super) fn is_handle(kind: Kind) -> bool {
    KINDS.iter().any(|(known, _)| *known == kind)
}

/// Whose handle it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HandlePlace {
    /// That of the argument itself.
    Word(u8),
    /// An element of what the argument points to, before or after the call.
    Element(u8, bool, u32),
    Result,
}

impl HandlePlace {
    pub(super) fn element(place: usize, is_after: bool, element: usize) -> Self {
        Self::Element(place as u8, is_after, element as u32)
    }
}

/// The objects of a rank.
#[derive(Debug, Default)]
pub(super) struct MadeObjects {
    made: Vec<MadeObject>,
    /// By call: its handles that are known, and which objects they are.
    uses: Vec<Vec<(HandlePlace, u32)>>,
}

/// An object.
#[derive(Debug)]
struct MadeObject {
    kind: Kind,
    /// The call that made it, the outermost so far.
    maker: usize,
    name: String,
}

/// The numbers that a value consists of, cut in elements of so many bytes.
pub(super) fn elements<'a>(value: &RawValue<'a>) -> impl Iterator<Item = u64> + use<'a> {
    value.bytes.chunks_exact(value.element.max(1)).map(number)
}

impl MadeObjects {
    /// Follows all handles of these calls.
    pub(super) fn of(calls: &[RawCall<'_>], events: &[Event], constants: &Constants, layers: &[String]) -> Self {
        let objects = Self { made: Vec::new(), uses: vec![Vec::new(); calls.len()] };
        let mut tracker = Tracker { calls, constants, alive: HashMap::new(), objects };
        for event in events {
            match *event {
                Event::Begin(number) => tracker.begin(number),
                Event::End(number) => tracker.end(number),
            }
        }
        let mut objects = tracker.objects;
        objects.name(calls, layers);
        objects
    }

    /// The name of a call's handle, if its making is known.
    pub(super) fn name_at(&self, call: usize, place: HandlePlace) -> Option<&str> {
        Some(&self.made[self.object_at(call, place)?].name)
    }

    fn object_at(&self, call: usize, place: HandlePlace) -> Option<usize> {
        self.uses[call].iter().find(|(known, _)| *known == place).map(|(_, object)| *object as usize)
    }

    fn name(&mut self, calls: &[RawCall<'_>], layers: &[String]) {
        // In the order in which their makers began.
        let mut order: Vec<usize> = (0..self.made.len()).collect();
        order.sort_by_key(|object| (self.made[*object].maker, *object));
        let mut counts: HashMap<(Kind, usize, u32), u32> = HashMap::new();
        for object in order {
            let MadeObject { kind, maker, name } = &mut self.made[object];
            let call = &calls[*maker];
            let count = counts.entry((*kind, call.caller, call.thread)).or_default();
            *count += 1;
            let word = KINDS.iter().find(|(known, _)| known == kind).map_or("object", |(_, word)| word);
            let thread = if call.thread == 0 { String::new() } else { format!("@t{}", call.thread) };
            let layer = layers.get(call.caller).filter(|_| call.caller != 0);
            let layer = layer.map_or_else(String::new, |layer| format!("{layer}:"));
            *name = format!("{layer}{word}#{count}{thread}");
        }
    }
}

/// Is the word of such an argument an address?
pub(super) fn is_pointer(parameter: &Parameter) -> bool {
    parameter.ctype().contains(['*', '['])
}

/// The parameters of a call that are handles, or lead to some.
fn handles(call: &RawCall<'_>) -> impl Iterator<Item = (usize, &'static Parameter)> + use<> {
    call.function.parameters().iter().enumerate().filter(|(_, parameter)| is_handle(parameter.kind))
}

struct Tracker<'a> {
    calls: &'a [RawCall<'a>],
    constants: &'a Constants,
    /// Objects by their present value; several where an MPI has one value for requests that were completed at once.
    alive: HashMap<(Kind, u64), Vec<usize>>,
    objects: MadeObjects,
}

impl Tracker<'_> {
    /// The handle in a word; `None` for a predefined one.
    fn handle(&self, kind: Kind, word: u64) -> Option<(Kind, u64)> {
        let value = self.constants.handle(kind, word);
        (value != 0 && self.constants.name(kind, value).is_none()).then_some((kind, value.cast_unsigned()))
    }

    fn uses(&mut self, call: usize, place: HandlePlace, object: usize) {
        let uses = &mut self.objects.uses[call];
        // Most have one or two.
        uses.reserve_exact(1);
        uses.push((place, object as u32));
    }

    /// A call begins: its arguments, and what they point to, are known objects.
    fn begin(&mut self, number: usize) {
        let call = &self.calls[number];
        for (place, parameter) in handles(call) {
            if is_pointer(parameter) {
                self.read(number, place, parameter.kind, false);
            } else if let Some(object) = self.known(parameter.kind, call.word(place), 0) {
                self.uses(number, HandlePlace::Word(place as u8), object);
            }
        }
    }

    /// The handles in an array that the function reads.
    fn read(&mut self, number: usize, place: usize, kind: Kind, is_after: bool) {
        let Some(value) = self.calls[number].value(place, is_after) else { return };
        let mut occurrences: HashMap<u64, usize> = HashMap::new();
        for (element, word) in elements(&value).enumerate() {
            let occurrence = occurrences.entry(word).or_default();
            if let Some(object) = self.known(kind, word, *occurrence) {
                self.uses(number, HandlePlace::element(place, is_after, element), object);
            }
            *occurrence += 1;
        }
    }

    /// The object that a word is the handle of, or that number of several with one value.
    fn known(&self, kind: Kind, word: u64, occurrence: usize) -> Option<usize> {
        let alive = self.alive.get(&self.handle(kind, word)?)?;
        alive.get(occurrence).or(alive.last()).copied()
    }

    /// A call ends: what it has made and freed.
    fn end(&mut self, number: usize) {
        let call = &self.calls[number];
        for (place, parameter) in handles(call).filter(|(_, parameter)| is_pointer(parameter)) {
            match parameter.direction {
                Direction::In => self.read(number, place, parameter.kind, true),
                _ => self.written(number, place, parameter.kind),
            }
        }
        let result = call.function.result().filter(|result| is_handle(result.kind));
        if let Some(object) = result.and_then(|result| self.known(result.kind, call.result, 0)) {
            self.uses(number, HandlePlace::Result, object);
        }
    }

    /// Handles that the function has stored: new ones, and null where it has freed one.
    fn written(&mut self, number: usize, place: usize, kind: Kind) {
        let call = &self.calls[number];
        let Some(value) = call.value(place, true) else { return };
        let before: Vec<u64> = call.value(place, false).map(|value| elements(&value).collect()).unwrap_or_default();
        for (element, word) in elements(&value).enumerate() {
            let at = |is_after| HandlePlace::element(place, is_after, element);
            let known = self.objects.object_at(number, at(false));
            match (self.handle(kind, word), known, before.get(element)) {
                // As it was: a persistent request, a datatype that is committed.
                (Some(_), Some(object), Some(old)) if *old == word => self.uses(number, at(true), object),
                (Some(key), ..) => {
                    let object = self.make(number, key);
                    self.uses(number, at(true), object);
                }
                (None, Some(object), Some(old)) => {
                    let key = (kind, self.constants.handle(kind, *old).cast_unsigned());
                    if let Some(alive) = self.alive.get_mut(&key) {
                        alive.retain(|other| *other != object);
                    }
                }
                (None, ..) => {}
            }
        }
    }

    /// The object that the call returns with this handle.
    fn make(&mut self, number: usize, key: (Kind, u64)) -> usize {
        let call = &self.calls[number];
        let last = self.alive.get(&key).and_then(|alive| alive.last()).copied();
        if let Some(object) = last {
            let maker = &self.calls[self.objects.made[object].maker];
            let is_inside = maker.thread == call.thread && maker.sequence > call.sequence;
            if is_inside {
                // A layer hands up what it got from below.
                self.objects.made[object].maker = number;
                return object;
            }
            // It asks for something that is there.
            if call.function.name().contains("_get_") {
                return object;
            }
        }
        let object = self.objects.made.len();
        self.objects.made.push(MadeObject { kind: key.0, maker: number, name: String::new() });
        let alive = self.alive.entry(key).or_default();
        if !(key.0 == Kind::Request && self.constants.is_shared_request(key.1)) {
            alive.clear();
        }
        alive.push(object);
        object
    }
}

//! Handles that a program makes, named by the calls that made them: values differ from run to run, and are used again.
//!
//! A handle passes several layers on its way up, with one value: all these calls return the same object, and the outermost of them is its
//! maker. Objects of each kind are counted for each layer that called the maker, and each of its threads, so that what one layer or thread makes
//! does not change the names of others.

use std::collections::HashMap;

use qmpi_abi::parameters::{Direction, Kind};

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

/// Whose handle: the argument, what it points to before or after the call with the number of the element, or the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HandlePlace {
    /// The argument itself.
    Word(u8),
    /// An element of what it points to.
    Element(u8, bool, u32),
    Result,
}

impl HandlePlace {
    pub(super) fn word(place: usize) -> Self {
        Self::Word(place as u8)
    }

    /// An element of what the argument points to, before or after the call.
    pub(super) fn element(place: usize, is_after: bool, element: usize) -> Self {
        Self::Element(place as u8, is_after, element as u32)
    }
}

/// The handles of a call that are known, and which objects they are.
type Uses = Vec<(HandlePlace, u32)>;

/// The objects of a rank.
#[derive(Debug, Default)]
pub(super) struct MadeObjects {
    made: Vec<MadeObject>,
    /// By call.
    uses: Vec<Uses>,
    names: Vec<String>,
}

/// An object.
#[derive(Debug)]
struct MadeObject {
    kind: Kind,
    /// The call that made it, the outermost so far.
    maker: usize,
}

/// The names of a call's handles.
#[derive(Debug)]
pub(super) struct HandleNames<'a> {
    objects: &'a MadeObjects,
    uses: Option<&'a Uses>,
}

impl HandleNames<'_> {
    /// The name of the handle there, if its making is known.
    pub(super) fn at(&self, place: HandlePlace) -> Option<&str> {
        self.objects.names.get(object_at(self.uses?, place)?).map(String::as_str)
    }
}

fn object_at(uses: &Uses, place: HandlePlace) -> Option<usize> {
    uses.iter().find(|(known, _)| *known == place).map(|(_, object)| *object as usize)
}

/// The numbers that a value consists of, cut in elements of so many bytes.
pub(super) fn elements<'a>(value: &RawValue<'a>) -> impl Iterator<Item = u64> + use<'a> {
    value.bytes.chunks_exact(value.element.max(1)).map(|bytes| {
        let mut word = [0; 8];
        let bytes = bytes.get(..8).unwrap_or(bytes);
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    })
}

impl MadeObjects {
    /// Follows all handles of these calls.
    pub(super) fn of(calls: &[RawCall<'_>], events: &[Event], constants: &Constants, layers: &[String]) -> Self {
        let objects = Self { uses: vec![Uses::new(); calls.len()], ..Self::default() };
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

    pub(super) fn of_call(&self, number: usize) -> HandleNames<'_> {
        HandleNames { objects: self, uses: self.uses.get(number) }
    }

    fn name(&mut self, calls: &[RawCall<'_>], layers: &[String]) {
        // In the order in which their makers began.
        let mut order: Vec<usize> = (0..self.made.len()).collect();
        order.sort_by_key(|object| (self.made[*object].maker, *object));
        self.names = vec![String::new(); self.made.len()];
        let mut counts: HashMap<(Kind, u16, u32), u32> = HashMap::new();
        for object in order {
            let MadeObject { kind, maker } = self.made[object];
            let call = &calls[maker];
            let count = counts.entry((kind, call.record.caller, call.record.thread)).or_default();
            *count += 1;
            let word = KINDS.iter().find(|(known, _)| *known == kind).map_or("object", |(_, word)| word);
            let thread = if call.record.thread == 0 { String::new() } else { format!("@t{}", call.record.thread) };
            let layer = layers.get(usize::from(call.record.caller)).filter(|_| call.record.caller != 0);
            let layer = layer.map_or_else(String::new, |layer| format!("{layer}:"));
            self.names[object] = format!("{layer}{word}#{count}{thread}");
        }
    }
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
        match uses.iter_mut().find(|(known, _)| *known == place) {
            Some(known) => known.1 = object as u32,
            None => {
                // Most have one or two.
                uses.reserve_exact(1);
                uses.push((place, object as u32));
            }
        }
    }

    fn begin(&mut self, number: usize) {
        let call = &self.calls[number];
        for (place, parameter) in call.function.parameters().iter().enumerate().filter(|(_, p)| is_handle(p.kind)) {
            let word = call.word(place);
            if !parameter.ctype().contains(['*', '[']) {
                if let Some(object) = self.handle(parameter.kind, word).and_then(|key| self.find(key, 0)) {
                    self.uses(number, HandlePlace::word(place), object);
                }
                continue;
            }
            self.read(number, place, parameter.kind, false);
        }
    }

    /// The handles in an array that the function reads.
    fn read(&mut self, number: usize, place: usize, kind: Kind, is_after: bool) {
        let call = &self.calls[number];
        let Some(value) = call.value(place, is_after) else { return };
        let mut occurrences: HashMap<u64, usize> = HashMap::new();
        for (element, word) in elements(&value).enumerate() {
            let Some(key) = self.handle(kind, word) else { continue };
            let occurrence = occurrences.entry(key.1).or_default();
            if let Some(object) = self.find(key, *occurrence) {
                self.uses(number, HandlePlace::element(place, is_after, element), object);
            }
            *occurrence += 1;
        }
    }

    fn find(&self, key: (Kind, u64), occurrence: usize) -> Option<usize> {
        let alive = self.alive.get(&key)?;
        alive.get(occurrence).or(alive.last()).copied()
    }

    fn end(&mut self, number: usize) {
        let call = &self.calls[number];
        for (place, parameter) in call.function.parameters().iter().enumerate().filter(|(_, p)| is_handle(p.kind)) {
            if !parameter.ctype().contains(['*', '[']) {
                continue;
            }
            match parameter.direction {
                Direction::In => self.read(number, place, parameter.kind, true),
                _ => self.written(number, place, parameter.kind),
            }
        }
        let result = call.function.result().filter(|result| is_handle(result.kind));
        let key = result.and_then(|result| self.handle(result.kind, call.record.result));
        if let Some(object) = key.and_then(|key| self.find(key, 0)) {
            self.uses(number, HandlePlace::Result, object);
        }
    }

    /// Handles that the function has stored: new ones, and null where it has freed one.
    fn written(&mut self, number: usize, place: usize, kind: Kind) {
        let call = &self.calls[number];
        let Some(value) = call.value(place, true) else { return };
        let before: Vec<u64> = call.value(place, false).map(|value| elements(&value).collect()).unwrap_or_default();
        for (element, word) in elements(&value).enumerate() {
            let at = HandlePlace::element(place, true, element);
            let known = object_at(&self.objects.uses[number], HandlePlace::element(place, false, element));
            match (self.handle(kind, word), known, before.get(element)) {
                // As it was: a persistent request, a datatype that is committed.
                (Some(_), Some(object), Some(old)) if *old == word => self.uses(number, at, object),
                (Some(key), ..) => {
                    let object = self.make(number, key);
                    self.uses(number, at, object);
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
            let is_inside = maker.record.thread == call.record.thread && maker.record.sequence > call.record.sequence;
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
        self.objects.made.push(MadeObject { kind: key.0, maker: number });
        let alive = self.alive.entry(key).or_default();
        if !(key.0 == Kind::Request && self.constants.is_shared_request(key.1)) {
            alive.clear();
        }
        alive.push(object);
        object
    }
}

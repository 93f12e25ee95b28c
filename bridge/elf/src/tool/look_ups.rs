//! Which names does a tool look up? Among its strings are more than those: names of functions for a report, of a function of its own for a
//! message. What `dlsym` is given shows in the code.
//!
//! Followed is what registers and words of the stack hold, from the beginning of each function to the calls that it makes:
//!
//! | `dlsym` is given | then |
//! |---|---|
//! | a constant | it is one of the names |
//! | an argument of the function that calls it | what callers of this function give it, in the same way |
//! | anything else: of a table, made up when the tool runs | it may be any name: nothing is known |
//!
//! Nothing is known either where a function of the middle row is called through a pointer, or `dlsym` goes elsewhere as one. For the desk,
//! and only where strings leave a question open.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

use crate::ElfFile;
use crate::arch::{self, Effect, Flow, REGISTERS, Value};
use crate::file::code::{Code, Word};
use crate::tool::Tool;

const LOOK_UPS: [&str; 2] = ["dlsym", "dlvsym"];
/// Which argument of theirs is the name.
const NAME: usize = 1;
const ARGUMENTS: usize = 6;
/// Bytes of an entry of a PLT, at most.
const ENTRY: u64 = 16;
/// Instructions of an object: more than that of any tool's own file, and a fraction of a second.
const LONGEST_WALK: usize = 1 << 20;

impl Tool {
    /// The names that the tool gives to `dlsym`. `None`: its code does not show which.
    pub(super) fn looked_up(&self) -> Option<BTreeSet<String>> {
        let parts = self.closure.parts().count();
        let mut names = BTreeSet::new();
        for (index, (object, detail)) in self.closure.objects.iter().zip(&self.objects).enumerate() {
            let wraps = !detail.intercepts.is_empty() || !detail.fortran_wrappers.is_empty();
            let looks_up = || object.imports().any(|symbol| LOOK_UPS.contains(&symbol.name));
            if (index < parts || wraps) && looks_up() {
                names.extend(Object::of(object)?.names()?);
            }
        }
        Some(names)
    }
}

/// What a register or a word holds, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Nothing,
    Address(u64),
    /// What the word at this address of the file holds.
    In(u64),
    /// The argument with this number of the function.
    Argument(usize),
}

impl From<Option<Value>> for Known {
    fn from(value: Option<Value>) -> Known {
        match value {
            None => Known::Nothing,
            Some(Value::Address(address)) => Known::Address(address),
            Some(Value::In(word)) => Known::In(word),
        }
    }
}

/// What is known at one place of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    registers: [Known; REGISTERS],
    /// Words of the stack: the register that they are counted from, and how far from it.
    words: HashMap<(u8, i64), Known>,
}

impl State {
    fn unknown() -> State {
        State { registers: [Known::Nothing; REGISTERS], words: HashMap::new() }
    }

    /// What is known in both cases.
    fn meet(&mut self, other: &State) {
        for (known, other) in self.registers.iter_mut().zip(&other.registers) {
            if known != other {
                *known = Known::Nothing;
            }
        }
        self.words.retain(|word, known| other.words.get(word) == Some(known));
    }

    fn get(&self, register: u8) -> Known {
        self.registers.get(usize::from(register)).copied().unwrap_or(Known::Nothing)
    }

    fn set(&mut self, register: u8, known: Known) {
        if let Some(place) = self.registers.get_mut(usize::from(register)) {
            *place = known;
        }
        // What was counted from it is elsewhere now.
        self.words.retain(|(base, _), _| *base != register);
    }

    fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Nothing | Effect::Through(_) => {}
            Effect::Set(register, value) => self.set(register, value.into()),
            Effect::Copy(to, from) => self.set(to, self.get(from)),
            Effect::Sum(to, from, number) => {
                let sum = match self.get(from) {
                    Known::Address(address) => Known::Address(address.wrapping_add(number)),
                    known if number == 0 => known,
                    _ => Known::Nothing,
                };
                self.set(to, sum);
            }
            Effect::Load(to, base, offset) => {
                let loaded = match self.get(base) {
                    Known::Address(address) => Known::In(address.wrapping_add_signed(offset)),
                    _ => self.words.get(&(base, offset)).copied().unwrap_or(Known::Nothing),
                };
                self.set(to, loaded);
            }
            Effect::Store(from, base, offset) => {
                let known = from.map_or(Known::Nothing, |register| self.get(register));
                self.words.insert((base, offset), known);
            }
            Effect::All => *self = State::unknown(),
        }
    }
}

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Callee {
    LookUp,
    /// A function of the object.
    Function(u64),
    Other,
}

/// One instruction; on AArch64 several that belong together.
struct Step {
    address: u64,
    flow: Flow,
    effects: Vec<Effect>,
}

/// A call, and what its first arguments are.
struct Call {
    callee: Callee,
    arguments: [Known; ARGUMENTS],
}

struct Object<'a> {
    file: &'a ElfFile,
    code: Code<'a>,
    functions: Vec<(u64, u64)>,
    callees: HashMap<u64, Callee>,
}

impl<'a> Object<'a> {
    fn of(file: &'a ElfFile) -> Option<Object<'a>> {
        let code = Code::of(file).ok()?;
        let functions = code.functions()?;
        Some(Object { file, code, functions, callees: HashMap::new() })
    }

    fn names(mut self) -> Option<BTreeSet<String>> {
        let callers = self.callers()?;
        let mut names = BTreeSet::new();
        // Functions with an argument that becomes the name.
        let mut takers: Vec<(Callee, usize)> = vec![(Callee::LookUp, NAME)];
        let mut calls: HashMap<u64, Vec<Call>> = HashMap::new();
        let mut at = 0;
        while let Some(&(taker, argument)) = takers.get(at) {
            at += 1;
            let functions = callers.get(taker)?;
            for &function in functions {
                let calls = match calls.entry(function) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => place.insert(self.calls(function)?),
                };
                for call in calls.iter().filter(|call| call.callee == taker) {
                    match call.arguments.get(argument).copied()? {
                        Known::Address(address) => {
                            names.insert(self.code.text(address)?);
                        }
                        Known::Argument(number) => {
                            let caller = (Callee::Function(function), number);
                            if !takers.contains(&caller) {
                                takers.push(caller);
                            }
                        }
                        Known::In(_) | Known::Nothing => return None,
                    }
                }
            }
        }
        Some(names)
    }

    /// Which functions call each one, and `dlsym`.
    fn callers(&mut self) -> Option<Callers> {
        let mut found: Vec<(u64, u64, Callee)> = Vec::new();
        let mut entries: HashSet<u64> = HashSet::new();
        let mut callers = Callers::default();
        let mut walked = 0;
        for (start, end) in self.functions.clone() {
            for step in self.steps(start, end)? {
                walked += 1;
                if walked > LONGEST_WALK {
                    return None;
                }
                let (callee, target) = match step.flow {
                    Flow::Call(target) => (self.callee(target), Some(target)),
                    Flow::Jump(target) | Flow::Branch(target) if !(start..end).contains(&target) => {
                        (self.callee(target), Some(target))
                    }
                    Flow::CallThrough(word) | Flow::JumpThrough(word) => (self.behind(word), None),
                    _ => (Callee::Other, None),
                };
                entries.extend(target.filter(|target| callee != Callee::Function(*target)));
                found.push((start, step.address, callee));
                for effect in step.effects {
                    match effect {
                        // Called through a register, perhaps; the function itself tells.
                        Effect::Set(_, Some(Value::In(word))) if self.behind(word) == Callee::LookUp => {
                            found.push((start, step.address, Callee::LookUp));
                        }
                        Effect::Set(_, Some(Value::Address(address))) => {
                            callers.pointers.insert(address);
                        }
                        _ => {}
                    }
                }
            }
        }
        callers.pointers.extend(self.code.addresses());
        for (function, place, callee) in found {
            // An entry of the PLT is no caller.
            let is_entry = (0..ENTRY).any(|into| place.checked_sub(into).is_some_and(|at| entries.contains(&at)));
            if callee != Callee::Other && !is_entry {
                callers.of.entry(callee).or_default().insert(function);
            }
        }
        Some(callers)
    }

    /// The calls of the function that begins here. `None`: it does with `dlsym` what cannot be followed.
    fn calls(&mut self, start: u64) -> Option<Vec<Call>> {
        const PASSES: usize = 64;
        let (_, end) = *self.functions.iter().find(|(known, _)| *known == start)?;
        let steps = self.steps(start, end)?;
        let within = |target: &u64| (start..end).contains(target);
        let targets: HashSet<u64> = steps
            .iter()
            .filter_map(|step| match step.flow {
                Flow::Branch(target) | Flow::Jump(target) => Some(target).filter(within),
                _ => None,
            })
            .collect();
        let registers = arch::arguments(self.code.machine());
        let mut first = State::unknown();
        registers.iter().enumerate().for_each(|(number, &register)| first.set(register, Known::Argument(number)));
        // What is known where branches lead. Code to which none does (the cases of a `switch`, handlers of exceptions) has its turn when
        // all others are done: nothing is known there.
        let mut known: HashMap<u64, State> = HashMap::new();
        let mut are_others_done = false;
        for _ in 0..PASSES {
            let mut is_settled = true;
            let mut calls = Vec::new();
            let mut state = Some(first.clone());
            for step in &steps {
                if targets.contains(&step.address) {
                    let other = known.get(&step.address);
                    state = match (state, other) {
                        (Some(mut state), Some(other)) => {
                            state.meet(other);
                            Some(state)
                        }
                        (state, other) => state.or_else(|| other.cloned()),
                    };
                }
                if state.is_none() && are_others_done {
                    state = Some(State::unknown());
                }
                let Some(here) = &mut state else { continue };
                if let Some(call) = self.call(step, here, &within)? {
                    calls.push(call);
                }
                step.effects.iter().for_each(|effect| here.apply(*effect));
                if let Flow::Branch(target) | Flow::Jump(target) = step.flow
                    && within(&target)
                {
                    let before = known.get(&target).cloned();
                    let after = known.entry(target).or_insert_with(|| here.clone());
                    after.meet(here);
                    is_settled &= before.as_ref() == Some(after);
                }
                if matches!(step.flow, Flow::Call(_) | Flow::CallThrough(_) | Flow::CallAnywhere | Flow::CallLoaded) {
                    let machine = self.code.machine();
                    let changed = (0..REGISTERS as u8).filter(|register| !arch::is_preserved(machine, *register));
                    changed.for_each(|register| here.set(register, Known::Nothing));
                } else if step.flow.is_last() {
                    state = None;
                }
            }
            match (is_settled, are_others_done) {
                (true, true) => return Some(calls),
                (true, false) => are_others_done = true,
                (false, _) => {}
            }
        }
        None
    }

    /// The call that an instruction makes. The outer `None`: `dlsym` is given away as a pointer.
    #[expect(clippy::option_option, reason = "nothing is known, or there is no call")]
    fn call(&mut self, step: &Step, state: &State, within: &dyn Fn(&u64) -> bool) -> Option<Option<Call>> {
        let is_look_up = |object: &Object<'_>, known: Known| matches!(known, Known::In(word) if object.behind(word) == Callee::LookUp);
        for effect in &step.effects {
            if let Effect::Store(Some(register), ..) = effect
                && is_look_up(self, state.get(*register))
            {
                return None;
            }
        }
        let callee = match step.flow {
            Flow::Call(target) => self.callee(target),
            Flow::Jump(target) | Flow::Branch(target) if !within(&target) => self.callee(target),
            Flow::CallThrough(word) | Flow::JumpThrough(word) => self.behind(word),
            Flow::CallAnywhere | Flow::CallLoaded | Flow::JumpAnywhere | Flow::JumpLoaded => {
                let through = step.effects.iter().find_map(|effect| match effect {
                    Effect::Through(register) => Some(state.get(*register)),
                    _ => None,
                });
                match through {
                    Some(Known::In(word)) => self.behind(word),
                    Some(Known::Address(address)) => self.callee(address),
                    _ => Callee::Other,
                }
            }
            _ => return Some(None),
        };
        let arguments = arch::arguments(self.code.machine()).map(|register| state.get(register));
        if arguments.iter().any(|known| is_look_up(self, *known)) {
            return None;
        }
        Some(Some(Call { callee, arguments }))
    }

    /// What a call of this address arrives at.
    fn callee(&mut self, target: u64) -> Callee {
        if let Some(known) = self.callees.get(&target) {
            return *known;
        }
        let callee = match self.word_of_entry(target) {
            Some(word) => self.behind(word),
            None => Callee::Function(target),
        };
        self.callees.insert(target, callee);
        callee
    }

    /// The word that an entry of the PLT jumps through. Before the jump there may be a mark for indirect branches, of four bytes.
    fn word_of_entry(&mut self, target: u64) -> Option<u64> {
        const MARK: u64 = 4;
        match self.code.step(target)? {
            (_, Flow::JumpThrough(word)) => Some(word),
            (MARK, Flow::On) if self.code.effect(target)?.1 == Effect::Nothing => {
                match self.code.step(target.checked_add(MARK)?)? {
                    (_, Flow::JumpThrough(word)) => Some(word),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The function that a word leads to.
    fn behind(&self, word: u64) -> Callee {
        match self.code.word(word) {
            Some(Word::Name(name)) if LOOK_UPS.contains(&name) && self.file.function(name).is_none() => Callee::LookUp,
            Some(Word::Name(name)) => self.file.function(name).map_or(Callee::Other, Callee::Function),
            Some(Word::Address(address)) => Callee::Function(address),
            None => Callee::Other,
        }
    }

    /// The instructions of a function, and what stands behind it. `None`: some cannot be read, or they are too many.
    fn steps(&mut self, start: u64, end: u64) -> Option<Vec<Step>> {
        let mut steps: Vec<Step> = Vec::new();
        let mut address = start;
        while address < end {
            let Some((length, flow)) = self.code.step(address) else {
                // Behind the last function of the code there is something else.
                let is_last = self.functions.binary_search_by_key(&end, |(start, _)| *start).is_err();
                return is_last.then_some(steps);
            };
            let after = address.saturating_add(length);
            let mut effects = Vec::new();
            let mut at = address;
            while at < after {
                let (length, effect) = self.code.effect(at)?;
                effects.push(effect);
                at = at.saturating_add(length);
            }
            steps.push(Step { address, flow, effects });
            if steps.len() > LONGEST_WALK {
                return None;
            }
            address = after;
        }
        Some(steps)
    }
}

/// Which functions call a function, and `dlsym`.
#[derive(Default)]
struct Callers {
    of: HashMap<Callee, BTreeSet<u64>>,
    /// Addresses that the object has for another purpose than a call.
    pointers: HashSet<u64>,
}

impl Callers {
    /// `None`: there are others, or none, who cannot be seen.
    fn get(&self, callee: Callee) -> Option<&BTreeSet<u64>> {
        let is_pointer = matches!(callee, Callee::Function(address) if self.pointers.contains(&address));
        self.of.get(&callee).filter(|_| !is_pointer)
    }
}

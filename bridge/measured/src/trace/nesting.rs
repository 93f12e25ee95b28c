//! Which call is inside of which, also where a clock is too coarse to tell: on AArch64 a tick may be 40 ns, as long as several calls.

use std::collections::HashMap;

use crate::trace::file::RawCall;

/// A call begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// The call with this number.
    Begin(usize),
    /// The call with this number returns.
    End(usize),
}

/// What happened, in the order in which it did, and how many calls of its thread each call is inside of.
#[derive(Debug)]
pub(super) struct Nesting {
    pub(super) events: Vec<Event>,
    pub(super) depths: Vec<usize>,
}

impl Nesting {
    /// Of calls in the order of their beginnings.
    pub(super) fn of(calls: &[RawCall<'_>]) -> Self {
        let mut threads: HashMap<u32, Thread> = HashMap::new();
        let mut depths = Vec::with_capacity(calls.len());
        for (number, call) in calls.iter().enumerate() {
            let thread = threads.entry(call.thread).or_default();
            thread.begin(calls, number);
            depths.push(thread.open.len() - 1);
        }
        let mut all: Vec<(u64, u32, usize, Event)> = Vec::with_capacity(2 * calls.len());
        for (number, mut thread) in threads {
            thread.end(calls, 0);
            let numbered = thread.events.into_iter().enumerate();
            all.extend(numbered.map(|(place, (time, event))| (time, number, place, event)));
        }
        all.sort_unstable_by_key(|(time, thread, place, _)| (*time, *thread, *place));
        Self { events: all.into_iter().map(|(.., event)| event).collect(), depths }
    }
}

/// The calls of a thread.
#[derive(Debug, Default)]
struct Thread {
    /// Those that are under way, the outermost first.
    open: Vec<usize>,
    events: Vec<(u64, Event)>,
}

impl Thread {
    /// A call begins: others that are over then end.
    fn begin(&mut self, calls: &[RawCall<'_>], number: usize) {
        let call = &calls[number];
        let over = self.open.iter().position(|open| !is_inside(call, &calls[*open]));
        self.end(calls, over.unwrap_or(self.open.len()));
        self.events.push((call.start, Event::Begin(number)));
        self.open.push(number);
    }

    /// Ends all but the outermost ones, the innermost first. One that has not returned was left, or is under way for ever.
    fn end(&mut self, calls: &[RawCall<'_>], kept: usize) {
        for number in self.open.drain(kept..).rev() {
            if let Some(end) = calls[number].end {
                self.events.push((end, Event::End(number)));
            }
        }
    }
}

/// Is a call inside of one that began before it in the same thread?
fn is_inside(call: &RawCall<'_>, before: &RawCall<'_>) -> bool {
    match before.end {
        None => true,
        Some(end) if end == call.start => {
            // In one tick: it is inside if it took no longer, and is made by the layer that was called, or by one below, which has a higher
            // place. One that the program makes comes next.
            call.end == Some(end) && call.caller != 0 && call.caller >= before.layer
        }
        Some(end) => end > call.start,
    }
}

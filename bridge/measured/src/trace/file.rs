//! The file of a rank, as `qmpi_abi::trace` describes it: reads what is there, however the process ended. Calls stay in the bytes of the file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use qmpi_abi::trace::{AFTER, BEFORE, Chunk, GRAIN, HEAD, MAGIC, RETURNED, TracedCall, VERSION, Value};
use qmpi_abi::{FnId, MpiFamily};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::rank_record::number;

/// The first line.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct TraceHead {
    version: u32,
    pub(crate) rank: u32,
    pub(crate) process: u32,
    pub(crate) mpi: String,
    /// Whose constants it has.
    #[serde(deserialize_with = "family")]
    pub(crate) family: MpiFamily,
    /// Which calls were asked for: `all`, `first:N`, `last:N`.
    pub(crate) calls: String,
    /// The program, layers from the outermost inwards, the MPI library. In the file the layers stand the other way round, behind the MPI library.
    pub(crate) layers: Vec<String>,
    /// Moments: nanoseconds since 1970, and ticks.
    pub(crate) clocks: Vec<(u64, u64)>,
    /// Calls for which there was no room, if the process has told.
    pub(crate) lost: Option<u64>,
    /// Objects of the MPI library that handles are the addresses of.
    pub(crate) objects: BTreeMap<String, u64>,
    /// The objects that have code.
    #[serde(default)]
    pub(crate) code: Vec<CodeRange>,
}

/// A part of an object that has code: in the file a list of these four.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct CodeRange {
    pub(crate) start: u64,
    /// The one behind it.
    pub(crate) end: u64,
    /// What was added to the addresses in the file.
    pub(crate) base: u64,
    pub(crate) path: Arc<Path>,
}

/// A file.
#[derive(Debug, Clone)]
pub(crate) struct TraceFile<'a> {
    pub(crate) head: TraceHead,
    /// Calls in the order in which they began.
    pub(crate) calls: Vec<RawCall<'a>>,
    /// Layers, and calls that came to them and are not recorded.
    pub(crate) beyond_limit: BTreeMap<usize, u64>,
}

/// A call: what is of interest of its record (`qmpi_abi::trace::TracedCall`), with layers as places in [`TraceHead::layers`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawCall<'a> {
    pub(crate) function: FnId,
    pub(crate) layer: usize,
    pub(crate) caller: usize,
    pub(crate) thread: u32,
    pub(crate) sequence: u64,
    /// In ticks.
    pub(crate) start: u64,
    /// In ticks; `None` if it has not returned.
    pub(crate) end: Option<u64>,
    pub(crate) result: u64,
    /// The address that a call of the program returns to.
    pub(crate) site: u64,
    /// The words that were passed, and what they point to, as in the file.
    words: &'a [u8],
    values: &'a [u8],
}

/// What an argument points to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawValue<'a> {
    pub(crate) place: usize,
    /// [`BEFORE`] the call, [`AFTER`] it and others.
    pub(crate) moment: u8,
    /// Bytes of an element.
    pub(crate) element: usize,
    pub(crate) all: u64,
    pub(crate) bytes: &'a [u8],
}

impl<'a> RawCall<'a> {
    /// A word that was passed; 0 if there is none.
    pub(crate) fn word(&self, place: usize) -> u64 {
        words::<1>(self.words.get(8 * place..).unwrap_or_default())[0]
    }

    /// What arguments point to.
    pub(crate) fn values(&self) -> impl Iterator<Item = RawValue<'a>> + use<'a> {
        let mut rest = self.values;
        std::iter::from_fn(move || {
            let (head, content) = rest.split_at_checked(size_of::<Value>())?;
            let [head, all] = words(head);
            let (place, moment) = (usize::from(head as u8), (head >> 8) as u8);
            let (element, stored) = (usize::from((head >> 16) as u16), (head >> 32) as usize);
            let bytes = content.get(..stored.saturating_mul(element))?;
            rest = content.get(bytes.len().next_multiple_of(8)..).unwrap_or_default();
            Some(RawValue { place, moment, element, all, bytes })
        })
    }

    /// What an argument points to, before or after the call.
    pub(crate) fn value(&self, place: usize, is_after: bool) -> Option<RawValue<'a>> {
        let moment = if is_after { AFTER } else { BEFORE };
        self.values().find(|value| value.place == place && value.moment == moment)
    }
}

/// From ticks to time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    base: (u64, u64),
    pub(crate) ns_per_tick: f64,
}

impl Clock {
    pub(crate) fn nanoseconds(self, ticks: u64) -> u64 {
        let since = ticks.wrapping_sub(self.base.1).cast_signed() as f64 * self.ns_per_tick;
        self.base.0.saturating_add_signed(since as i64)
    }
}

/// The first words of these bytes; 0 where there are no more.
fn words<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut words = [0; N];
    words.iter_mut().zip(bytes.chunks_exact(8)).for_each(|(word, bytes)| *word = number(bytes));
    words
}

/// The family that a word of a first line stands for.
fn family<'de, D: Deserializer<'de>>(word: D) -> Result<MpiFamily, D::Error> {
    let word = String::deserialize(word)?;
    let known = MpiFamily::ALL.iter().find(|(_, known)| *known == word);
    known.map(|(family, _)| *family).ok_or_else(|| D::Error::custom(format!("unknown family `{word}`")))
}

impl TraceHead {
    /// The first line of a file.
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let head = bytes.get(..HEAD).unwrap_or_default();
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let mut head: Self = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if head.version != VERSION {
            return Err(format!("it has version {}, and this command reads version {VERSION}", head.version));
        }
        if let Some(called) = head.layers.get_mut(1..) {
            called.reverse();
        }
        Ok(head)
    }

    /// The place of a layer of which a record has the number, in its lowest 16 bits.
    fn place(&self, number: u64) -> usize {
        match usize::from(number as u16) {
            0 => 0,
            number => self.layers.len().saturating_sub(number),
        }
    }
}

impl<'a> TraceFile<'a> {
    /// Reads what is there.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let mut file = Self { head: TraceHead::parse(bytes)?, calls: Vec::new(), beyond_limit: BTreeMap::new() };
        let mut place = HEAD;
        while let Some(rest) = bytes.get(place..).filter(|rest| rest.len() >= size_of::<Chunk>()) {
            // The fields of a `Chunk`.
            let [magic, size, used, _, layer, ticks, clock, unrecorded] = words(rest);
            let size = usize::try_from(size).unwrap_or(0);
            if magic != MAGIC || size == 0 || size % GRAIN != 0 {
                // The process ended when it had asked for the chunk.
                place += GRAIN;
                continue;
            }
            file.head.clocks.push((clock, ticks));
            let used = usize::try_from(used).unwrap_or(0).min(rest.len());
            file.read_records(rest.get(size_of::<Chunk>()..used).unwrap_or_default());
            let calls = file.beyond_limit.entry(file.head.place(layer)).or_default();
            *calls = calls.saturating_add(unrecorded);
            place += size;
        }
        file.calls.sort_by_key(|call| (call.start, call.thread, call.sequence));
        file.keep_last();
        Ok(file)
    }

    fn read_records(&mut self, mut rest: &'a [u8]) {
        while rest.len() >= size_of::<TracedCall>() {
            // The fields of a `TracedCall`, of which some share a word.
            let [head, origin, sequence, start, end, result, site, lengths] = words(rest);
            let (size, used) = (head as u32 as usize, (lengths as u32).min(head as u32) as usize);
            let Some(body) = rest.get(size_of::<TracedCall>()..used).filter(|_| size >= size_of::<TracedCall>()) else {
                break;
            };
            let Some(function) = FnId::from_index(usize::from((head >> 32) as u16)) else { break };
            let Some((words, values)) = body.split_at_checked(8 * usize::from((head >> 48) as u8)) else { break };
            let end = ((head >> 56) as u8 == RETURNED).then_some(end);
            let [layer, caller] = [origin, origin >> 16].map(|layer| self.head.place(layer));
            let thread = (origin >> 32) as u32;
            // A call that did not get as far as the function itself has no time.
            if start != 0 {
                let call =
                    RawCall { function, layer, caller, thread, sequence, start, end, result, site, words, values };
                self.calls.push(call);
            }
            rest = rest.get(size..).unwrap_or_default();
        }
    }

    /// Where only the last calls were asked for there may be up to twice as many.
    fn keep_last(&mut self) {
        let Some(limit) = self.head.calls.strip_prefix("last:").and_then(|limit| limit.parse::<usize>().ok()) else {
            return;
        };
        let (mut seen, mut kept) = (BTreeMap::new(), Vec::new());
        for call in self.calls.drain(..).rev() {
            let calls: &mut usize = seen.entry((call.thread, call.layer)).or_default();
            *calls += 1;
            if *calls <= limit {
                kept.push(call);
            } else {
                *self.beyond_limit.entry(call.layer).or_default() += 1;
            }
        }
        kept.reverse();
        self.calls = kept;
    }

    /// From the moments that the file has: the first and the last one.
    pub(crate) fn clock(&self) -> Clock {
        let first = self.head.clocks.iter().min_by_key(|clock| clock.1).copied().unwrap_or_default();
        let last = self.head.clocks.iter().max_by_key(|clock| clock.1).copied().unwrap_or_default();
        let ticks = last.1.saturating_sub(first.1);
        let time = last.0.saturating_sub(first.0);
        Clock { base: first, ns_per_tick: if ticks == 0 { 1.0 } else { time as f64 / ticks as f64 } }
    }
}

/// Files as processes write them, for tests.
#[cfg(test)]
pub(crate) mod written {
    use super::*;

    /// A call and the words and values that go with it.
    pub(crate) struct Written {
        pub(crate) function: &'static str,
        pub(crate) layers: (u16, u16),
        pub(crate) thread: u32,
        pub(crate) times: (u64, Option<u64>),
        pub(crate) words: Vec<u64>,
        /// Place, whether it is stored after the call, bytes of an element, elements.
        pub(crate) values: Vec<(u8, bool, u16, Vec<u64>)>,
    }

    /// A file with one chunk; the third layer stands above MPI.
    pub(crate) fn file(family: &str, limit: &str, objects: &str, calls: &[Written]) -> Vec<u8> {
        let head = format!(
            r#"{{"version":{VERSION},"rank":3,"size":4,"process":7,"mpi":"libmpi.so","family":"{family}","calls":"{limit}","layers":
            ["program","MPI","outer"],"clocks":[[1000,0],[2000,500]],"lost":0,"objects":{objects}}}"#
        );
        let mut bytes = format!("{}\n", head.replace('\n', "")).into_bytes();
        bytes.resize(HEAD, 0);
        let mut records = Vec::new();
        for (sequence, call) in calls.iter().enumerate() {
            let mut body = Vec::new();
            for word in &call.words {
                body.extend(word.to_le_bytes());
            }
            for (place, is_after, element, elements) in &call.values {
                body.extend([*place, u8::from(*is_after)]);
                body.extend(element.to_le_bytes());
                body.extend((elements.len() as u32).to_le_bytes());
                body.extend((elements.len() as u64).to_le_bytes());
                let start = body.len();
                for word in elements {
                    body.extend(&word.to_le_bytes()[..usize::from(*element)]);
                }
                body.resize(start + (body.len() - start).next_multiple_of(8), 0);
            }
            let function = FnId::by_name(call.function).unwrap_or_else(|| panic!("{}", call.function));
            let size = (size_of::<TracedCall>() + body.len()) as u32;
            records.extend(size.to_le_bytes());
            records.extend((function.index() as u16).to_le_bytes());
            records.extend([call.words.len() as u8, if call.times.1.is_some() { RETURNED } else { 0 }]);
            records.extend(call.layers.1.to_le_bytes());
            records.extend(call.layers.0.to_le_bytes());
            records.extend(call.thread.to_le_bytes());
            for word in [sequence as u64, call.times.0, call.times.1.unwrap_or(0), 0, 0] {
                records.extend(word.to_le_bytes());
            }
            records.extend(size.to_le_bytes());
            records.extend([0; 4]);
            records.extend(body);
        }
        let used = size_of::<Chunk>() + records.len();
        for word in [MAGIC, GRAIN as u64, used as u64, 1, 1, 250, 1500, 2] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(records);
        bytes.resize(HEAD + GRAIN, 0);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::written::{Written, file};
    use super::*;
    use crate::trace::Recording;

    fn sends(calls: u64) -> Vec<Written> {
        let send = |number: u64| Written {
            function: "MPI_Send",
            layers: (0, 1),
            thread: 0,
            times: (10 * number + 10, Some(10 * number + 15)),
            words: vec![0x7000, number, 0x4c00_0405, 1, 0, 0x4400_0000],
            values: Vec::new(),
        };
        (0..calls).map(send).collect()
    }

    #[test]
    fn a_whole_file() {
        let bytes = file("mpich", "all", "{}", &sends(5));
        let file = TraceFile::parse(&bytes).unwrap();
        assert_eq!((file.head.rank, file.calls.len()), (3, 5));
        assert_eq!((file.calls[4].word(1), file.calls[4].word(9)), (4, 0));
        assert_eq!((file.calls[4].start, file.calls[4].end), (50, Some(55)));
        assert_eq!(file.beyond_limit, BTreeMap::from([(2, 2)]));
        let clock = file.clock();
        assert_eq!((clock.ns_per_tick, clock.nanoseconds(100)), (2.0, 1200));
    }

    #[test]
    fn the_last_calls() {
        let bytes = file("mpich", "last:3", "{}", &sends(5));
        let file = TraceFile::parse(&bytes).unwrap();
        let numbers: Vec<u64> = file.calls.iter().map(|call| call.word(1)).collect();
        assert_eq!(numbers, [2, 3, 4]);
        assert_eq!(file.beyond_limit.values().sum::<u64>(), 4);
    }

    #[test]
    fn what_is_cut_off_or_damaged_is_read_as_far_as_it_goes() {
        let bytes = file("mpich", "all", "{}", &sends(5));
        let first = HEAD + size_of::<Chunk>();
        for len in (first..first + 600).step_by(7) {
            let found = TraceFile::parse(&bytes[..len]).unwrap().calls.len();
            assert!(found <= 5 && found >= (len - first) / 112, "{found} calls in {len} bytes");
        }
        assert!(TraceFile::parse(&bytes[..100]).is_err());
        assert!(TraceFile::parse(b"").is_err());
        for place in (HEAD..HEAD + 700).step_by(3) {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0xff;
            // Whatever comes of it: it comes to an end.
            let _ = TraceFile::parse(&damaged).map(|file| Recording::of(&file).calls().count());
        }
        let mut behind_hole = bytes[..HEAD].to_vec();
        behind_hole.resize(HEAD + 3 * GRAIN, 0);
        behind_hole.extend(&bytes[HEAD..]);
        assert_eq!(TraceFile::parse(&behind_hole).unwrap().calls.len(), 5);
    }
}

//! The file of a rank, as `qmpi_abi::trace` describes it: reads what is there, however the process ended. Calls stay in the bytes of the file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use qmpi_abi::FnId;
use qmpi_abi::trace::{AFTER, BEFORE, Chunk, GRAIN, HEAD, MAGIC, RETURNED, TracedCall, VERSION, Value};
use serde::Deserialize;

use crate::Error;
use crate::rank_file::is_trace;
use crate::trace::constants::Family;

/// The first line.
#[derive(Debug, Clone, Deserialize)]
pub struct TraceHead {
    /// Of all that follows.
    pub version: u32,
    /// The rank.
    pub rank: u32,
    /// How many ranks the job has.
    pub size: Option<u32>,
    /// The number of the process.
    pub process: u32,
    /// The MPI library.
    pub mpi: String,
    /// Whose constants it has.
    pub family: Family,
    /// Which calls were asked for: `all`, `first:N`, `last:N`.
    pub calls: String,
    /// The program, the MPI library, layers from the innermost outwards.
    pub layers: Vec<String>,
    /// Moments: nanoseconds since 1970, and ticks.
    pub clocks: Vec<(u64, u64)>,
    /// Calls for which there was no room, if the process has told.
    pub lost: Option<u64>,
    /// Objects of the MPI library that handles are the addresses of.
    pub objects: BTreeMap<String, u64>,
    /// The objects that have code.
    #[serde(default)]
    pub code: Vec<CodeRange>,
}

/// A part of an object that has code.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "(u64, u64, u64, String)")]
pub struct CodeRange {
    /// Its first address.
    pub start: u64,
    /// The one behind it.
    pub end: u64,
    /// What was added to the addresses in the file.
    pub base: u64,
    /// The file.
    pub path: String,
}

impl From<(u64, u64, u64, String)> for CodeRange {
    fn from((start, end, base, path): (u64, u64, u64, String)) -> Self {
        Self { start, end, base, path }
    }
}

/// A file.
#[derive(Debug, Clone)]
pub struct TraceFile<'a> {
    /// Its first line.
    pub head: TraceHead,
    /// Calls in the order in which they began.
    pub calls: Vec<RawCall<'a>>,
    /// Layers, and calls that came to them and are not recorded.
    pub beyond_limit: Vec<(u16, u64)>,
}

/// A call, as it is recorded.
#[derive(Debug, Clone, Copy)]
pub struct RawCall<'a> {
    /// The function.
    pub function: FnId,
    /// The layer that was called, and the one that called.
    pub layer: u16,
    /// The caller.
    pub caller: u16,
    /// The thread.
    pub thread: u32,
    /// Its number in the thread.
    pub sequence: u64,
    /// Ticks.
    pub start: u64,
    /// Ticks; `None` if it has not returned.
    pub end: Option<u64>,
    /// The word that it returned.
    pub result: u64,
    /// Where the program made it, if it did.
    pub site: Option<u64>,
    /// The words that were passed, and what they point to, as in the file.
    words: &'a [u8],
    values: &'a [u8],
}

/// What an argument points to.
#[derive(Debug, Clone, Copy)]
pub struct RawValue<'a> {
    /// Which argument.
    pub place: usize,
    /// [`BEFORE`] the call, [`AFTER`] it and others.
    pub moment: u8,
    /// Bytes of an element.
    pub element: usize,
    /// How many there are.
    pub all: u64,
    /// The first ones.
    pub bytes: &'a [u8],
}

impl<'a> RawCall<'a> {
    /// A word that was passed; 0 if there is none.
    pub fn word(&self, place: usize) -> u64 {
        WordReader(self.words.get(8 * place..).unwrap_or_default()).u64()
    }

    /// What arguments point to.
    pub fn values(&self) -> impl Iterator<Item = RawValue<'a>> + use<'a> {
        let mut rest = self.values;
        std::iter::from_fn(move || {
            let mut words = WordReader(rest.get(..size_of::<Value>())?);
            let (place, moment, element) = (words.u8(), words.u8(), words.u16());
            let (stored, all) = (words.u32() as usize, words.u64());
            let content = &rest[size_of::<Value>()..];
            let bytes = content.get(..stored.saturating_mul(usize::from(element)))?;
            rest = content.get(bytes.len().next_multiple_of(8)..).unwrap_or_default();
            Some(RawValue { place: usize::from(place), moment, element: usize::from(element), all, bytes })
        })
    }

    /// What an argument points to, before or after the call.
    pub fn value(&self, place: usize, is_after: bool) -> Option<RawValue<'a>> {
        let moment = if is_after { AFTER } else { BEFORE };
        self.values().find(|value| value.place == place && value.moment == moment)
    }
}

/// From ticks to time.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    base: (u64, u64),
    /// Nanoseconds in a tick.
    pub ns_per_tick: f64,
}

impl Clock {
    /// Nanoseconds since 1970.
    pub fn nanoseconds(self, ticks: u64) -> u64 {
        let since = ticks.wrapping_sub(self.base.1).cast_signed() as f64 * self.ns_per_tick;
        self.base.0.saturating_add_signed(since as i64)
    }
}

/// The files of a directory.
pub(super) fn paths(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(directory)
        .map_err(|error| Error::Report { path: directory.to_owned(), problem: error.to_string() })?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| is_trace(path));
    paths.sort();
    Ok(paths)
}

/// Words of the file, one after the other.
struct WordReader<'a>(&'a [u8]);

impl WordReader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (word, rest) = self.0.split_first_chunk().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *word
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.take())
    }
}

fn chunk(bytes: &[u8]) -> Chunk {
    let mut words = WordReader(bytes);
    Chunk {
        magic: words.u64(),
        size: words.u64(),
        used: words.u64(),
        generation: words.u64(),
        layer: words.u64(),
        ticks: words.u64(),
        clock: words.u64(),
        unrecorded: words.u64(),
    }
}

fn record(bytes: &[u8]) -> TracedCall {
    let mut words = WordReader(bytes);
    TracedCall {
        size: words.u32(),
        function: words.u16(),
        arguments: words.u8(),
        state: words.u8(),
        layer: words.u16(),
        caller: words.u16(),
        thread: words.u32(),
        sequence: words.u64(),
        start: words.u64(),
        end: words.u64(),
        result: words.u64(),
        site: words.u64(),
        used: words.u32(),
        taken: words.u32(),
    }
}

impl TraceHead {
    /// Of a file: its first line.
    pub fn read(path: &Path) -> Result<Self, String> {
        let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        file.take(HEAD as u64).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Self::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let head = bytes.get(..HEAD).unwrap_or_default();
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let head: Self = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if head.version != VERSION {
            return Err(format!("it has version {}, and this command reads version {VERSION}", head.version));
        }
        Ok(head)
    }
}

impl<'a> TraceFile<'a> {
    /// Reads what is there.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let mut head = TraceHead::parse(bytes)?;
        let mut file = Self { head: head.clone(), calls: Vec::new(), beyond_limit: Vec::new() };
        let (mut place, mut beyond) = (HEAD, BTreeMap::new());
        while let Some(rest) = bytes.get(place..).filter(|rest| rest.len() >= size_of::<Chunk>()) {
            let chunk = chunk(rest);
            let size = usize::try_from(chunk.size).unwrap_or(0);
            if chunk.magic != MAGIC || size == 0 || size % GRAIN != 0 {
                // The process ended when it had asked for the chunk.
                place += GRAIN;
                continue;
            }
            head.clocks.push((chunk.clock, chunk.ticks));
            let used = usize::try_from(chunk.used).unwrap_or(0).min(rest.len());
            file.read_records(rest.get(size_of::<Chunk>()..used).unwrap_or_default());
            let calls: &mut u64 = beyond.entry(chunk.layer).or_default();
            *calls = calls.saturating_add(chunk.unrecorded);
            place += size;
        }
        for (layer, calls) in beyond {
            file.beyond_limit.push((layer as u16, calls));
        }
        file.calls.sort_by_key(|call| (call.start, call.thread, call.sequence));
        file.head = head;
        file.keep_last();
        Ok(file)
    }

    fn read_records(&mut self, mut rest: &'a [u8]) {
        while rest.len() >= size_of::<TracedCall>() {
            let head = record(rest);
            let (size, used) = (head.size as usize, head.used.min(head.size) as usize);
            let Some(body) = rest.get(size_of::<TracedCall>()..used).filter(|_| size >= size_of::<TracedCall>()) else {
                break;
            };
            let Some(function) = FnId::from_index(usize::from(head.function)) else { break };
            let arguments = usize::from(head.arguments);
            let Some((words, values)) = body.split_at_checked(8 * arguments) else { break };
            // A call that did not get as far as the function itself has no time.
            if head.start != 0 {
                self.calls.push(RawCall {
                    function,
                    layer: head.layer,
                    caller: head.caller,
                    thread: head.thread,
                    sequence: head.sequence,
                    start: head.start,
                    end: (head.state == RETURNED).then_some(head.end),
                    result: head.result,
                    site: (head.site != 0).then_some(head.site),
                    words,
                    values,
                });
            }
            rest = rest.get(size..).unwrap_or_default();
        }
    }

    /// Where only the last calls were asked for there may be up to twice as many.
    fn keep_last(&mut self) {
        let Some(limit) = self.head.calls.strip_prefix("last:").and_then(|limit| limit.parse::<usize>().ok()) else {
            return;
        };
        let mut seen: BTreeMap<(u32, u16), usize> = BTreeMap::new();
        let mut extra: BTreeMap<u16, u64> = BTreeMap::new();
        let mut kept = BTreeSet::new();
        for call in self.calls.iter().rev() {
            let calls = seen.entry((call.thread, call.layer)).or_default();
            *calls += 1;
            if *calls <= limit {
                kept.insert((call.thread, call.sequence));
            } else {
                *extra.entry(call.layer).or_default() += 1;
            }
        }
        self.calls.retain(|call| kept.contains(&(call.thread, call.sequence)));
        self.beyond_limit.extend(extra);
    }

    /// From the moments that the file has: the first and the last one.
    pub fn clock(&self) -> Clock {
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
        assert_eq!(file.beyond_limit, [(1, 2)]);
        let clock = file.clock();
        assert_eq!((clock.ns_per_tick, clock.nanoseconds(100)), (2.0, 1200));
    }

    #[test]
    fn the_last_calls() {
        let bytes = file("mpich", "last:3", "{}", &sends(5));
        let file = TraceFile::parse(&bytes).unwrap();
        let numbers: Vec<u64> = file.calls.iter().map(|call| call.word(1)).collect();
        assert_eq!(numbers, [2, 3, 4]);
        assert_eq!(file.beyond_limit.iter().map(|(_, calls)| calls).sum::<u64>(), 4);
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

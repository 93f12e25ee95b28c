//! What a rank leaves (`recorder/src/record.rs`), and the columns of numbers that its links are written as (`recorder/src/columns.rs`).

use std::ops::AddAssign;

use qmpi_abi::FnId;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// The version of the records that this command reads.
const SCHEMA: u32 = 3;

/// What one rank measured. Times are in ticks of its time-stamp counter.
#[derive(Debug, Clone, Deserialize)]
pub struct RankFile {
    pub schema: u32,
    /// The rank, as its launcher told it.
    pub rank: u32,
    /// How many ranks the job has, if the launcher told.
    pub size: Option<u32>,
    /// The name of its MPI_COMM_WORLD, if the launcher has one.
    pub world: Option<String>,
    pub host: String,
    pub process: u32,
    /// When it started, since 1970.
    pub started_ms: u64,
    pub came_to: CameTo,
    /// Time from start-up to the end of the process.
    pub elapsed_ns: u64,
    /// Time from start-up to the end of the process, in ticks.
    pub ticks: u64,
    pub probe_ticks: ProbeTicks,
    /// Threads that called MPI at a time.
    pub threads: u32,
    /// Threads that could not be measured.
    pub threads_without: u64,
    /// The program, the MPI library, the layers from the innermost outwards.
    pub layers: Vec<String>,
    /// Links that were not measured: the layer and the function.
    pub unmeasured: Vec<(usize, String)>,
    /// Links that were called.
    #[serde(deserialize_with = "read")]
    pub links: Vec<LinkRecord>,
    /// The rank wrote no record: this is what it had counted until it ended.
    #[serde(skip)]
    pub is_cut_off: bool,
}

/// Where a rank was before it wrote its record.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct CameTo {
    /// Its call of MPI_Abort came to the MPI library.
    pub abort: bool,
    /// Its exit handlers ran.
    pub exit: bool,
}

/// What a probe adds.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct ProbeTicks {
    /// To the time of the call that it measures.
    pub inside: f64,
    /// To the time of that call's caller, from which it is taken off already.
    pub outside: f64,
    /// To the time of the caller, where bytes are counted.
    pub outside_with_bytes: f64,
}

/// A link into a layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkRecord {
    pub layer: usize,
    pub function: String,
    /// Of each layer that called.
    pub callers: Vec<(usize, Traffic)>,
    /// Time from call to return.
    pub inclusive: u64,
    /// Time without calls of layers below.
    pub own: i64,
    pub longest: u64,
    /// How many calls took a time of so many bits and one more.
    pub histogram: Vec<(u32, u64)>,
}

/// The value of a key in a list of few: there are many lists, and a map takes ten times the memory.
pub(crate) fn entry<K: PartialEq, V: Default>(list: &mut Vec<(K, V)>, key: K) -> &mut V {
    let known = list.iter().position(|(known, _)| *known == key);
    let place = known.unwrap_or(list.len());
    if known.is_none() {
        list.push((key, V::default()));
    }
    &mut list[place].1
}

/// A number as machines store it that `qmpi` runs on, the lowest byte first: its first eight bytes, or as many as there are.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Calls, and the bytes that they move where their arguments tell.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Traffic {
    pub calls: u64,
    pub bytes: MovedBytes,
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.bytes += other.bytes;
    }
}

/// Bytes that calls move.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MovedBytes {
    /// Out of buffers.
    pub sent: u64,
    /// Room in buffers for what comes in.
    pub received: u64,
}

impl AddAssign for MovedBytes {
    fn add_assign(&mut self, other: Self) {
        self.sent = self.sent.saturating_add(other.sent);
        self.received = self.received.saturating_add(other.received);
    }
}

impl RankFile {
    /// Nanoseconds in a tick.
    pub fn ns_per_tick(&self) -> f64 {
        if self.ticks == 0 { 0.0 } else { self.elapsed_ns as f64 / self.ticks as f64 }
    }

    /// Can this command read it?
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!("it has version {}, and this command reads version {SCHEMA}", self.schema));
        }
        let layers = self.layers.len();
        let is_whole = |link: &LinkRecord| link.layer < layers;
        if self.links.iter().all(is_whole) { Ok(()) } else { Err("a link has no layer".to_owned()) }
    }
}

/// The columns of a record, in its order. Some have large unsigned numbers, others negative ones.
type Columns = [Vec<i128>; 11];

/// Links of columns that fit together.
fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<LinkRecord>, D::Error> {
    links(&Columns::deserialize(deserializer)?).ok_or_else(|| D::Error::custom("the columns of the links do not fit"))
}

fn links(columns: &Columns) -> Option<Vec<LinkRecord>> {
    let [functions, layers, callers, calls, sent, received, own, inclusive, longest, first, histogram] = columns;
    let place = |column: &[i128], row: usize| usize::try_from(*column.get(row)?).ok();
    let number = |column: &[i128], row: usize| u64::try_from(*column.get(row)?).ok();
    let mut links: Vec<LinkRecord> = Vec::new();
    let (mut function, mut last) = (0, None);
    for row in 0..functions.len() {
        function += place(functions, row)?;
        let layer = place(layers, row)?;
        if last.replace((function, layer)) != Some((function, layer)) {
            let id = FnId::from_index(function)?;
            links.push(LinkRecord { layer, function: id.name().to_owned(), ..LinkRecord::default() });
        }
        let bytes = MovedBytes { sent: number(sent, row)?, received: number(received, row)? };
        let caller = entry(&mut links.last_mut()?.callers, place(callers, row)?);
        *caller += Traffic { calls: number(calls, row)?, bytes };
    }
    let mut counts = histogram.split(|count| *count < 0);
    for (row, link) in links.iter_mut().enumerate() {
        // A time that is left by an exception may be negative, which counts as none.
        let or = |number: i128, other: u64| if number == 0 { other } else { number.max(0) as u64 };
        link.own = *own.get(row)? as i64;
        link.inclusive = or(*inclusive.get(row)?, link.own.max(0).cast_unsigned());
        link.longest = or(*longest.get(row)?, link.inclusive);
        let counts = counts.next()?.iter().map(|count| *count as u64);
        link.histogram = (*first.get(row)? as u32..).zip(counts).filter(|(_, count)| *count > 0).collect();
    }
    Some(links)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `columns.rs` of the recorder expects of itself.
    const TEXT: &str = "[[7,3,0,0],[1,1,1,2],[0,1,2,1],[1,1,3,4],[0,40,1,40],[0,0,2,0],[9,500,-5],[0,0,1235000],[0,0,99],[9,9,9],\
        [3,0,1,-1,3,0,1,-1,3,0,1,-1]]";

    #[test]
    fn columns_are_links() {
        let read = links(&serde_json::from_str(TEXT).unwrap()).unwrap();
        let name = |index: usize| FnId::from_index(index).unwrap().name().to_owned();
        let caller = |(layer, calls, sent, received)| (layer, Traffic { calls, bytes: MovedBytes { sent, received } });
        let link =
            |layer, function, callers: &[(usize, u64, u64, u64)], [own, inclusive, longest]: [i64; 3]| LinkRecord {
                layer,
                function: name(function),
                callers: callers.iter().copied().map(caller).collect(),
                inclusive: inclusive as u64,
                own,
                longest: longest as u64,
                histogram: vec![(9, 3), (11, 1)],
            };
        let expected = [
            link(1, 7, &[(0, 1, 0, 0)], [9, 9, 9]),
            link(1, 10, &[(1, 1, 40, 0), (2, 3, 1, 2)], [500, 500, 500]),
            link(2, 10, &[(1, 4, 40, 0)], [-5, 1_235_000, 99]),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn columns_that_do_not_fit() {
        for (column, other) in [("[1,1,1,2]", "[1,1]"), ("[9,500,-5]", "[]"), ("[7,3", "[7000,3"), ("1,-1]]", "1]]")] {
            let text = TEXT.replacen(column, other, 1);
            let damaged = links(&serde_json::from_str(&text).unwrap());
            // Without its end the last row of a histogram is there all the same.
            assert_eq!(damaged.is_none(), column != "1,-1]]", "{column}");
        }
    }
}

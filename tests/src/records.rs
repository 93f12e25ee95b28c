//! What ranks of a job leave that ran with `--report`, made up: any number of ranks, with numbers that a test knows.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use qmpi_abi::FnId;
use serde_json::{Value, json};

/// Each host has a file.
const RANKS_OF_HOST: u32 = 128;

/// A job. Ticks are nanoseconds, and a probe costs nothing, so that numbers come out as they are planted.
#[derive(Debug, Clone)]
pub struct Records {
    /// How many ranks the launcher started.
    pub size: u32,
    /// Ranks that left nothing.
    pub missing: Vec<u32>,
    /// Labels, outermost first.
    pub layers: Vec<String>,
    /// Functions that the program calls, each of which all layers pass on.
    pub functions: Vec<Function>,
}

/// A function: calls on each rank, and the time of a call in each layer. A tenth of the calls take eight times as long in the histogram.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// On each rank.
    pub calls: u64,
    /// Of a call, outermost first, the MPI library last.
    pub own_ns: Vec<u64>,
    /// This rank takes ten times as long.
    pub slow: Option<u32>,
    /// Bytes that a call sends and receives; the innermost layer makes twice as many of them.
    pub bytes: [u64; 2],
}

impl Function {
    /// What a rank takes for all calls at a layer.
    pub fn own(&self, layer: usize, rank: u32) -> u64 {
        self.calls * self.own_ns[layer] * if self.slow == Some(rank) { 10 } else { 1 }
    }
}

impl Records {
    /// Two layers and three functions.
    pub fn small(size: u32) -> Records {
        let function = |name: &str, calls, own_ns: [u64; 3], slow, bytes| Function {
            name: name.to_owned(),
            calls,
            own_ns: own_ns.to_vec(),
            slow,
            bytes,
        };
        Records {
            size,
            missing: Vec::new(),
            layers: ["outer", "inner"].map(str::to_owned).to_vec(),
            functions: vec![
                function("MPI_Send", 1000, [2000, 500, 40_000], Some(size / 2), [1000, 0]),
                function("MPI_Recv", 100, [1000, 250, 90_000], None, [0, 4_000_000]),
                function("MPI_Bcast", 7, [3000, 125, 600_000], None, [0, 0]),
            ],
        }
    }

    /// As many functions as a large program calls.
    pub fn large(size: u32) -> Records {
        let mut records = Records::small(size);
        records.layers.push("third".to_owned());
        records.functions = (0..40)
            .map(|number| Function {
                name: FnId::from_index(7 * number as usize).map_or_else(String::new, |id| id.name().to_owned()),
                calls: 10_u64.pow(1 + number % 5),
                bytes: [u64::from(number % 2) * 1024, u64::from(number % 7)],
                own_ns: vec![300 + 10 * u64::from(number), 700, 90, 20_000],
                slow: (number % 3 == 0).then_some(size / 3),
            })
            .collect();
        records
    }

    /// Writes what the ranks leave into a directory.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        std::fs::create_dir_all(directory)?;
        for host in 0..self.size.div_ceil(RANKS_OF_HOST) {
            let ranks = host * RANKS_OF_HOST..self.size.min((host + 1) * RANKS_OF_HOST);
            let mut file = File::create(directory.join(format!("ranks-node{host}.jsonl.gz")))?;
            for rank in ranks.filter(|rank| !self.missing.contains(rank)) {
                let mut member = GzEncoder::new(&mut file, Compression::best());
                writeln!(member, "{}", self.rank(rank))?;
                member.finish()?;
            }
        }
        Ok(())
    }

    fn rank(&self, rank: u32) -> Value {
        let count = self.layers.len();
        // The MPI library is number 1, and layers follow from the innermost outwards.
        let number = |layer: usize| 1 + count - layer;
        let [mut function, mut layer, mut caller] = [const { Vec::new() }; 3];
        let [mut calls, mut sent, mut received] = [const { Vec::new() }; 3];
        let [mut own, mut inclusive, mut longest, mut first] = [const { Vec::new() }; 4];
        let mut histogram: Vec<i64> = Vec::new();
        let mut functions: Vec<(usize, &Function)> =
            self.functions.iter().filter_map(|known| Some((FnId::by_name(&known.name)?.index(), known))).collect();
        functions.sort_by_key(|(index, _)| *index);
        let mut before = 0;
        for (index, known) in functions {
            for place in (0..=count).rev() {
                function.push(index - std::mem::replace(&mut before, index));
                layer.push(number(place));
                caller.push(if place == 0 { 0 } else { number(place - 1) });
                calls.push(known.calls);
                let times = known.calls * if place == count { 2 } else { 1 };
                sent.push(times * known.bytes[0]);
                received.push(times * known.bytes[1]);
                let all: u64 = (place..=count).map(|below| known.own(below, rank)).sum();
                inclusive.push(all);
                own.push(known.own(place, rank));
                longest.push(all / known.calls + 1);
                let bits = (all / known.calls).max(1).ilog2();
                first.push(u64::from(bits));
                let (few, many) = ((known.calls / 10) as i64, (known.calls - known.calls / 10) as i64);
                histogram.extend([many, 0, 0, few, -1]);
            }
        }
        let links = json!([function, layer, caller, calls, sent, received, own, inclusive, longest, first, histogram]);
        let busy: u64 =
            self.functions.iter().map(|function| (0..=count).map(|at| function.own(at, rank)).sum::<u64>()).sum();
        let mut layers = vec!["program", "MPI"];
        layers.extend(self.layers.iter().rev().map(String::as_str));
        json!({"schema": 3, "rank": rank, "size": self.size, "process": 1000 + rank, "host": format!("node{}", rank / RANKS_OF_HOST),
            "world": null, "started_ms": 1_700_000_000_000_u64, "came_to": {"finalize": true, "abort": false, "exit": true}, "elapsed_ns": 2 * busy, "ticks": 2 * busy,
            "probe_ticks": {"inside": 0.0, "outside": 0, "outside_with_bytes": 0}, "threads": 1, "threads_without": 0, "layers": layers,
            "unmeasured": [], "links": links})
    }
}

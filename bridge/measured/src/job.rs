//! What the ranks of a job have measured together.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::blind_spots::UnseenCalls;
use crate::rank_file::Ranks;
use crate::rank_record::{LinkRecord, MovedBytes, RankFile, Traffic};
use crate::worlds::{self, World};

/// All ranks.
#[derive(Debug, Default, Serialize)]
pub struct MeasuredJob {
    /// How many ranks the launchers started, or as many as there are records.
    pub size: u32,
    /// The processes that belong together, one after the other: ranks below are numbered through.
    pub worlds: Vec<World>,
    /// Ranks that left nothing.
    pub missing: Vec<u32>,
    /// Ranks that left no record, but what they had counted: killed, or ended without exit handlers before MPI_Finalize.
    pub killed: Vec<u32>,
    /// Ranks whose last record is that of MPI_Finalize or MPI_Abort: they ended without exit handlers.
    pub cut: Vec<u32>,
    /// Ranks that called MPI_Abort.
    pub aborted: Vec<u32>,
    /// Records that could not be read.
    pub damaged: usize,
    /// The sum of the ranks' times from start-up to end.
    pub elapsed_ns: u64,
    /// What a probe costs on average, in and around the call.
    pub probe_ns: f64,
    /// What a probe that counts bytes costs on average.
    pub probe_with_bytes_ns: f64,
    /// Calls of threads that could not be measured are missing; links of functions with an unknown number of arguments, too.
    pub unmeasured: Vec<String>,
    /// The most threads that called MPI at a time, on any rank: their times add up.
    pub threads: u32,
    /// The program, then layers from the outermost inwards, then the MPI library.
    pub layers: Vec<MeasuredLayer>,
    /// Which layer calls which.
    pub edges: Vec<MeasuredEdge>,
    /// What layers did not see of the program's calls.
    pub not_seen: Vec<UnseenCalls>,
}

/// Calls from one layer into another: places in the list of layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MeasuredEdge {
    pub from: usize,
    pub to: usize,
    #[serde(flatten)]
    pub traffic: Traffic,
}

/// What happens between the edge above a layer and those below it.
#[derive(Debug, Default, Serialize)]
pub struct MeasuredLayer {
    pub label: String,
    pub calls_in: u64,
    pub calls_out: u64,
    pub bytes_in: MovedBytes,
    pub bytes_out: MovedBytes,
    /// Time in it, and not below it.
    pub own: TimeSpread,
    pub functions: BTreeMap<String, MeasuredFunction>,
}

/// A function at a layer.
#[derive(Debug, Default, Serialize)]
pub struct MeasuredFunction {
    pub calls_in: u64,
    /// Calls that the layer makes of this function, in whichever wrapper.
    pub calls_out: u64,
    /// By rank: calls that come in, calls that go out.
    pub by_rank: BTreeMap<u32, (u64, u64)>,
    pub bytes_in: MovedBytes,
    pub bytes_out: MovedBytes,
    /// By rank, if there are any: those that come in, those that go out.
    pub bytes_by_rank: BTreeMap<u32, (MovedBytes, MovedBytes)>,
    /// Time in the layer, and not below it.
    pub own: TimeSpread,
    /// Time from call to return, on all ranks.
    pub inclusive_ns: f64,
    /// The longest call on any rank, from call to return.
    pub longest_ns: f64,
    /// How many calls took less than so many nanoseconds, and at least a quarter of that.
    pub histogram: BTreeMap<u64, u64>,
}

/// A time on all ranks, in nanoseconds.
#[derive(Debug, Default, Clone, Serialize)]
pub struct TimeSpread {
    /// On all ranks together.
    pub sum_ns: f64,
    /// On the rank with the least.
    pub min_ns: f64,
    /// On the rank with the most.
    pub max_ns: f64,
    /// The rank with the most.
    pub max_rank: u32,
    /// On each rank that has a record.
    pub by_rank: BTreeMap<u32, f64>,
}

impl TimeSpread {
    /// The median of the times of all ranks that have a record.
    pub(crate) fn median_ns(&self) -> f64 {
        median(self.by_rank.values().copied().collect())
    }

    /// The numbers that follow from those of the ranks; a rank without a call has no time.
    fn finish(&mut self, ranks: &[u32]) {
        for rank in ranks {
            self.by_rank.entry(*rank).or_default();
        }
        self.sum_ns = self.by_rank.values().sum();
        self.min_ns = self.by_rank.values().copied().fold(f64::INFINITY, f64::min);
        let most = self.by_rank.iter().max_by(|left, right| left.1.total_cmp(right.1));
        (self.max_rank, self.max_ns) = most.map_or((0, 0.0), |(rank, time)| (*rank, *time));
    }
}

/// By caller and layer.
type Edges = BTreeMap<(usize, usize), Traffic>;

impl MeasuredJob {
    /// Sums up what ranks left; there is at least one. Layers that are on some ranks only are brought together by their labels.
    pub fn of(ranks: &Ranks) -> Self {
        let files = &ranks.files;
        let (numbers, worlds) = worlds::number(files);
        let size = worlds.iter().map(|world| world.size).sum();
        // Ranks in order.
        let which = |is_one: &dyn Fn(&RankFile) -> bool| {
            let which = files.iter().zip(&numbers).filter(|(file, _)| is_one(file)).map(|(_, number)| *number);
            Vec::from_iter(BTreeSet::from_iter(which))
        };
        let ranks_here = which(&|_| true);
        let mut job = Self {
            size,
            worlds,
            missing: (0..size).filter(|rank| ranks_here.binary_search(rank).is_err()).collect(),
            killed: which(&|file| file.is_cut_off),
            cut: which(&|file| !file.is_cut_off && !file.came_to.exit && !file.came_to.abort),
            aborted: which(&|file| file.came_to.abort),
            damaged: ranks.damaged,
            elapsed_ns: files.iter().map(|file| file.elapsed_ns).sum(),
            unmeasured: unmeasured(files, &numbers),
            threads: files.iter().map(|file| file.threads).max().unwrap_or(0),
            layers: labels(files).into_iter().map(|label| MeasuredLayer { label, ..Default::default() }).collect(),
            ..Self::default()
        };
        let mut edges = BTreeMap::new();
        for (file, rank) in files.iter().zip(&numbers) {
            let cost = |outside| (file.probe_ticks.inside + outside) * file.ns_per_tick() / files.len() as f64;
            job.probe_ns += cost(file.probe_ticks.outside);
            job.probe_with_bytes_ns += cost(file.probe_ticks.outside_with_bytes);
            for link in &file.links {
                job.add(file, *rank, link, &mut edges);
            }
        }
        job.edges = edges.into_iter().map(|((from, to), traffic)| MeasuredEdge { from, to, traffic }).collect();
        for layer in &mut job.layers {
            for function in layer.functions.values_mut() {
                for (rank, time) in &function.own.by_rank {
                    *layer.own.by_rank.entry(*rank).or_default() += time;
                }
                function.own.finish(&ranks_here);
                layer.calls_in += function.calls_in;
                layer.calls_out += function.calls_out;
                layer.bytes_in += function.bytes_in;
                layer.bytes_out += function.bytes_out;
            }
            layer.own.finish(&ranks_here);
        }
        job.not_seen = job.tools().iter().filter_map(|tool| job.not_seen_by(tool)).collect();
        job
    }

    /// The functions that the program calls and of which no call comes to a tool; `None`: the tool sees all.
    fn not_seen_by(&self, tool: &MeasuredLayer) -> Option<UnseenCalls> {
        let is_seen = |name: &str| tool.functions.get(name).is_some_and(|function| function.calls_in > 0);
        let made = self.layers.first()?.functions.iter().map(|(name, function)| (name.clone(), function.calls_out));
        let functions: BTreeMap<String, u64> = made.filter(|(name, calls)| *calls > 0 && !is_seen(name)).collect();
        let calls = functions.values().sum();
        (calls > 0).then(|| UnseenCalls { layer: tool.label.clone(), calls, functions })
    }

    /// What layers did not see of the program's calls, a sentence for each.
    pub(crate) fn blind_spots(&self) -> impl Iterator<Item = String> {
        let all = self.layers.first().map_or(0, |program| program.calls_out);
        self.not_seen.iter().map(move |unseen| unseen.text(all))
    }

    /// The place of a layer; all labels of all files are in the list.
    fn place(&self, label: &str) -> usize {
        self.layers.iter().position(|layer| layer.label == label).unwrap_or(0)
    }

    fn add(&mut self, file: &RankFile, rank: u32, link: &LinkRecord, edges: &mut Edges) {
        let scale = file.ns_per_tick();
        let to = self.place(&file.layers[link.layer]);
        let mut all = Traffic::default();
        for (caller, traffic) in &link.callers {
            let from = self.place(file.layers.get(*caller).map_or("program", String::as_str));
            *edges.entry((from, to)).or_default() += *traffic;
            all += *traffic;
            let function = self.layers[from].functions.entry(link.function.clone()).or_default();
            function.calls_out += traffic.calls;
            function.by_rank.entry(rank).or_default().1 += traffic.calls;
            function.bytes_out += traffic.bytes;
            if traffic.bytes != MovedBytes::default() {
                function.bytes_by_rank.entry(rank).or_default().1 += traffic.bytes;
            }
        }
        let inside = file.probe_ticks.inside * all.calls as f64;
        let own = (link.own as f64 - inside).max(0.0) * scale;
        let function = self.layers[to].functions.entry(link.function.clone()).or_default();
        function.calls_in += all.calls;
        function.by_rank.entry(rank).or_default().0 += all.calls;
        function.bytes_in += all.bytes;
        if all.bytes != MovedBytes::default() {
            function.bytes_by_rank.entry(rank).or_default().0 += all.bytes;
        }
        *function.own.by_rank.entry(rank).or_default() += own;
        function.inclusive_ns += (link.inclusive as f64 - inside).max(0.0) * scale;
        function.longest_ns = function.longest_ns.max(link.longest as f64 * scale);
        for (bits, count) in &link.histogram {
            let bound = 2.0_f64.powi(i32::try_from(*bits).unwrap_or(0) + 1) * scale;
            *function.histogram.entry((bound.ceil() as u64).next_power_of_two()).or_default() += count;
        }
    }

    /// The layers between the program and the MPI library.
    pub fn tools(&self) -> &[MeasuredLayer] {
        self.layers.get(1..self.layers.len().saturating_sub(1)).unwrap_or_default()
    }

    /// What layers and the MPI library leave of the ranks' time.
    pub fn program_ns(&self) -> f64 {
        let below: f64 = self.layers.iter().map(|layer| layer.own.sum_ns).sum();
        (self.elapsed_ns as f64 - below).max(0.0)
    }

    /// The names of all functions, those first that are called most often.
    pub fn functions_by_calls(&self) -> Vec<&str> {
        let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
        for (_, name, function) in self.functions() {
            *calls.entry(name).or_default() += function.calls_in.max(function.calls_out);
        }
        let mut names: Vec<&str> = calls.keys().copied().collect();
        names.sort_by_key(|name| (std::cmp::Reverse(calls[name]), *name));
        names
    }

    /// All functions that are called at layers, those first that take the most time.
    pub fn functions_by_time(&self) -> Vec<(&MeasuredLayer, &str, &MeasuredFunction)> {
        let mut called: Vec<_> = self.functions().filter(|(_, _, function)| function.calls_in > 0).collect();
        called.sort_by(|left, right| right.2.own.sum_ns.total_cmp(&left.2.own.sum_ns));
        called
    }

    /// All functions of all layers.
    pub(crate) fn functions(&self) -> impl Iterator<Item = (&MeasuredLayer, &str, &MeasuredFunction)> {
        self.layers
            .iter()
            .flat_map(|layer| layer.functions.iter().map(move |(name, function)| (layer, name.as_str(), function)))
    }

    /// The share of a time in that of the whole job, as a number of percent.
    pub fn share(&self, time_ns: f64) -> f64 {
        100.0 * time_ns / (self.elapsed_ns.max(1) as f64)
    }
}

/// The median of these values; 0 if there are none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match (values.len() / 2, values.len() % 2) {
        (0, 0) => 0.0,
        (half, 0) => f64::midpoint(values[half - 1], values[half]),
        (half, _) => values[half],
    }
}

/// Labels of all files: the program, layers from the outermost inwards, the MPI library. A layer that a rank alone has comes behind the one
/// that is in front of it there.
fn labels(files: &[RankFile]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for file in files {
        let mut place = 0;
        for label in file.layers.iter().take(1).chain(file.layers.iter().skip(1).rev()) {
            match labels.iter().position(|known| known == label) {
                Some(known) => place = known + 1,
                None => {
                    labels.insert(place.min(labels.len()), label.clone());
                    place += 1;
                }
            }
        }
    }
    labels
}

fn unmeasured(files: &[RankFile], numbers: &[u32]) -> Vec<String> {
    let links = files.iter().flat_map(|file| {
        file.unmeasured.iter().map(|(layer, function)| {
            format!("{function} at {}", file.layers.get(*layer).map_or("a layer of a named stack", String::as_str))
        })
    });
    let threads = files.iter().zip(numbers).filter(|(file, _)| file.threads_without > 0);
    let threads = threads.map(|(file, rank)| format!("{} threads of rank {rank}", file.threads_without));
    links.chain(threads).collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rank of `size` on which `outer` and `inner` stand above MPI: a tick is half a nanosecond, a probe costs ten.
    fn rank(rank: u32, size: u32, functions: usize) -> RankFile {
        // The first functions of the table, each at three layers.
        let repeated = |numbers: [i64; 3]| vec![numbers; functions].concat();
        let steps: Vec<usize> = (0..3 * functions).map(|row| usize::from(row > 0 && row % 3 == 0)).collect();
        let columns = format!(
            "[{steps:?},{:?},{:?},{:?},{:?},{:?},{:?},{:?},{:?},{:?},{:?}]",
            repeated([1, 2, 3]),
            repeated([2, 3, 0]),
            repeated([20, 10, 10]),
            repeated([0, 40, 40]),
            repeated([7, 8, 9]),
            repeated([4200, 1000, 2100 + 100 * i64::from(rank)]),
            repeated([5000, 6000, 9000]),
            repeated([900; 3]),
            repeated([9; 3]),
            [20, -1, 10, -1, 10, -1].repeat(functions),
        );
        let text = format!(
            r#"{{"schema":3,"rank":{rank},"size":{size},"process":7,"host":"a","world":null,"started_ms":1,
                "came_to":{{"finalize":true,"abort":false,"exit":true}},"elapsed_ns":10000,"ticks":20000,
                "probe_ticks":{{"inside":10.0,"outside":10,"outside_with_bytes":12}},"threads":1,"threads_without":0,
                "layers":["program","MPI","inner","outer"],"unmeasured":[[1,"MPI_Pcontrol"]],"links":{columns}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn of(files: Vec<RankFile>) -> MeasuredJob {
        MeasuredJob::of(&Ranks { files, damaged: 0 })
    }

    #[test]
    fn ranks_add_up() {
        let job = of(vec![rank(0, 4, 1), rank(1, 4, 1), rank(3, 4, 1)]);
        assert_eq!((job.size, job.missing.as_slice()), (4, [2].as_slice()));
        let labels: Vec<&str> = job.layers.iter().map(|layer| layer.label.as_str()).collect();
        assert_eq!(labels, ["program", "outer", "inner", "MPI"]);
        let calls: Vec<(u64, u64)> = job.layers.iter().map(|layer| (layer.calls_in, layer.calls_out)).collect();
        assert_eq!(calls, [(0, 30), (30, 30), (30, 60), (60, 0)], "inner makes two of one");
        let edges: Vec<_> = job.edges.iter().map(|edge| (edge.from, edge.to, edge.traffic.calls)).collect();
        assert_eq!(edges, [(0, 1, 30), (1, 2, 30), (2, 3, 60)]);
        assert_eq!(job.edges[2].traffic.bytes, MovedBytes { sent: 0, received: 21 });
        let function = qmpi_abi::FnId::from_index(0).unwrap().name();
        let inner = &job.layers[2].functions[function];
        assert_eq!(
            (inner.bytes_in, inner.bytes_out),
            (MovedBytes { sent: 120, received: 24 }, MovedBytes { sent: 0, received: 21 })
        );
        assert_eq!(
            inner.bytes_by_rank[&3],
            (MovedBytes { sent: 40, received: 8 }, MovedBytes { sent: 0, received: 7 })
        );
        assert_eq!((job.layers[2].bytes_in, job.layers[2].bytes_out), (inner.bytes_in, inner.bytes_out));
        let outer = &job.layers[1].functions[function];
        // (2100 + 100 rank - 10 calls of 10 ticks) / 2
        assert_eq!(outer.own.by_rank, BTreeMap::from([(0, 1000.0), (1, 1050.0), (3, 1150.0)]));
        assert_eq!((outer.own.min_ns, outer.own.max_ns, outer.own.max_rank), (1000.0, 1150.0, 3));
        assert_eq!(outer.histogram, BTreeMap::from([(512, 30)]), "times of 512 to 1023 ticks take up to 512 ns");
        assert_eq!(job.share(job.layers[1].own.sum_ns), 100.0 * 3200.0 / 30_000.0);
        assert_eq!(job.unmeasured, ["MPI_Pcontrol at MPI"]);
    }

    #[test]
    fn a_layer_of_some_ranks_has_its_place() {
        let mut alone = rank(1, 2, 1);
        alone.layers = vec!["program".into(), "MPI".into(), "inner".into(), "other".into()];
        let job = of(vec![rank(0, 2, 1), alone]);
        let labels: Vec<&str> = job.layers.iter().map(|layer| layer.label.as_str()).collect();
        assert_eq!(labels, ["program", "other", "outer", "inner", "MPI"]);
        assert_eq!(job.layers[1].own.by_rank, BTreeMap::from([(0, 0.0), (1, 1050.0)]));
    }

    #[test]
    fn a_thousand_ranks_take_seconds_at_most() {
        let files: Vec<RankFile> = (0..1000).map(|number| rank(number, 1000, 40)).collect();
        let began = std::time::Instant::now();
        let job = of(files);
        let text = crate::tables::tables(&job, true);
        assert!(began.elapsed().as_secs_f64() < 10.0, "{:?}", began.elapsed());
        assert_eq!(job.layers[3].calls_in, 1000 * 40 * 20);
        assert!(text.starts_with("1000 of 1000 ranks"), "{text}");
    }
}

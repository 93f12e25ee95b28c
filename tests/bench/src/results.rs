//! The measurements, by what they are of.

use std::collections::BTreeMap;
use std::hash::Hash;

use crate::combination::Combination;
use crate::cost::Cost;
use crate::function::{CYCLE, Function, SMALLEST};
use crate::measurement::Measurement;
use crate::sample::{Sample, Spread};

/// Values by round.
type Rounds<T = f64> = BTreeMap<u32, T>;

/// By key, in the order in which keys came first.
#[derive(Debug)]
pub(crate) struct Ordered<K, V> {
    order: Vec<K>,
    values: std::collections::HashMap<K, V>,
}

impl<K: Clone + Eq + Hash, V: Default> Ordered<K, V> {
    fn at(&mut self, key: K) -> &mut V {
        if !self.values.contains_key(&key) {
            self.order.push(key.clone());
        }
        self.values.entry(key).or_default()
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key)
    }

    pub(crate) fn keys(&self) -> &[K] {
        &self.order
    }
}

impl<K, V> Default for Ordered<K, V> {
    fn default() -> Self {
        Self { order: Vec::new(), values: std::collections::HashMap::new() }
    }
}

/// All of a run.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) machine: Vec<String>,
    /// Times of calls, by MPI, stack and function.
    calls: Ordered<(String, String, String), Rounds>,
    mpis: Vec<String>,
    stacks: Vec<String>,
    functions: Vec<Function>,
    /// Instructions, by MPI, stack, function and object.
    instructions: Ordered<(String, String, String, String), f64>,
    pub(crate) interface: Ordered<String, Rounds>,
    /// By tool and number of layers.
    pub(crate) layers: Ordered<(String, u32), Rounds>,
    /// By MPI, tool and number of instances; `-` is without libqmpi.
    setup: Ordered<(String, String, String), Rounds<Cost>>,
    /// By MPI and tool: position and time.
    instances: Ordered<(String, String), Vec<(u32, f64)>>,
    loaded: Ordered<(String, String), u32>,
    /// By MPI and stack.
    native: Ordered<(String, String), Rounds<Cost>>,
}

fn remember<T: PartialEq + Clone>(list: &mut Vec<T>, value: &T) {
    if !list.contains(value) {
        list.push(value.clone());
    }
}

impl Results {
    pub(crate) fn of(measurements: &[Measurement]) -> Self {
        let mut results = Self::default();
        for measurement in measurements {
            results.add(measurement.clone());
        }
        results
    }

    fn add(&mut self, measurement: Measurement) {
        match measurement {
            Measurement::Machine(text) => self.machine.push(text),
            Measurement::Call { mpi, stack, round, function, ns } => {
                remember(&mut self.mpis, &mpi);
                remember(&mut self.stacks, &stack);
                if function.arguments > 0 {
                    remember(&mut self.functions, &function);
                }
                self.calls.at((mpi, stack, function.name)).insert(round, ns);
            }
            Measurement::Instructions { mpi, stack, function, object, count } => {
                *self.instructions.at((mpi, stack, function, object)) = count;
            }
            Measurement::Setup { mpi, tool, instances, round, cost } => {
                self.setup.at((mpi, tool, instances)).insert(round, cost);
            }
            Measurement::Instance { mpi, tool, position, ms, .. } => {
                self.instances.at((mpi, tool)).push((position, ms))
            }
            Measurement::Loaded { mpi, tool, loaded, .. } => *self.loaded.at((mpi, tool)) = loaded,
            Measurement::Interface { round, function, ns } => {
                self.interface.at(function).insert(round, ns);
            }
            Measurement::Layers { tool, layers, round, function, ns } if function.name == SMALLEST => {
                self.layers.at((tool, layers)).insert(round, ns);
            }
            Measurement::Layers { .. } => {}
            Measurement::Native { mpi, stack, round, cost } => {
                self.native.at((mpi, stack)).insert(round, cost);
            }
        }
    }

    /// Those on which calls were measured.
    pub(crate) fn mpis(&self) -> &[String] {
        &self.mpis
    }

    pub(crate) fn stacks(&self) -> &[String] {
        &self.stacks
    }

    /// The stacks whose instructions were counted.
    pub(crate) fn counted_stacks(&self) -> Vec<String> {
        let mut stacks = Vec::new();
        self.instructions.keys().iter().for_each(|(_, stack, ..)| remember(&mut stacks, stack));
        stacks
    }

    /// The functions whose instructions were counted.
    pub(crate) fn counted_functions(&self) -> Vec<Function> {
        let mut names = Vec::new();
        self.instructions.keys().iter().for_each(|(_, _, function, _)| remember(&mut names, function));
        names.iter().map(|name| Function::named(name)).collect()
    }

    /// The functions that the program calls on this MPI, without the cycle.
    pub(crate) fn functions(&self, mpi: &str) -> Vec<&Function> {
        let called =
            |function: &&Function| self.calls.keys().iter().any(|(of, _, name)| of == mpi && *name == function.name);
        self.functions.iter().filter(called).collect()
    }

    fn rounds(&self, mpi: &str, stack: &str, function: &str) -> Option<&Rounds> {
        self.calls.get(&(mpi.to_owned(), stack.to_owned(), function.to_owned()))
    }

    /// The time of a call.
    pub(crate) fn call(&self, mpi: &str, stack: &str, function: &str) -> Option<Spread> {
        Sample::of(self.rounds(mpi, stack, function)?.values().copied()).spread()
    }

    /// A sum of times, taken within each round that has all of them.
    pub(crate) fn combined(&self, mpi: &str, combination: &Combination, function: &str) -> Option<Spread> {
        let (first, _) = combination.0.first()?;
        let rounds = self.rounds(mpi, first, function)?.keys();
        let sums =
            rounds.filter_map(|round| combination.sum(|stack| self.rounds(mpi, stack, function)?.get(round).copied()));
        Sample::of(sums).spread()
    }

    /// The worst of the functions with so many arguments.
    pub(crate) fn worst(
        &self,
        mpi: &str,
        combination: &Combination,
        arguments: std::ops::RangeInclusive<u32>,
    ) -> Option<f64> {
        let functions = self.functions(mpi).into_iter().filter(|function| arguments.contains(&function.arguments));
        let values = functions.filter_map(|function| self.combined(mpi, combination, &function.name));
        values.map(|spread| spread.median).max_by(f64::total_cmp)
    }

    /// How long a clock cycle lasted, and the number of rounds in which that was measured.
    pub(crate) fn cycle(&self, mpi: &str) -> Option<(usize, f64)> {
        let sample = Sample::of(self.rounds(mpi, "none", CYCLE)?.values().copied());
        Some((sample.count(), sample.median()?))
    }

    /// Instructions of a call in all objects.
    pub(crate) fn instructions(&self, mpi: &str, stack: &str, function: &str) -> Option<f64> {
        let of = |object| self.instructions_in(mpi, stack, function, object);
        match (of("libqmpi"), of("other")) {
            (None, None) => None,
            (ours, other) => Some(ours.unwrap_or(0.0) + other.unwrap_or(0.0)),
        }
    }

    /// Instructions of a call in `libqmpi`, or all `other` objects.
    pub(crate) fn instructions_in(&self, mpi: &str, stack: &str, function: &str, object: &str) -> Option<f64> {
        let key = (mpi.to_owned(), stack.to_owned(), function.to_owned(), object.to_owned());
        self.instructions.get(&key).copied()
    }

    /// For each tool the time of a call by the number of its instances.
    pub(crate) fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        let mut curves: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
        for key in self.layers.keys() {
            let (tool, count) = key;
            let rounds = self.layers.get(key).into_iter().flat_map(BTreeMap::values);
            let Some(ns) = Sample::of(rounds.copied()).median() else { continue };
            let point = (f64::from(*count), ns);
            match curves.iter_mut().find(|(of, _)| of == tool) {
                Some((_, points)) => points.push(point),
                None => curves.push((tool.clone(), vec![point])),
            }
        }
        curves
    }

    /// The MPIs and tools of which set-up was measured.
    pub(crate) fn setups(&self) -> Vec<(String, String)> {
        let mut setups = Vec::new();
        for (mpi, tool, _) in self.setup.keys() {
            remember(&mut setups, &(mpi.clone(), tool.clone()));
        }
        setups
    }

    /// What `to` instances cost more than `from`, of each of `by`.
    pub(crate) fn growth(
        &self,
        setup: &(String, String),
        from: &str,
        to: &str,
        what: fn(&Cost) -> f64,
        by: u32,
    ) -> Option<f64> {
        let rounds = |instances: &str| self.setup.get(&(setup.0.clone(), setup.1.clone(), instances.to_owned()));
        growth(rounds(from)?, rounds(to)?, what, by)
    }

    /// The wall-clock times of instances at these positions.
    pub(crate) fn instances(&self, setup: &(String, String), positions: std::ops::RangeInclusive<u32>) -> Sample {
        let times = self.instances.get(setup).into_iter().flatten();
        Sample::of(times.filter(|(position, _)| positions.contains(position)).map(|&(_, ms)| ms))
    }

    pub(crate) fn loaded(&self, setup: &(String, String)) -> Option<u32> {
        self.loaded.get(setup).copied()
    }

    /// The MPIs and stacks of native tools of which set-up was measured.
    pub(crate) fn natives(&self) -> &[(String, String)] {
        self.native.keys()
    }

    /// As [`Self::growth`], from one stack of native tools to another.
    pub(crate) fn native_growth(
        &self,
        mpi: &str,
        from: &str,
        to: &str,
        what: fn(&Cost) -> f64,
        by: u32,
    ) -> Option<f64> {
        let rounds = |stack: &str| self.native.get(&(mpi.to_owned(), stack.to_owned()));
        growth(rounds(from)?, rounds(to)?, what, by)
    }
}

fn growth(from: &Rounds<Cost>, to: &Rounds<Cost>, what: fn(&Cost) -> f64, by: u32) -> Option<f64> {
    let both = to.iter().filter_map(|(round, to)| from.get(round).map(|from| what(to) - what(from)));
    Sample::of(both.map(|difference| difference / f64::from(by))).median()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::Raw;

    fn results(lines: &[&str]) -> Results {
        let text: Vec<String> = lines.iter().map(|line| line.replace(' ', "\t")).collect();
        Results::of(&Raw::parse(&text.join("\n")).expect("measurements"))
    }

    /// The median of differences within rounds is not the difference of medians.
    #[test]
    fn differences_are_taken_within_a_round() {
        let results = results(&[
            "calls null none 1 Recv 7 10",
            "calls null none 2 Recv 7 100",
            "calls null none 3 Recv 7 20",
            "calls null 1 1 Recv 7 11",
            "calls null 1 2 Recv 7 103",
            "calls null 1 3 Recv 7 29",
            // Another round, in which only one of them was measured.
            "calls null 1 4 Recv 7 500",
        ]);
        let spread = results.combined("null", &Combination::difference("1", "none", 1), "Recv");
        assert_eq!(spread, Some(Spread { median: 3.0, low: 2.0, high: 6.0 }));
        assert_eq!(results.combined("null", &Combination::difference("1", "2", 1), "Recv"), None);
        assert_eq!(results.call("null", "none", "Recv").map(|spread| spread.median), Some(20.0));
    }

    #[test]
    fn the_worst_is_that_of_the_functions_asked_for() {
        let results = results(&[
            "calls null none 1 Comm_rank 2 1",
            "calls null none 1 Recv 7 1",
            "calls null none 1 cycle 0 9",
            "calls null 1 1 Comm_rank 2 2",
            "calls null 1 1 Recv 7 5",
            "calls null 1 1 cycle 0 9",
        ]);
        let difference = Combination::difference("1", "none", 1);
        assert_eq!(results.worst("null", &difference, 0..=4), Some(1.0));
        assert_eq!(results.worst("null", &difference, 0..=99), Some(4.0));
        assert_eq!(results.functions("null").len(), 2);
        assert_eq!(results.cycle("null"), Some((1, 9.0)));
    }

    #[test]
    fn growth_is_that_of_an_instance() {
        let results = results(&[
            "setup mpich pass 1 1 10 100 0 0",
            "setup mpich pass 15 1 24 1500 20 0",
            "setup mpich pass 1 2 10 100 0 0",
            "setup mpich pass 15 2 38 1500 20 0",
            "layer mpich pass 15 1 1 5",
            "layer mpich pass 15 1 2 0.2",
            "layer mpich pass 15 1 3 0.4",
        ]);
        let setup = ("mpich".to_owned(), "pass".to_owned());
        assert_eq!(results.growth(&setup, "1", "15", |cost| cost.cpu_ms, 14), Some(1.5));
        assert_eq!(results.growth(&setup, "1", "15", Cost::dirty_kb, 14), Some(1420.0 / 14.0));
        assert_eq!(results.instances(&setup, 1..=1).median(), Some(5.0));
        assert!((results.instances(&setup, 2..=15).median().expect("two") - 0.3).abs() < 1e-12);
    }
}

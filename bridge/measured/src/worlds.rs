//! Processes of one directory that have ranks of the same numbers: those that `MPI_Comm_spawn` started, or another launcher of the same script.
//!
//! A report numbers all of them in one row: the processes of the first `MPI_COMM_WORLD` by their ranks, then those of the next one.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::rank_record::RankFile;

/// The processes of one `MPI_COMM_WORLD`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct World {
    /// The number of its rank 0 in the report.
    pub first: u32,
    /// How many ranks it has: those that the launcher started, or as many as there are records.
    pub size: u32,
}

/// The number of each file in the report, and the worlds, the one that started first being the first.
pub(crate) fn number(files: &[RankFile]) -> (Vec<u32>, Vec<World>) {
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|file| (files[*file].started_ms, files[*file].rank));
    // A launcher that gives its world no name: a rank that is taken begins another one.
    let mut worlds: Vec<(Option<&str>, BTreeMap<u32, usize>)> = Vec::new();
    for number in order {
        let file = &files[number];
        let name = file.world.as_deref();
        let place = worlds.iter().position(|(known, ranks)| *known == name && !ranks.contains_key(&file.rank));
        let place = place.unwrap_or_else(|| {
            worlds.push((name, BTreeMap::new()));
            worlds.len() - 1
        });
        worlds[place].1.insert(file.rank, number);
    }
    let (mut numbers, mut all, mut first) = (vec![0; files.len()], Vec::new(), 0);
    for (_, ranks) in worlds {
        let told = ranks.values().filter_map(|file| files[*file].size).max().unwrap_or(0);
        let size = told.max(ranks.keys().next_back().map_or(0, |last| last + 1));
        for (rank, file) in ranks {
            numbers[file] = first + rank;
        }
        all.push(World { first, size });
        first += size;
    }
    (numbers, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(world: Option<&str>, rank: u32, size: u32, started_ms: u64) -> RankFile {
        let text = format!(
            r#"{{"schema":3,"rank":{rank},"size":{size},"world":{},"host":"a","started_ms":{started_ms},"process":7,"elapsed_ns":1,
                "came_to":{{"finalize":true,"abort":false,"exit":true}},"ticks":1,"probe_ticks":{{"inside":0,"outside":0,"outside_with_bytes":0}},
                "threads":1,"threads_without":0,"layers":["program","MPI"],"unmeasured":[],"links":[[],[],[],[],[],[],[],[],[],[],[]]}}"#,
            world.map_or_else(|| "null".to_owned(), |name| format!("{name:?}"))
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn worlds_are_in_one_row() {
        let named = [
            file(Some("b"), 1, 2, 50),
            file(Some("a"), 0, 3, 10),
            file(Some("b"), 0, 2, 51),
            file(Some("a"), 2, 3, 11),
        ];
        let worlds = vec![World { first: 0, size: 3 }, World { first: 3, size: 2 }];
        assert_eq!(number(&named), (vec![4, 0, 3, 2], worlds.clone()));
        let nameless = [file(None, 0, 3, 10), file(None, 1, 2, 50), file(None, 1, 3, 12), file(None, 0, 2, 51)];
        assert_eq!(number(&nameless), (vec![0, 4, 1, 3], worlds));
    }
}

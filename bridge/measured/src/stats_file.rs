//! What `qmpi run --stats=FILE` wrote: `FILE.RANK` for each rank (`core/src/report/stats.rs`), and their sum.
//!
//! ```text
//! calls                                     outer          inner            MPI
//! MPI_Barrier                                   1              1              1
//! MPI_Bcast                                     1              -              -
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Error;

/// Calls on all ranks.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// Ranks that are in it.
    pub ranks: Vec<u32>,
    /// Ranks between them that have no file.
    pub missing: Vec<u32>,
    /// Labels, outermost first, the MPI library last.
    pub layers: Vec<String>,
    /// By function, in alphabetical order.
    pub functions: Vec<Row>,
}

/// Calls of a function.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its name.
    pub function: String,
    /// For each layer; none where the layer does not intercept the function.
    pub calls: Vec<Option<Spread>>,
}

/// Calls of a function at a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// On all ranks together.
    pub sum: u64,
    /// On the rank with the least.
    pub min: u64,
    /// On the rank with the most.
    pub max: u64,
    /// That rank, the first one of several.
    pub max_rank: u32,
}

/// A rank's table: labels, and cells by function.
type Table = (Vec<String>, BTreeMap<String, Vec<Option<u64>>>);

/// Adds up the files of all ranks.
///
/// # Errors
/// [`Error::Stats`] if there is none, or one that is not understood.
pub fn read(file: &Path) -> Result<Calls, Error> {
    let problem = |path: &Path, problem: String| Error::Stats { path: path.to_owned(), problem };
    let mut tables = BTreeMap::new();
    for (rank, path) in files(file).map_err(|error| problem(file, error.to_string()))? {
        let text = std::fs::read_to_string(&path).map_err(|error| problem(&path, error.to_string()))?;
        tables.insert(rank, table(&text).map_err(|what| problem(&path, what.to_owned()))?);
    }
    if tables.is_empty() {
        return Err(problem(file, "no rank has written it".to_owned()));
    }
    Ok(Calls::of(&tables))
}

/// `FILE.0`, `FILE.1`, ...; `FILE` itself is of a process that has no launcher.
fn files(file: &Path) -> std::io::Result<BTreeMap<u32, PathBuf>> {
    let directory = file.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let other = entry.file_name().to_string_lossy().into_owned();
        let Some(suffix) = other.strip_prefix(&name) else { continue };
        let rank =
            if suffix.is_empty() { Some(0) } else { suffix.strip_prefix('.').and_then(|rank| rank.parse().ok()) };
        if let Some(rank) = rank {
            files.insert(rank, entry.path());
        }
    }
    Ok(files)
}

fn table(text: &str) -> Result<Table, &'static str> {
    let mut lines = text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<String>>());
    let mut labels = lines.next().filter(|labels| labels.first().is_some_and(|word| word == "calls"));
    let Some(labels) = labels.take().map(|labels| labels[1..].to_vec()) else {
        return Err("it is no table of `qmpi run --stats`");
    };
    let mut rows = BTreeMap::new();
    for mut cells in lines.filter(|cells| !cells.is_empty()) {
        let calls = cells.split_off(1).into_iter().map(|cell| match cell.as_str() {
            "-" => Ok(None),
            number => number.parse().map(Some).map_err(|_| "a cell is no number"),
        });
        let calls: Vec<Option<u64>> = calls.collect::<Result<_, _>>()?;
        if calls.len() != labels.len() {
            return Err("a row has not a cell for each layer: is there a space in the name of a layer?");
        }
        rows.extend(cells.pop().map(|function| (function, calls)));
    }
    Ok((labels, rows))
}

impl Calls {
    fn of(tables: &BTreeMap<u32, Table>) -> Self {
        let ranks: Vec<u32> = tables.keys().copied().collect();
        // A layer of some ranks only comes behind the one that is in front of it there.
        let mut layers: Vec<String> = Vec::new();
        for (labels, _) in tables.values() {
            let mut place = 0;
            for label in labels {
                place = layers.iter().position(|known| known == label).unwrap_or_else(|| {
                    layers.insert(place, label.clone());
                    place
                }) + 1;
            }
        }
        let mut functions: BTreeMap<&str, Vec<Option<Spread>>> = BTreeMap::new();
        for name in tables.values().flat_map(|(_, rows)| rows.keys()) {
            functions.entry(name).or_insert_with(|| {
                let at = |layer: &String| {
                    // A rank without a row does not tell whether the layer intercepts the function: one that has a row does.
                    let is_intercepted = |(labels, rows): &Table| {
                        let column = labels.iter().position(|label| label == layer);
                        column.zip(rows.get(name)).is_some_and(|(column, row)| row[column].is_some())
                    };
                    tables.values().any(is_intercepted).then_some(())?;
                    let of_ranks = tables.iter().filter_map(|(rank, (labels, rows))| {
                        let column = labels.iter().position(|label| label == layer)?;
                        let calls = rows.get(name).map_or(Some(0), |row| row[column])?;
                        Some(Spread { sum: calls, min: calls, max: calls, max_rank: *rank })
                    });
                    of_ranks.reduce(Spread::and)
                };
                layers.iter().map(at).collect()
            });
        }
        let functions = functions.into_iter().map(|(name, calls)| Row { function: name.to_owned(), calls }).collect();
        let last = ranks.last().copied().unwrap_or(0);
        Self { missing: (0..last).filter(|rank| !tables.contains_key(rank)).collect(), ranks, layers, functions }
    }
}

impl Spread {
    fn and(self, other: Self) -> Self {
        let most = if other.max > self.max { other } else { self };
        Self { sum: self.sum + other.sum, min: self.min.min(other.min), ..most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_add_up() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("calls");
        for (rank, text) in [
            (0, "calls   outer  MPI\nMPI_Send      3    4\nMPI_Bcast     1    -\n"),
            (2, "calls   outer  MPI\nMPI_Send      5    5\n"),
        ] {
            std::fs::write(directory.path().join(format!("calls.{rank}")), text).unwrap();
        }
        std::fs::write(directory.path().join("calls.txt"), "others").unwrap();
        let calls = read(&file).unwrap();
        assert_eq!((calls.ranks, calls.missing), (vec![0, 2], vec![1]));
        let spread = |sum, min, max, max_rank| Some(Spread { sum, min, max, max_rank });
        assert_eq!(calls.layers, ["outer", "MPI"]);
        assert_eq!(
            calls.functions,
            [
                Row { function: "MPI_Bcast".into(), calls: vec![spread(1, 0, 1, 0), None] },
                Row { function: "MPI_Send".into(), calls: vec![spread(8, 3, 5, 2), spread(9, 4, 5, 2)] },
            ]
        );
        std::fs::write(directory.path().join("calls.1"), "nonsense").unwrap();
        assert!(read(&file).unwrap_err().to_string().ends_with("it is no table of `qmpi run --stats`"));
        assert!(read(&directory.path().join("none")).is_err());
    }
}

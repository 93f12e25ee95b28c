//! The tables that `counter.c` and `qmpi_counter.c` print, read back.

use std::collections::BTreeMap;

use crate::Outcome;

/// Calls and bytes of each function that was called.
pub type Table = BTreeMap<String, (u64, u64)>;

/// All tables of a job's stdout, by their titles.
#[derive(Debug)]
pub struct Tables<'a> {
    outcome: &'a Outcome,
    tables: BTreeMap<String, Table>,
}

/// The tables in a text, by their titles.
#[must_use]
pub fn read(text: &str) -> BTreeMap<String, Table> {
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    let mut title = String::new();
    for line in text.lines() {
        if let Some((label, _)) = line.split_once(": MPI calls of ") {
            title = label.to_owned();
            tables.insert(title.clone(), Table::new());
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let (&[function, calls, bytes, _seconds], Some(table)) = (words.as_slice(), tables.get_mut(&title))
            && let (Ok(calls), Ok(bytes)) = (calls.parse(), bytes.parse())
        {
            table.insert(function.to_owned(), (calls, bytes));
        }
    }
    tables
}

impl<'a> Tables<'a> {
    /// Reads them. The last of several with one title counts.
    pub fn of(outcome: &'a Outcome) -> Tables<'a> {
        Tables { outcome, tables: read(&outcome.stdout) }
    }

    /// The table with this title.
    ///
    /// # Errors
    /// When there is none.
    pub fn get(&self, title: &str) -> Result<&Table, String> {
        self.tables.get(title).ok_or_else(|| format!("no table {title}\n{}", self.outcome.report()))
    }

    /// Fails unless the table is this one.
    ///
    /// # Errors
    /// Both tables, and all of the output.
    pub fn expect(&self, title: &str, expected: &Table) -> Result<(), String> {
        let table = self.get(title)?;
        if table == expected {
            return Ok(());
        }
        Err(format!("{title} is\n{table:?}\nand not\n{expected:?}\n{}", self.outcome.report()))
    }

    /// Fails unless the table has these rows (function, calls, bytes), and no others.
    ///
    /// # Errors
    /// As for [`Tables::expect`].
    pub fn expect_all(&self, title: &str, rows: &[(&str, u64, u64)]) -> Result<(), String> {
        let rows = rows.iter().map(|(function, calls, bytes)| ((*function).to_owned(), (*calls, *bytes)));
        self.expect(title, &rows.collect())
    }

    /// Fails unless the table has so many calls of the function; 0 if it has no such row.
    ///
    /// # Errors
    /// What it has, and all of the output.
    pub fn expect_calls(&self, title: &str, function: &str, calls: u64) -> Result<(), String> {
        let counted = self.get(title)?.get(function).map_or(0, |(calls, _)| *calls);
        if counted == calls {
            return Ok(());
        }
        Err(format!("{title} counted {counted} {function}, not {calls}\n{}", self.outcome.report()))
    }
}

/// Checks the table that the counter `name` wrote into a file of its own, where `number` counters are further out, on `ring.c` with
/// two ranks: each gathers its table with one MPI_Reduce, which all instances further inside count.
///
/// # Errors
/// What is wrong in it, and all of the output.
pub fn expect_one_of_many(name: &str, number: usize, table: &str, outcome: &Outcome) -> Result<(), String> {
    let calls = |function: &str| {
        let row = table.lines().find(|line| line.split_whitespace().next() == Some(function))?;
        row.split_whitespace().nth(1)?.parse::<usize>().ok()
    };
    let title = format!("{name}: MPI calls of 2 ranks");
    let expected = [("MPI_Send", 6), ("MPI_Init", 2), ("MPI_Finalize", 2), ("MPI_Reduce", 4 + 2 * number)];
    let wrong = expected.iter().find(|(function, count)| calls(function) != Some(*count));
    if !table.starts_with(&title) || wrong.is_some() {
        return Err(format!("{name}: {wrong:?} is wrong in\n{table}\n{}", outcome.report()));
    }
    Ok(())
}

//! A table, as Markdown and as figures for other programs.

use std::fmt::Write;

use crate::cell::Cell;

/// Rows of figures, each with a name.
pub(crate) struct Table {
    pub(crate) title: String,
    /// What stands between the title and the table.
    pub(crate) before: Option<&'static str>,
    /// What stands below.
    pub(crate) after: Option<String>,
    /// What rows are.
    pub(crate) corner: &'static str,
    pub(crate) columns: Vec<String>,
    /// Figures are aligned to the right; a last column of words is not.
    pub(crate) words_at_end: bool,
    pub(crate) rows: Vec<(String, Vec<Cell>)>,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, columns: Vec<String>) -> Self {
        Self {
            title: title.into(),
            before: None,
            after: None,
            corner: "",
            columns,
            words_at_end: false,
            rows: Vec::new(),
        }
    }

    /// Adds a row of figures, unless one of them is not there.
    pub(crate) fn row(&mut self, name: impl Into<String>, cells: Option<Vec<Cell>>) {
        self.rows.extend(cells.map(|cells| (name.into(), cells)));
    }

    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("\n### {}\n\n", self.title);
        if let Some(before) = self.before {
            text += &format!("{before}\n\n");
        }
        let _ = write!(text, "| {} |", self.corner);
        for column in &self.columns {
            let _ = write!(text, " {column} |");
        }
        text += "\n|---|";
        for column in 1..=self.columns.len() {
            text += if self.words_at_end && column == self.columns.len() { "---|" } else { "--:|" };
        }
        text.push('\n');
        for (name, cells) in &self.rows {
            let _ = write!(text, "| {name} |");
            for cell in cells {
                let _ = write!(text, " {} |", cell.text);
            }
            text.push('\n');
        }
        if let Some(after) = &self.after {
            text += &format!("\n{after}\n");
        }
        text
    }

    /// A line for each figure: TABLE ROW COLUMN VALUE LOW HIGH.
    pub(crate) fn figures(&self) -> String {
        let mut text = String::new();
        for (name, cells) in &self.rows {
            for (column, cell) in self.columns.iter().zip(cells) {
                let Some(value) = cell.value else { continue };
                let name = name.replace("**", "");
                let _ = write!(text, "{}\t{name}\t{column}\t{value:.4}", self.title);
                let _ = match cell.range {
                    Some((low, high)) => writeln!(text, "\t{low:.4}\t{high:.4}"),
                    None => writeln!(text, "\t\t"),
                };
            }
        }
        text
    }
}

/// The head of the file of figures.
pub(crate) const FIGURES: &str = "\
# The figures of the tables of docs/benchmark.md, one a line: of the row and the column of a table the value, and the lower and
# the upper quartile of the rounds where it is a median of rounds. Fields are separated by tabs.
table\trow\tcolumn\tvalue\tlow\thigh
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Spread;

    #[test]
    fn a_table_is_shown_and_listed() {
        let mut table = Table::new("T", vec!["a".to_owned(), "b".to_owned()]);
        let spread = Spread { median: 1.5, low: 1.0, high: 2.0 };
        table.row("**x**", Some(vec![Cell::spread(spread), Cell::words("met")]));
        table.row("y", None);
        table.words_at_end = true;
        assert_eq!(table.markdown(), "\n### T\n\n|  | a | b |\n|---|--:|---|\n| **x** | 1.50 (1.00…2.00) | met |\n");
        assert_eq!(table.figures(), "T\tx\ta\t1.5000\t1.0000\t2.0000\n");
    }
}

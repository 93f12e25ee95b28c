//! What was found, as files.

use std::path::Path;

use crate::failure::Failure;
use crate::graphs::{self, Graph};
use crate::page;
use crate::results::Results;
use crate::table::{FIGURES, Table};
use crate::tables;

/// Tables and graphs.
pub(crate) struct Report {
    machine: Vec<String>,
    tables: Vec<Table>,
    graphs: Vec<Graph>,
}

impl Report {
    pub(crate) fn of(results: &Results) -> Result<Self, Failure> {
        Ok(Self { machine: results.machine.clone(), tables: tables::all(results), graphs: graphs::all(results)? })
    }

    /// Graphs are in the directory `graphs`, beside the page.
    pub(crate) fn markdown(&self, graphs: &str) -> String {
        let machine: String = self.machine.iter().map(|line| format!("* {line}\n")).collect();
        let graphs: String = self
            .graphs
            .iter()
            .map(|graph| format!("\n![{}: {}]({graphs}/{}.svg)\n", graph.title, graph.description, graph.name))
            .collect();
        let tables: String = self.tables.iter().map(Table::markdown).collect();
        format!("{machine}{graphs}{tables}").trim_end().to_owned()
    }

    /// report.md, report.tsv and the graphs in report/.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), Failure> {
        let page = dir.join("report.md");
        write(&page, &format!("{}\n", self.markdown("report")))?;
        self.write_beside(&page)
    }

    /// Into a page; figures and graphs beside it.
    pub(crate) fn write_page(&self, page: &Path) -> Result<(), Failure> {
        let old = std::fs::read_to_string(page).unwrap_or_default();
        let graphs = page.file_stem().unwrap_or_default().to_string_lossy();
        write(page, &page::with_results(&old, &self.markdown(&graphs)))?;
        self.write_beside(page)
    }

    fn write_beside(&self, page: &Path) -> Result<(), Failure> {
        let figures: String = self.tables.iter().map(Table::figures).collect();
        write(&page.with_extension("tsv"), &format!("{FIGURES}{figures}"))?;
        let dir = page.with_extension("");
        std::fs::create_dir_all(&dir).map_err(|error| Failure::of(&dir, &error))?;
        self.graphs.iter().try_for_each(|graph| write(&dir.join(format!("{}.svg", graph.name)), &graph.svg))
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::of(path, &error))
}

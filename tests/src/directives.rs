//! The first lines of a test's source file, `//# key: value` (`!# key: value` in Fortran).
//!
//! | key | meaning |
//! |---|---|
//! | `kind` | for a tool: `pmpi` (default), `qmpi`, or `thesis`: of the 2018 prototype |
//! | `lang` | `c`, `c++`, `fortran` |
//! | `mpi` | `both`, `openmpi`, `mpich` |
//! | `needs-mpi: no` | built with the plain compiler: no DT_NEEDED on an MPI |
//! | `cflags`, `libs` | more words for the compiler, before and after the source |
//! | `with` | more sources of the same program or library, beside this file |
//! | `companion` | a library that must be built beside it (`NAME.so`) |
//! | `links` | the same, and linked with it |
//! | `role: companion` | the file is one of those |
//! | `program` | for a tool: the programs that show it at work; what is expected holds for the first |
//! | `twice: no` | for a tool: why two instances of it cannot both be satisfied stands beside it |
//! | `bridged-stdout` | for a tool: prints this instead when it is bridged, as `qmpi inspect` says beforehand |
//! | `ranks` | how many processes |
//! | `env` | `NAME=VALUE` |
//! | `loads: no` | for a tool: it cannot be loaded |
//! | `exit-status` | of the program |
//! | `args` | starts a case of its own: what follows holds for this case |
//! | `mpi-only` | the case exists on this MPI only |
//! | `standard` | the case exists where `mpi.h` is of this version of the standard or a later one |
//! | `fails-on: MPI VERSION` | the case fails by itself on this MPI, where `mpi.h` is of this version of the standard or an older one |
//! | `expect-stdout`, `expect-stderr` | a line, or a part of one |

use std::path::{Path, PathBuf};

use crate::Mpi;

/// A source file and what its first lines say.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// Its name without directory and ending.
    pub name: String,
    /// For a tool: `pmpi`, or the interface that it is written for.
    pub kind: String,
    /// `c`, `c++` or `fortran`.
    pub language: String,
    /// `both`, or the name of one MPI.
    pub mpi: String,
    /// Linked with MPI?
    pub needs_mpi: bool,
    /// Words for the compiler before the source.
    pub cflags: Vec<String>,
    /// Words for the compiler after the source.
    pub libs: Vec<String>,
    /// More sources that are compiled into it.
    pub with: Vec<PathBuf>,
    /// Libraries to build beside it.
    pub companions: Vec<String>,
    /// Libraries to build beside it and to link.
    pub links: Vec<String>,
    /// Is it one of those itself?
    pub is_companion: bool,
    /// For a tool: programs that show it at work.
    pub programs: Vec<String>,
    /// For a tool: does it make sense twice in one stack?
    pub twice: bool,
    /// For a tool: what a namespace makes it print instead of `expect-stdout`.
    pub bridged: Vec<String>,
    /// How many processes.
    pub ranks: usize,
    /// Variables it wants.
    pub env: Vec<(String, String)>,
    /// For a tool: can it be loaded?
    pub loads: bool,
    /// What the program ends with.
    pub exit_status: i32,
    /// At least one.
    pub cases: Vec<Case>,
}

/// One way to run it.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// Arguments.
    pub args: Vec<String>,
    /// Only on this MPI.
    pub mpi_only: Option<String>,
    /// Only where `mpi.h` is of this version of the standard or a later one.
    pub standard: u32,
    /// It fails without tools on this MPI, where `mpi.h` is of this version of the standard or an older one.
    pub fails_on: Option<(String, u32)>,
    /// Lines on stdout.
    pub stdout: Vec<String>,
    /// Parts of lines on stderr.
    pub stderr: Vec<String>,
}

impl Source {
    /// Reads the directives of a file.
    ///
    /// # Panics
    /// When the file cannot be read or says something unknown: a test that is misspelt must not pass.
    pub fn read(path: &Path) -> Source {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut source = Source {
            path: path.into(),
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            kind: "pmpi".into(),
            language: "c".into(),
            mpi: "both".into(),
            needs_mpi: true,
            ranks: 4,
            loads: true,
            twice: true,
            cases: vec![Case::default()],
            ..Source::default()
        };
        let lines = text.lines().map_while(|line| line.strip_prefix("//# ").or_else(|| line.strip_prefix("!# ")));
        for line in lines {
            let (key, value) = line.split_once(':').unwrap_or((line, ""));
            source.take(key.trim(), value.trim());
        }
        source
    }

    /// All sources in a directory of the repository, by name.
    ///
    /// # Panics
    /// When the directory cannot be read.
    pub fn all(directory: &str) -> Vec<Source> {
        let directory = crate::product::root().join(directory);
        let entries = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        let is_source = |path: &PathBuf| {
            path.extension().is_some_and(|ending| ["c", "cc", "f90"].iter().any(|known| ending == *known))
        };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_source).collect();
        paths.sort();
        paths.iter().map(|path| Source::read(path)).collect()
    }

    fn take(&mut self, key: &str, value: &str) {
        let words = || value.split_whitespace().map(str::to_owned);
        let case = self.cases.len() - 1;
        match key {
            "kind" => self.kind = value.into(),
            "lang" => self.language = value.into(),
            "mpi" => self.mpi = value.into(),
            "needs-mpi" => self.needs_mpi = value != "no",
            "cflags" => self.cflags.extend(words()),
            "libs" => self.libs.extend(words()),
            "with" => self.with.extend(words().map(|file| self.path.with_file_name(file))),
            "companion" => self.companions.extend(words()),
            "links" => self.links.extend(words()),
            "role" => self.is_companion = value == "companion",
            "program" => self.programs.extend(words()),
            "ranks" => self.ranks = value.parse().unwrap_or_else(|_| panic!("{}: ranks: {value}", self.path.display())),
            "env" => self.env.extend(value.split_once('=').map(|(name, value)| (name.into(), value.into()))),
            "twice" => self.twice = !value.starts_with("no"),
            "bridged-stdout" => self.bridged.push(value.into()),
            "loads" => self.loads = value != "no",
            "exit-status" => {
                self.exit_status =
                    value.parse().unwrap_or_else(|_| panic!("{}: exit-status: {value}", self.path.display()));
            }
            "args" => {
                // The first `args` names the case that is there already, unless it has expectations of its own.
                if self.cases.len() > 1 || !self.cases[0].args.is_empty() || !self.cases[0].stdout.is_empty() {
                    self.cases.push(Case::default());
                }
                let case = self.cases.len() - 1;
                self.cases[case].args = words().collect();
            }
            "mpi-only" => self.cases[case].mpi_only = Some(value.into()),
            "standard" => {
                self.cases[case].standard =
                    value.parse().unwrap_or_else(|_| panic!("{}: standard: {value}", self.path.display()));
            }
            "fails-on" => {
                let on = value.split_once(' ').and_then(|(mpi, version)| Some((mpi.to_owned(), version.parse().ok()?)));
                self.cases[case].fails_on =
                    Some(on.unwrap_or_else(|| panic!("{}: fails-on: {value}", self.path.display())));
            }
            "expect-stdout" => self.cases[case].stdout.push(value.into()),
            "expect-stderr" => self.cases[case].stderr.push(value.into()),
            other => panic!("{}: unknown directive {other}", self.path.display()),
        }
    }

    /// Does it exist on this MPI?
    pub fn runs_on(&self, mpi: Mpi) -> bool {
        self.mpi == "both" || self.mpi == mpi.name()
    }

    /// The cases that exist on this MPI.
    pub fn cases_on(&self, mpi: Mpi) -> impl Iterator<Item = &Case> {
        let exists = move |case: &&Case| case.mpi_only.as_deref().is_none_or(|only| only == mpi.name());
        // Most cases do not need to know the version, which the compiler has to be asked for.
        self.cases.iter().filter(exists).filter(move |case| case.standard == 0 || case.standard <= mpi.standard())
    }
}

impl Case {
    /// Does it fail on this MPI, whatever is preloaded?
    pub fn fails_on(&self, mpi: Mpi) -> bool {
        self.fails_on.as_ref().is_some_and(|(name, version)| name == mpi.name() && mpi.standard() <= *version)
    }
}

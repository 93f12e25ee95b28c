//! The command line: one definition yields parsing, help and errors.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};

use crate::error::{Error, Result};
use crate::header::{Header, Label, read_all};
use crate::standard::Standard;
use crate::table::Table;

const EXAMPLES: &str = "\
EXAMPLES
  Add the functions of a new MPI to the table, then regenerate what is made from it:
    shim-gen table --existing bridge/abi/functions.tsv \\
        --header mpich-5.0=/opt/mpich/include:5.0 --output bridge/abi/functions.tsv
    shim-gen rust --output bridge/abi/src/table.rs
    shim-gen stubs --output bridge/runtime/src/entry/list.rs

  Make a tool that intercepts everything:
    shim-gen passthrough --header /opt/mpich/include/mpi.h --output pass.c
    mpicc -shared -fPIC -o libpass.so pass.c

EXIT STATUS
  0 done, 1 something could not be read, written or understood, 2 wrong usage";

/// Reads any mpi.h and writes the table of functions, and what is generated from it.
#[derive(Parser)]
#[command(name = "shim-gen", version, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the table of functions (functions.tsv) that the headers add up to
    #[command(after_help = EXAMPLES)]
    Table {
        /// A header or include directory, what to call it, and the version of the standard it follows:
        /// mpich-4.0.2=/usr/include/mpich:4.0. The name begins with mpich or openmpi, for functions that are no
        /// standard; so do relatives of those two. Of a directory mpi.h, mpi_abi.h and mpi-ext.h are read. Repeatable
        #[arg(long = "header", value_name = "VENDOR-RELEASE=PATH:VERSION", required = true)]
        headers: Vec<Input>,
        /// The table so far: its functions keep their numbers
        #[arg(long, value_name = "FILE")]
        existing: Option<PathBuf>,
        /// Which version of the standard has which function [default: a built-in list]
        #[arg(long, value_name = "FILE")]
        standard: Option<PathBuf>,
        #[command(flatten)]
        output: Output,
    },
    /// Print the table as Rust (bridge/abi/src/table.rs)
    Rust {
        #[command(flatten)]
        table: TableFile,
        #[command(flatten)]
        output: Output,
    },
    /// Print the list of entry points (bridge/runtime/src/entry/list.rs)
    Stubs {
        #[command(flatten)]
        table: TableFile,
        #[command(flatten)]
        output: Output,
    },
    /// Print a PMPI tool in C that wraps every function of a header and does nothing else
    #[command(after_help = EXAMPLES)]
    Passthrough {
        /// The header to read, which the C text includes by its file name. Repeatable, for mpi-ext.h after mpi.h
        #[arg(long = "header", value_name = "mpi.h", required = true)]
        headers: Vec<PathBuf>,
        /// A function to leave out, without P. Repeatable
        #[arg(long, value_name = "NAME")]
        exclude: Vec<String>,
        #[command(flatten)]
        output: Output,
    },
}

#[derive(Args)]
struct TableFile {
    /// The table of functions
    #[arg(long, value_name = "FILE", default_value = "bridge/abi/functions.tsv")]
    table: PathBuf,
}

#[derive(Args)]
struct Output {
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// `mpich-4.0.2=/usr/include/mpich:4.0`
#[derive(Clone)]
struct Input {
    label: Label,
    path: PathBuf,
}

impl FromStr for Input {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let shape = || "expected VENDOR-RELEASE=PATH:VERSION".to_owned();
        let (name, rest) = text.split_once('=').ok_or_else(shape)?;
        let (path, version) = rest.rsplit_once(':').ok_or_else(shape)?;
        let label = Label { name: name.to_owned(), version: version.parse()? };
        if !matches!(label.vendor(), "mpich" | "openmpi") {
            return Err(format!("`{name}` does not begin with mpich or openmpi"));
        }
        Ok(Self { label, path: path.into() })
    }
}

/// Parses the command line, does what it says and reports errors.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(message) if message.use_stderr() => {
            let text = message.to_string();
            let first = text.lines().next().unwrap_or_default();
            eprintln!("shim-gen: {}", first.strip_prefix("error: ").unwrap_or(first));
            eprintln!(
                "hint: `shim-gen --help` shows the subcommands with examples, `shim-gen SUBCOMMAND --help` the options"
            );
            return ExitCode::from(2);
        }
        // --help and --version.
        Err(message) => message.exit(),
    };
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shim-gen: {error}\nhint: {}", error.hint());
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::Table { headers, existing, standard, output } => {
            let inputs: Vec<_> = headers.into_iter().map(|input| (input.label, input.path)).collect();
            let existing = existing.map(|path| Table::read(&path)).transpose()?;
            let standard = match standard {
                Some(path) => Standard::parse(&read(&path)?, &path.display().to_string())?,
                None => Standard::built_in()?,
            };
            let table = Table::build(&read_all(&inputs)?, existing.as_ref(), &standard)?;
            output.write(&table.to_tsv())
        }
        Command::Rust { table, output } => output.write(&crate::rust(&Table::read(&table.table)?)),
        Command::Stubs { table, output } => output.write(&crate::stubs(&Table::read(&table.table)?)),
        Command::Passthrough { headers, exclude, output } => {
            let includes: Vec<_> = headers.iter().map(|path| include_name(path)).collect();
            let headers = headers.iter().map(|path| Header::read(path)).collect::<Result<Vec<_>>>()?;
            let exclude: BTreeSet<_> = exclude.into_iter().collect();
            output.write(&crate::passthrough(&headers, &includes, &exclude))
        }
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// What `#include` has to say: the file name; of a directory, the header that was read in it.
fn include_name(path: &Path) -> String {
    let name = if path.is_dir() { None } else { path.file_name() };
    name.map_or_else(|| "mpi.h".to_owned(), |name| name.to_string_lossy().into_owned())
}

impl Output {
    fn write(&self, text: &str) -> Result<()> {
        let Some(path) = &self.output else {
            return std::io::stdout()
                .write_all(text.as_bytes())
                .map_err(|source| Error::Write { path: "standard output".into(), source });
        };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|source| Error::Write { path: parent.to_owned(), source })?;
        }
        std::fs::write(path, text).map_err(|source| Error::Write { path: path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    #[test]
    fn inputs() {
        let input: Input = "mpich-4.0=/a:b/mpi.h:4.1".parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((input.label.vendor(), input.label.version.to_string()), ("mpich", "4.1".to_owned()));
        assert_eq!(input.path, Path::new("/a:b/mpi.h"));
        for text in ["", "mpich", "mpich=/a", "mpich=/a:b", "lam=/a:1.2"] {
            assert!(text.parse::<Input>().is_err(), "{text}");
        }
    }
}

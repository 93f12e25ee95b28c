//! The command line: one definition yields parsing, help and errors.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, Parser, Subcommand};

use crate::error::{Error, Result};
use crate::numbering::{Numbering, Release, numbering_rust, release};
use crate::parameters::Parameters;
use crate::parameters::rules::Rules;
use crate::read::header::{Header, Label, read_all};
use crate::standard::Standard;
use crate::table::Table;

const EXAMPLES: &str = "\
EXAMPLES
  Add the functions of a new MPI to the table, then regenerate what is made from it:
    shim-gen table --existing bridge/abi/functions.tsv \\
        --header mpich-5.0=/opt/mpich/include:5.0 --output bridge/abi/functions.tsv
    shim-gen rust --output bridge/abi/src/table.rs
    shim-gen stubs --output bridge/entry/src/exports/functions/list.rs

  Work out what the parameters of all functions are, from all headers, then regenerate what is made from it:
    shim-gen parameters --header mpich-5.0=/opt/mpich/include:5.0 --header ... --output bridge/abi/parameters.tsv
    shim-gen parameters-kinds --output bridge/abi/src/parameters/kind.rs
    shim-gen parameters-rust  --output bridge/abi/src/parameters/table.rs
    shim-gen parameters-page  --output docs/parameters.md

  Make a tool that intercepts everything:
    shim-gen passthrough --header /opt/mpich/include/mpi.h --output pass.c
    mpicc -shared -fPIC -o libpass.so pass.c

  Start a new QMPI tool:
    shim-gen skeleton --header /opt/mpich/include/mpi.h --name mytool MPI_Send MPI_Recv --output mytool.c
    mpicc -shared -fPIC -I bridge/include -o libmytool.so mytool.c

  Add the numbers of a new MPICH, then regenerate the C interface from all headers:
    shim-gen numbering --header mpich-5.1.0=/opt/mpich/include --output bridge/abi/numbering/mpich-5.1.0.txt
    shim-gen numbering-rust --output bridge/abi/src/numbering/tables.rs
    shim-gen header --header mpich-5.1.0=/opt/mpich/include:5.0 --header ... --output bridge/include/qmpi.h
    shim-gen stubs --qmpi --output bridge/entry/src/exports/shifted/list.rs
    shim-gen stubs --fortran --output bridge/fortran/src/list.rs

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
    /// Print the manual page
    Man {
        #[command(flatten)]
        output: Output,
    },
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
    /// Print what the parameters of all functions are (bridge/abi/parameters.tsv)
    #[command(after_help = EXAMPLES)]
    Parameters {
        /// A header or include directory, as for `shim-gen table`
        #[arg(long = "header", value_name = "VENDOR-RELEASE=PATH:VERSION", required = true)]
        headers: Vec<Input>,
        /// What the parameters mean [default: a built-in page of rules]
        #[arg(long, value_name = "FILE")]
        rules: Option<PathBuf>,
        #[command(flatten)]
        table: TableFile,
        #[command(flatten)]
        output: Output,
    },
    /// Print the parameters as Rust (bridge/abi/src/parameters/table.rs)
    ParametersRust {
        #[command(flatten)]
        parameters: ParametersFile,
        #[command(flatten)]
        output: Output,
    },
    /// Print the kinds of parameters as Rust (bridge/abi/src/parameters/kind.rs)
    ParametersKinds {
        #[command(flatten)]
        output: Output,
    },
    /// Print the page about parameters (docs/parameters.md)
    ParametersPage {
        #[command(flatten)]
        parameters: ParametersFile,
        #[command(flatten)]
        output: Output,
    },
    /// Print the list of entry points (bridge/entry/src/exports/functions/list.rs)
    Stubs {
        /// The name-shifted ones (bridge/entry/src/exports/shifted/list.rs)
        #[arg(long)]
        qmpi: bool,
        /// The name-shifted ones of Fortran (bridge/fortran/src/list.rs)
        #[arg(long, conflicts_with = "qmpi")]
        fortran: bool,
        #[command(flatten)]
        table: TableFile,
        #[command(flatten)]
        output: Output,
    },
    /// Print which functions the headers have as macros only, and what these stand for (bridge/abi/src/macros.rs)
    Macros {
        /// A header or include directory, as for `shim-gen table`
        #[arg(long = "header", value_name = "VENDOR-RELEASE=PATH:VERSION", required = true)]
        headers: Vec<Input>,
        #[command(flatten)]
        table: TableFile,
        #[command(flatten)]
        output: Output,
    },
    /// Print the numbers of functions (enum QMPI_Functions_enum) in the headers of one MPICH, or of several that agree
    #[command(after_help = EXAMPLES)]
    Numbering {
        /// mpi_proto.h, or an include directory, and the release it belongs to. Repeatable
        #[arg(long = "header", value_name = "[mpich-RELEASE=]PATH", required = true)]
        headers: Vec<Numbered>,
        #[command(flatten)]
        output: Output,
    },
    /// Print all numberings as Rust (bridge/abi/src/numbering/tables.rs)
    NumberingRust {
        #[command(flatten)]
        numberings: Numberings,
        #[command(flatten)]
        table: TableFile,
        #[command(flatten)]
        output: Output,
    },
    /// Print qmpi.h, the C interface for tools (bridge/include/qmpi.h)
    #[command(after_help = EXAMPLES)]
    Header {
        /// A header or include directory, as for `shim-gen table`: it says which MPI has which function with which types
        #[arg(long = "header", value_name = "VENDOR-RELEASE=PATH:VERSION", required = true)]
        headers: Vec<Input>,
        #[command(flatten)]
        numberings: Numberings,
        #[command(flatten)]
        table: TableFile,
        #[command(flatten)]
        output: Output,
    },
    /// Print a PMPI tool in C that wraps every function of a header and does nothing else
    #[command(after_help = EXAMPLES)]
    Passthrough {
        #[command(flatten)]
        read: Read,
        /// A function to leave out, without P. Repeatable
        #[arg(long, value_name = "NAME")]
        exclude: Vec<String>,
        #[command(flatten)]
        output: Output,
    },
    /// Print a QMPI tool in C that wraps every function of a header and does nothing else
    #[command(after_help = EXAMPLES)]
    QmpiPassthrough {
        #[command(flatten)]
        read: Read,
        /// The tool's name
        #[arg(long, value_name = "NAME", default_value = "passthrough", value_parser = identifier)]
        name: String,
        /// A function to leave out. Repeatable
        #[arg(long, value_name = "NAME")]
        exclude: Vec<String>,
        #[command(flatten)]
        output: Output,
    },
    /// Print the start of a new QMPI tool in C, for some functions: everything but what it does
    #[command(after_help = EXAMPLES)]
    Skeleton {
        #[command(flatten)]
        read: Read,
        /// The tool's name
        #[arg(long, value_name = "NAME", default_value = "mytool", value_parser = identifier)]
        name: String,
        /// What the tool intercepts, beside the initialization of MPI: MPI_Send
        #[arg(value_name = "FUNCTION", required_unless_present = "all")]
        functions: Vec<String>,
        /// Every function of the headers
        #[arg(long, conflicts_with = "functions")]
        all: bool,
        #[command(flatten)]
        output: Output,
    },
}

#[derive(Args)]
struct Read {
    /// The header to read, which the C text includes by its file name. Repeatable, for mpi-ext.h after mpi.h
    #[arg(long = "header", value_name = "mpi.h", required = true)]
    headers: Vec<PathBuf>,
}

#[derive(Args)]
struct TableFile {
    /// The table of functions
    #[arg(long, value_name = "FILE", default_value = "bridge/abi/functions.tsv")]
    table: PathBuf,
}

#[derive(Args)]
struct ParametersFile {
    /// What the parameters of all functions are
    #[arg(long, value_name = "FILE", default_value = "bridge/abi/parameters.tsv")]
    parameters: PathBuf,
}

#[derive(Args)]
struct Numberings {
    /// The directory of what `shim-gen numbering` printed
    #[arg(long, value_name = "DIR", default_value = "bridge/abi/numbering")]
    numberings: PathBuf,
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

/// `mpich-4.0.2=/usr/include/mpich`, or the path alone.
#[derive(Clone)]
struct Numbered {
    release: Option<Release>,
    path: PathBuf,
}

impl FromStr for Numbered {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let Some((label, path)) = text.split_once('=') else {
            return Ok(Self { release: None, path: text.into() });
        };
        let release = label.strip_prefix("mpich-").and_then(release);
        let release = release.ok_or_else(|| format!("`{label}` is not like mpich-4.0.2"))?;
        Ok(Self { release: Some(release), path: path.into() })
    }
}

/// Parses the command line, does what it says and reports errors.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(message) if message.use_stderr() => {
            let (reason, hint) = explain(&message);
            eprintln!("shim-gen: {reason}\nhint: {hint}");
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

/// What is wrong with a command line, in one line, and what to do about it.
fn explain(error: &clap::Error) -> (String, String) {
    let text = error.to_string();
    // The first paragraph: missing arguments are on lines of their own.
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.trim_start_matches("error: ").split_whitespace().collect();
    let kinds = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let suggested = kinds.iter().find_map(|kind| match error.get(*kind)? {
        ContextValue::String(word) => Some(word.clone()),
        // clap sorts by resemblance, the best one last.
        ContextValue::Strings(words) => words.last().cloned(),
        _ => None,
    });
    let hint = match suggested {
        Some(word) => format!("did you mean `{word}`?"),
        None => {
            "`shim-gen --help` shows the subcommands with examples, `shim-gen SUBCOMMAND --help` the options".to_owned()
        }
    };
    (words.join(" "), hint)
}

fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::Man { output } => output.write(&crate::manual::page(<Cli as clap::CommandFactory>::command())),
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
        Command::Parameters { headers, rules, table, output } => {
            let inputs: Vec<_> = headers.into_iter().map(|input| (input.label, input.path)).collect();
            let rules = match rules {
                Some(path) => Rules::parse(&read(&path)?, &path.display().to_string())?,
                None => Rules::built_in()?,
            };
            let parameters = Parameters::build(&read_all(&inputs)?, &Table::read(&table.table)?, &rules)?;
            output.write(&parameters.to_tsv())
        }
        Command::ParametersRust { parameters, output } => {
            output.write(&crate::parameters_rust(&Parameters::read(&parameters.parameters)?)?)
        }
        Command::ParametersKinds { output } => output.write(&crate::kinds_rust(&Rules::built_in()?)),
        Command::ParametersPage { parameters, output } => {
            output.write(&crate::parameters_page(&Parameters::read(&parameters.parameters)?, &Rules::built_in()?))
        }
        Command::Stubs { qmpi, fortran, table, output } => {
            let generate = match (qmpi, fortran) {
                (true, _) => crate::qmpi_stubs,
                (_, true) => crate::fortran_stubs,
                _ => crate::stubs,
            };
            output.write(&generate(&Table::read(&table.table)?))
        }
        Command::Header { headers, numberings, table, output } => {
            let inputs: Vec<_> = headers.into_iter().map(|input| (input.label, input.path)).collect();
            let numberings = Numbering::read_all(&numberings.numberings)?;
            output.write(&crate::qmpi_header(&read_all(&inputs)?, &numberings, &Table::read(&table.table)?))
        }
        Command::Macros { headers, table, output } => {
            let inputs: Vec<_> = headers.into_iter().map(|input| (input.label, input.path)).collect();
            output.write(&crate::macros_rust(&read_all(&inputs)?, &Table::read(&table.table)?)?)
        }
        Command::Numbering { headers, output } => output.write(&numbering(&headers)?.to_text()),
        Command::NumberingRust { numberings, table, output } => {
            output.write(&numbering_rust(&Numbering::read_all(&numberings.numberings)?, &Table::read(&table.table)?)?)
        }
        Command::Passthrough { read, exclude, output } => {
            let (headers, includes) = read.headers()?;
            output.write(&crate::passthrough(&headers, &includes, &exclude.into_iter().collect()))
        }
        Command::QmpiPassthrough { read, name, exclude, output } => {
            let (headers, includes) = read.headers()?;
            output.write(&crate::qmpi_passthrough(&headers, &includes, &name, &exclude.into_iter().collect()))
        }
        Command::Skeleton { read, name, mut functions, all, output } => {
            let (headers, includes) = read.headers()?;
            if all {
                let declared = headers.iter().flat_map(Header::functions);
                functions = declared.map(|declared| declared.prototype.name.clone()).collect();
            }
            output.write(&crate::skeleton(&headers, &includes, &name, &functions)?)
        }
    }
}

/// The numbering that all headers have.
fn numbering(headers: &[Numbered]) -> Result<Numbering> {
    let releases = headers.iter().filter_map(|header| header.release).collect();
    // The parser has seen to it that there is one.
    let first = &headers[0].path;
    let numbering = Numbering::read_header(first, releases)?;
    for Numbered { path, .. } in &headers[1..] {
        if Numbering::read_header(path, Vec::new())?.values != numbering.values {
            return Err(Error::Numberings { first: first.clone(), second: path.clone() });
        }
    }
    Ok(numbering)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// What `#include` has to say: the file name; of a directory, the header that was read in it.
fn include_name(path: &Path) -> String {
    let name = if path.is_dir() { None } else { path.file_name() };
    name.map_or_else(|| "mpi.h".to_owned(), |name| name.to_string_lossy().into_owned())
}

impl Read {
    /// The headers, and what the C text includes for them.
    fn headers(&self) -> Result<(Vec<Header>, Vec<String>)> {
        let headers = self.headers.iter().map(|path| Header::read(path)).collect::<Result<Vec<_>>>()?;
        Ok((headers, self.headers.iter().map(|path| include_name(path)).collect()))
    }
}

/// A name that functions of C can begin with.
fn identifier(text: &str) -> std::result::Result<String, String> {
    let good = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if good { Ok(text.to_owned()) } else { Err("expected letters, digits and underscores, a letter first".to_owned()) }
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

    fn explained(line: &str) -> (String, String) {
        let Err(error) = Cli::try_parse_from(line.split(' ')) else { panic!("{line} is right") };
        explain(&error)
    }

    #[test]
    fn what_is_missing_is_named() {
        let (reason, _) = explained("shim-gen skeleton --name x MPI_Send");
        assert!(reason.contains("required arguments were not provided: --"), "{reason}");
    }

    #[test]
    fn what_resembles_it_is_named() {
        assert_eq!(explained("shim-gen skeletn").1, "did you mean `skeleton`?");
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

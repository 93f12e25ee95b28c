//! The command line: one definition yields parsing, help and errors.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::error::{Result, ShimError};
use crate::numbering::{HeaderNumbering, Release, release};
use crate::parameters::Parameters;
use crate::parameters::rules::Rules;
use crate::read::header::{Header, Label};
use crate::standard::{Standard, StandardVersion};
use crate::table::FunctionList;
use crate::text::Parsed;

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
struct ShimGenArguments {
    #[command(subcommand)]
    command: Command,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE", global = true)]
    output: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Print the manual page
    Man,
    /// Print the table of functions (functions.tsv) that the headers add up to
    #[command(after_help = EXAMPLES)]
    Table {
        #[command(flatten)]
        headers: LabelledHeaders,
        /// The table so far: its functions keep their numbers
        #[arg(long, value_name = "FILE")]
        existing: Option<PathBuf>,
    },
    /// Print the table as Rust (bridge/abi/src/table.rs)
    Rust(TableFile),
    /// Print what the parameters of all functions are (bridge/abi/parameters.tsv)
    #[command(after_help = EXAMPLES)]
    Parameters {
        #[command(flatten)]
        headers: LabelledHeaders,
        #[command(flatten)]
        table: TableFile,
    },
    /// Print the parameters as Rust (bridge/abi/src/parameters/table.rs)
    ParametersRust(ParametersFile),
    /// Print the kinds of parameters as Rust (bridge/abi/src/parameters/kind.rs)
    ParametersKinds,
    /// Print the page about parameters (docs/parameters.md)
    ParametersPage(ParametersFile),
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
    },
    /// Print which functions the headers have as macros only, and what these stand for (bridge/abi/src/macros.rs)
    Macros {
        #[command(flatten)]
        headers: LabelledHeaders,
        #[command(flatten)]
        table: TableFile,
    },
    /// Print the numbers of functions (enum QMPI_Functions_enum) in the headers of one MPICH, or of several that agree
    #[command(after_help = EXAMPLES)]
    Numbering {
        /// mpi_proto.h, or an include directory, and the release it belongs to. Repeatable
        #[arg(long = "header", value_name = "[mpich-RELEASE=]PATH", required = true, value_parser = with_release)]
        headers: Vec<(Option<Release>, PathBuf)>,
    },
    /// Print all numberings as Rust (bridge/abi/src/numbering/tables.rs)
    NumberingRust(NumberedFunctions),
    /// Print qmpi.h, the C interface for tools (bridge/include/qmpi.h)
    #[command(after_help = EXAMPLES)]
    Header {
        #[command(flatten)]
        headers: LabelledHeaders,
        #[command(flatten)]
        functions: NumberedFunctions,
    },
    /// Print a PMPI tool in C that wraps every function of a header and does nothing else
    #[command(after_help = EXAMPLES)]
    Passthrough {
        #[command(flatten)]
        headers: IncludedHeaders,
        /// A function to leave out, without P. Repeatable
        #[arg(long, value_name = "NAME")]
        exclude: Vec<String>,
    },
    /// Print a QMPI tool in C that wraps every function of a header and does nothing else
    #[command(after_help = EXAMPLES)]
    QmpiPassthrough {
        #[command(flatten)]
        headers: IncludedHeaders,
        /// The tool's name
        #[arg(long, value_name = "NAME", default_value = "passthrough", value_parser = identifier)]
        name: String,
        /// A function to leave out. Repeatable
        #[arg(long, value_name = "NAME")]
        exclude: Vec<String>,
    },
    /// Print the start of a new QMPI tool in C, for some functions: everything but what it does
    #[command(after_help = EXAMPLES)]
    Skeleton {
        #[command(flatten)]
        headers: IncludedHeaders,
        /// The tool's name
        #[arg(long, value_name = "NAME", default_value = "mytool", value_parser = identifier)]
        name: String,
        /// What the tool intercepts, beside the initialization of MPI: MPI_Send
        #[arg(value_name = "FUNCTION", required = true)]
        functions: Vec<String>,
    },
}

#[derive(Args)]
struct LabelledHeaders {
    /// A header or include directory, what to call it, and the version of the standard it follows:
    /// mpich-4.0.2=/usr/include/mpich:4.0. The name begins with mpich or openmpi, for functions that are no
    /// standard; so do relatives of those two. Of a directory mpi.h, mpi_abi.h and mpi-ext.h are read. Repeatable
    #[arg(long = "header", value_name = "VENDOR-RELEASE=PATH:VERSION", required = true, value_parser = with_label)]
    headers: Vec<(Label, PathBuf)>,
}

impl LabelledHeaders {
    fn read(self) -> Result<Vec<(Label, Header)>> {
        self.headers.into_iter().map(|(label, path)| Ok((label, Header::read(&path)?))).collect()
    }
}

#[derive(Args)]
struct IncludedHeaders {
    /// The header to read, which the C text includes by its file name. Repeatable, for mpi-ext.h after mpi.h
    #[arg(long = "header", value_name = "mpi.h", required = true)]
    headers: Vec<PathBuf>,
}

impl IncludedHeaders {
    /// The headers, and what `#include` has to say for them: the file name; of a directory, the header that was read in it.
    fn read(&self) -> Result<(Vec<Header>, Vec<String>)> {
        let include = |path: &PathBuf| match path.file_name() {
            Some(name) if !path.is_dir() => name.to_string_lossy().into_owned(),
            _ => "mpi.h".to_owned(),
        };
        let headers = self.headers.iter().map(|path| Header::read(path)).collect::<Result<_>>()?;
        Ok((headers, self.headers.iter().map(include).collect()))
    }
}

#[derive(Args)]
struct TableFile {
    /// The table of functions
    #[arg(long, value_name = "FILE", default_value = "bridge/abi/functions.tsv")]
    table: PathBuf,
}

impl TableFile {
    fn read(&self) -> Result<FunctionList> {
        FunctionList::read(&self.table)
    }
}

#[derive(Args)]
struct ParametersFile {
    /// What the parameters of all functions are
    #[arg(long, value_name = "FILE", default_value = "bridge/abi/parameters.tsv")]
    parameters: PathBuf,
}

#[derive(Args)]
struct NumberedFunctions {
    /// The directory of what `shim-gen numbering` printed
    #[arg(long, value_name = "DIR", default_value = "bridge/abi/numbering")]
    numberings: PathBuf,
    #[command(flatten)]
    table: TableFile,
}

impl NumberedFunctions {
    fn read(&self) -> Result<(Vec<HeaderNumbering>, FunctionList)> {
        Ok((HeaderNumbering::read_all(&self.numberings)?, self.table.read()?))
    }
}

/// Reads `mpich-4.0.2=/usr/include/mpich:4.0`.
fn with_label(text: &str) -> Parsed<(Label, PathBuf)> {
    let parts = text.split_once('=').and_then(|(name, rest)| Some((name, rest.rsplit_once(':')?)));
    let (name, (path, version)) = parts.ok_or("expected VENDOR-RELEASE=PATH:VERSION")?;
    let label = Label { name: name.to_owned(), version: StandardVersion::parse(version)? };
    if !matches!(label.vendor(), "mpich" | "openmpi") {
        return Err(format!("`{name}` does not begin with mpich or openmpi"));
    }
    Ok((label, path.into()))
}

/// Reads `mpich-4.0.2=/usr/include/mpich`, or the path alone.
fn with_release(text: &str) -> Parsed<(Option<Release>, PathBuf)> {
    let Some((label, path)) = text.split_once('=') else { return Ok((None, text.into())) };
    let release = label.strip_prefix("mpich-").and_then(release);
    Ok((Some(release.ok_or_else(|| format!("`{label}` is not like mpich-4.0.2"))?), path.into()))
}

/// A name that functions of C can begin with.
fn identifier(text: &str) -> Parsed<String> {
    let good = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if good { Ok(text.to_owned()) } else { Err("expected letters, digits and underscores, a letter first".to_owned()) }
}

/// Parses the command line, does what it says and reports errors.
pub fn main() -> ExitCode {
    let arguments = match ShimGenArguments::try_parse() {
        Ok(arguments) => arguments,
        Err(message) if message.use_stderr() => {
            let (reason, hint) = explain(&message);
            return fail(&reason, &hint, 2);
        }
        // --help and --version.
        Err(message) => message.exit(),
    };
    match generate(arguments.command).and_then(|text| write(arguments.output.as_deref(), &text)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error, error.hint(), 1),
    }
}

fn fail(reason: &dyn std::fmt::Display, hint: &str, status: u8) -> ExitCode {
    eprintln!("shim-gen: {reason}\nhint: {hint}");
    ExitCode::from(status)
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
    const HELP: &str =
        "`shim-gen --help` shows the subcommands with examples, `shim-gen SUBCOMMAND --help` the options";
    let hint = suggested.map_or_else(|| HELP.to_owned(), |word| format!("did you mean `{word}`?"));
    (words.join(" "), hint)
}

/// The text that a subcommand prints.
fn generate(command: Command) -> Result<String> {
    Ok(match command {
        Command::Man => crate::manual::page(ShimGenArguments::command()),
        Command::Table { headers, existing } => {
            let existing = existing.map(|path| FunctionList::read(&path)).transpose()?;
            FunctionList::build(&headers.read()?, existing.as_ref(), &Standard::built_in()?)?.to_tsv()
        }
        Command::Rust(table) => crate::rust(&table.read()?),
        Command::Parameters { headers, table } => {
            Parameters::build(&headers.read()?, &table.read()?, &Rules::built_in()?)?.to_tsv()
        }
        Command::ParametersRust(file) => crate::parameters_rust(&Parameters::read(&file.parameters)?)?,
        Command::ParametersKinds => crate::kinds_rust(&Rules::built_in()?),
        Command::ParametersPage(file) => {
            crate::parameters_page(&Parameters::read(&file.parameters)?, &Rules::built_in()?)
        }
        Command::Stubs { qmpi: true, table, .. } => crate::qmpi_stubs(&table.read()?),
        Command::Stubs { fortran: true, table, .. } => crate::fortran_stubs(&table.read()?),
        Command::Stubs { table, .. } => crate::stubs(&table.read()?),
        Command::Macros { headers, table } => crate::macros_rust(&headers.read()?, &table.read()?)?,
        Command::Numbering { headers } => numbering(&headers)?.to_text(),
        Command::NumberingRust(functions) => {
            let (numberings, table) = functions.read()?;
            crate::numbering_rust(&numberings, &table)?
        }
        Command::Header { headers, functions } => {
            let (numberings, table) = functions.read()?;
            crate::qmpi_header(&headers.read()?, &numberings, &table)
        }
        Command::Passthrough { headers, exclude } => {
            let (headers, includes) = headers.read()?;
            crate::passthrough(&headers, &includes, &exclude.into_iter().collect())
        }
        Command::QmpiPassthrough { headers, name, exclude } => {
            let (headers, includes) = headers.read()?;
            crate::qmpi_passthrough(&headers, &includes, &name, &exclude.into_iter().collect())
        }
        Command::Skeleton { headers, name, functions } => {
            let (headers, includes) = headers.read()?;
            crate::skeleton(&headers, &includes, &name, &functions)?
        }
    })
}

/// The numbering that all headers have.
fn numbering(headers: &[(Option<Release>, PathBuf)]) -> Result<HeaderNumbering> {
    let releases = headers.iter().filter_map(|(release, _)| *release).collect();
    // The parser has seen to it that there is one.
    let first = &headers[0].1;
    let numbering = HeaderNumbering::read_header(first, releases)?;
    for (_, path) in &headers[1..] {
        if HeaderNumbering::read_header(path, Vec::new())?.values != numbering.values {
            return Err(ShimError::Numberings(first.clone(), path.clone()));
        }
    }
    Ok(numbering)
}

fn write(path: Option<&Path>, text: &str) -> Result<()> {
    let Some(path) = path else {
        let written = std::io::stdout().write_all(text.as_bytes());
        return written.map_err(|source| ShimError::Write("standard output".into(), source));
    };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|source| ShimError::Write(parent.to_owned(), source))?;
    }
    std::fs::write(path, text).map_err(|source| ShimError::Write(path.to_owned(), source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        ShimGenArguments::command().debug_assert();
    }

    fn explained(line: &str) -> (String, String) {
        let Err(error) = ShimGenArguments::try_parse_from(line.split(' ')) else { panic!("{line} is right") };
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
        let (label, path) = with_label("mpich-4.0=/a:b/mpi.h:4.1").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((label.vendor(), label.version.to_string()), ("mpich", "4.1".to_owned()));
        assert_eq!(path, Path::new("/a:b/mpi.h"));
        for text in ["", "mpich", "mpich=/a", "mpich=/a:b", "lam=/a:1.2"] {
            assert!(with_label(text).is_err(), "{text}");
        }
    }
}

//! `qmpi env`: the variables that `run` would set, for a shell or what else sets variables.

use std::collections::BTreeMap;
use std::ffi::OsString;

use qmpi_launch::environment::EnvironmentVariable;
use qmpi_launch::shell;

use crate::args::{EnvArgs, Syntax};
use crate::terminal;
use crate::{Error, plan};

const PRELOAD: &str = "LD_PRELOAD";

pub(crate) fn env(args: &EnvArgs) -> Result<(), Error> {
    // A modulefile is loaded where other libraries are preloaded than here.
    let hidden = |name: &str| args.shell == Syntax::Modulefile && name == PRELOAD;
    let get = |name: &str| -> Option<OsString> { std::env::var_os(name).filter(|_| !hidden(name)) };
    let mut checked = plan::check(&args.stack, &[], args.verbosity, &get)?;
    let variables = checked.variables(&args.runtime, &get)?;
    checked.check_mpis()?;
    checked.check_command(None, &[])?;
    if !args.verbosity.quiet {
        terminal::warn_once(&checked.warnings);
    }
    terminal::answer(&written(&variables, args.shell))
}

fn written(variables: &[EnvironmentVariable], syntax: Syntax) -> String {
    let lines = |line: fn(&EnvironmentVariable) -> String| variables.iter().map(line).collect::<String>();
    match syntax {
        Syntax::Sh => lines(|variable| format!("export {}={}\n", variable.name, shell::quote(&variable.value))),
        Syntax::Csh => lines(|variable| format!("setenv {} {};\n", variable.name, shell::quote_csh(&variable.value))),
        Syntax::Fish => {
            lines(|variable| format!("set -gx {} {};\n", variable.name, shell::quote_fish(&variable.value)))
        }
        Syntax::Json => {
            let object: BTreeMap<_, _> = variables.iter().map(|variable| (variable.name, &variable.value)).collect();
            // A map of strings can always be written.
            serde_json::to_string_pretty(&object).unwrap_or_default() + "\n"
        }
        Syntax::Modulefile => {
            let what = "module-whatis \"A stack of MPI tools, by qmpi\"\n";
            let line = |variable: &EnvironmentVariable| match variable.name {
                // Other modules preload libraries as well; those that are there come first.
                PRELOAD => format!("append-path {PRELOAD} {}\n", shell::quote_tcl(&variable.value)),
                name => format!("setenv {name} {}\n", shell::quote_tcl(&variable.value)),
            };
            format!("#%Module1.0\n{what}{}", variables.iter().map(line).collect::<String>())
        }
    }
}

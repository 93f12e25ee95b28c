//! The command `qmpi`.

use std::process::ExitCode;

fn main() -> ExitCode {
    qmpi_cli::main(std::env::args_os())
}

//! The command `shim-gen`: all of it is in [`shim_gen::cli`].
use std::process::ExitCode;

fn main() -> ExitCode {
    shim_gen::cli::main()
}

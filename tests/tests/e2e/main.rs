//! The end-to-end tests, one module for each topic. A module is a `mod` line here and `qmpi_tests::module!(trials)` in its file,
//! where `trials` lists its checks; a check's name is `module::mpi::check`.

mod bad_input;
mod base_tools;
mod clones;
mod direct_calls;
mod examples;
mod exports;
mod finalize;
mod fortran;
mod frames;
mod hosts;
mod instances;
mod languages;
mod launchers;
mod list;
mod matrix;
mod mpi4py;
mod mpi_libraries;
mod numbering;
mod plugin;
mod programs;
mod qmpi;
mod quiet;
mod races;
mod real_programs;
mod real_tools;
mod switch;
mod thesis;
mod tools;

fn main() -> std::process::ExitCode {
    qmpi_tests::trial::run_all()
}

//! The end-to-end tests, one module for each topic. A module is a `mod` line here and `qmpi_tests::module!(trials)` in its file,
//! where `trials` lists its checks; a check's name is `module::mpi::check`.

mod bad_input;
mod base_tools;
mod clones;
mod compare;
mod cxx_unwinding;
mod direct_calls;
mod documents;
mod environ;
mod examples;
mod exits;
mod exports;
mod finalize;
mod fortran;
mod frames;
mod guard_page;
mod hash_tables;
mod heap;
mod hosts;
mod instances;
mod kinds;
mod languages;
mod launchers;
mod limits;
mod list;
mod macros;
mod many_layers;
mod many_undefined;
mod matrix;
mod memory;
mod missing_version_library;
mod mpi4py;
mod mpi_libraries;
mod mpi_with_qmpi;
mod mutated_tools;
mod name_shift;
mod no_proc;
mod numbering;
mod own_calls;
mod planted;
mod plugin;
mod plugin_on_qmpi;
mod program_pmpi;
mod programs;
mod qmpi;
mod quiet;
mod races;
mod real_programs;
mod real_tools;
mod refusals;
mod registration;
mod report;
mod sanitizers;
mod sentinels;
mod signals;
mod stacks_from_threads;
mod switch;
mod switching;
mod thesis;
mod threads_and_libraries;
mod tools;
mod trace;
mod unnamed_library;
mod versioned_wrappers;
mod with;
mod wraps;

fn main() -> std::process::ExitCode {
    qmpi_tests::trial::run_all()
}

//! The end-to-end tests: a directory for each question that a user has, a module (a file) for each topic.
//!
//! | group | what a user asks |
//! |---|---|
//! | `tools` | does my tool do in a stack what it does under `LD_PRELOAD`, beside tools of each other kind, and with the settings of its layer? |
//! | `programs` | does my program do and print what it does without a stack, and what does it cost to start? |
//! | `fortran` | Fortran programs, and tools with Fortran wrappers |
//! | `namespaces` | which libraries does each tool have a copy of, which one does a name lead to, and which versions? |
//! | `libc` | functions and variables of libc that tools wrap or depend on: environment, heap, files |
//! | `threads_and_signals` | threads, signal handlers, unwinding; what valgrind finds |
//! | `end` | what runs when a process ends, and MPI_Finalize |
//! | `qmpi` | QMPI tools, the interfaces of QMPI's documents, and MPI libraries that have QMPI themselves |
//! | `launch` | does the stack reach every rank: launchers, hosts, containers, Slurm, debuggers, the site's settings |
//! | `desk` | what the command tells: reports, traces, comparisons, inspection, the documentation's examples |
//! | `limits` | what cannot work, and how it is said: wrong input, refusals, large numbers, damaged files |
//! | `mpi_libraries` | MPI libraries other than Debian's, and two in one process |
//!
//! A module is a `mod` line here and `qmpi_tests::module!(trials)` in its file, where `trials` lists its checks; the name of a check is
//! `group::module::mpi::check`. `each` of `tools` and of `programs` takes every file of `legacy-tools` and of `tests/programs`.

mod tools {
    mod base_tools;
    mod each;
    mod filters;
    mod frames;
    mod instances;
    mod kinds;
    mod large_counts;
    mod matrix;
    mod openmp;
    mod own_calls;
    mod real_tools;
    mod sessions;
    mod switching;
    mod versioned_wrappers;
    mod with;
}

mod programs {
    mod all_processes;
    mod each;
    mod mpi4py;
    mod program_pmpi;
    mod quiet;
    mod real_programs;
    mod sanitizers;
    mod start_up;
}

mod fortran {
    mod languages;
    mod name_shift;
    mod sentinels;
    mod wrappers;
}

mod namespaces {
    mod clones;
    mod constructors;
    mod exports;
    mod hash_tables;
    mod in_common;
    mod many_undefined;
    mod missing_version_library;
    mod next_by_dlopen;
    mod opened_tools;
    mod thread_local;
}

mod libc {
    mod environ;
    mod heap;
    mod no_proc;
    mod own_allocators;
    mod preloaded_functions;
    mod wraps;
}

mod threads_and_signals {
    mod cxx_unwinding;
    mod guard_page;
    mod libraries;
    mod planted;
    mod signals;
    mod stacks_from_threads;
    mod valgrind;
}

mod end {
    mod exits;
    mod finalize;
}

mod qmpi {
    mod documents;
    mod examples;
    mod macros;
    mod mpi_with_qmpi;
    mod numbering;
    mod plugin;
    mod plugin_on_qmpi;
    mod registration;
    mod switch;
    mod thesis;
    mod tools;
}

mod launch {
    mod containers;
    mod hosts;
    mod launchers;
    mod mpir;
    mod sites;
    mod slurm;
}

mod desk {
    mod bisect;
    mod blind_spots;
    mod book;
    mod compare;
    mod demo;
    mod inspect;
    mod list;
    mod page;
    mod report;
    mod report_bytes;
    mod report_ends;
    mod stats;
    mod trace;
}

mod limits {
    mod bad_input;
    mod file_sizes;
    mod less_than_preloaded;
    mod many_layers;
    mod mutated_tools;
    mod refusals;
}

mod mpi_libraries {
    mod two_mpis;
    mod wheels;
}

fn main() -> std::process::ExitCode {
    qmpi_tests::trial::run_all()
}

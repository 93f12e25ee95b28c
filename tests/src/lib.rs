//! What the end-to-end tests are made of: real MPI libraries, programs and tools built on the spot, jobs.
//!
//! A test is a C, C++ or Fortran file that says in its first lines how to build it, how to run it and what to expect
//! (`directives.rs`): programs in `tests/programs`, tools in `legacy-tools`. Nothing is committed as a binary.
//!
//! | file | what |
//! |---|---|
//! | `browser.rs` | Chromium, for pages that the product writes |
//! | `measured.rs` | a job with `--report`, and the calls that the report has |
//! | `records.rs` | what ranks of a job with `--report` leave, made up |
//! | `dt_hash.rs` | copies of libraries with DT_HASH only |
//! | `directives.rs` | the `//#` lines of a source file |
//! | `mpich_with_qmpi.rs` | MPICH configured with `--enable-qmpi` |
//! | `mixed_stack.rs` | a stack of all kinds of tools under valgrind |
//! | `mpi.rs` | the MPI libraries that the tests run on |
//! | `compile.rs` | source files become programs and tools, once |
//! | `artifact.rs` | what "once" means: one file, whichever test wants it first |
//! | `matrix.rs` | tools that intercept everything, generated from the table of functions |
//! | `child.rs` | a child process: its output, its processor time |
//! | `foreign.rs` | the other machine |
//! | `gdb.rs` | gdb as a debugger that knows of MPI jobs by MPIR alone |
//! | `job.rs` | an MPI job, with or without a stack, and what came of it |
//! | `against.rs` | one program with tools under plain `LD_PRELOAD` and with libqmpi, compared |
//! | `large_counts.rs` | a tool from before MPI-4, and calls of every function with large counts |
//! | `library.rs` | all MPI libraries that C programs are tested on |
//! | `linear_layers.rs` | a thousand layers: right, and linear at start-up |
//! | `product.rs` | the command and the runtime under test |
//! | `qmpi_mpi.rs` | a small MPI that has QMPI itself |
//! | `tables.rs` | the tables that counters print, read back |
//! | `cells.rs` | what docs/matrix.md is made of |
//! | `traced.rs` | jobs under a tool that tells which ranks have the stack |
//! | `trial.rs` | one check, on each MPI that it is for; the modules of the test program `tests/e2e` |
//! | `documented.rs` | the tests that the documentation names: are they there? |
//! | `pages.rs` | the pages of the documentation, and where their links lead |
//! | `printed.rs` | commands and outputs that a page prints, typed and compared |
//! | `planted.rs` | a build of the libraries with defects that tests have to find |
//! | `valgrind.rs` | a job under memcheck or helgrind, and which of its errors are in our libraries |
//! | `variant.rs` | programs and tools compiled with further options |
//! | `watched.rs` | three layers that keep account of requests |
//! | `wheel.rs` | MPI libraries from PyPI, programs and tools built for them |

pub mod against;
pub mod artifact;
pub mod browser;
pub mod cells;
pub mod child;
pub mod compile;
pub mod directives;
pub mod documented;
pub mod dt_hash;
pub mod foreign;
pub mod gdb;
pub mod job;
pub mod large_counts;
pub mod library;
pub mod linear_layers;
pub mod matrix;
pub mod measured;
pub mod mixed_stack;
pub mod mpi;
pub mod mpich_with_qmpi;
pub mod pages;
pub mod planted;
pub mod printed;
pub mod product;
pub mod qmpi_mpi;
pub mod records;
mod session;
pub mod tables;
pub mod traced;
pub mod trial;
pub mod valgrind;
pub mod variant;
pub mod watched;
pub mod wheel;

pub use compile::{program, tool};
pub use directives::{Case, Source};
pub use job::{Job, Outcome};
pub use library::Library;
pub use mpi::Mpi;
pub use tables::{Table, Tables};
pub use traced::Traced;
pub use trial::{Check, Trial, Verdict, on_each_mpi};
pub use wheel::Wheel;

//! The options of `ci/bench`.

use std::path::PathBuf;

use clap::Parser;

/// Measures what libqmpi costs: ns and instructions per call, ms and kB per instance; writes tables beside the goals, and graphs.
///
/// All files go to target/bench: measurements.tsv has every single number, report.md the tables, report.tsv the figures of the tables, and
/// report/ the graphs. The exit status is 0 if everything could be run, whether or not the goals are met. What cannot be run, or measures
/// nothing, is named, and nothing is reported. docs/benchmark.md says how to read the tables.
#[derive(Parser)]
#[command(name = "ci/bench", after_help = VARIABLES)]
pub(crate) struct Options {
    /// Fewer rounds: a minute or two instead of ten
    #[arg(long)]
    pub(crate) quick: bool,
    /// One round on the null MPI alone, without valgrind: does the benchmark itself work?
    #[arg(long)]
    pub(crate) once: bool,
    /// Count instructions on the null MPI, and measure no time: for a machine that is busy, or emulated
    #[arg(long, conflicts_with = "once")]
    pub(crate) instructions: bool,
    /// Take libqmpi.so, shim-gen and the benchmark as they are
    #[arg(long)]
    pub(crate) no_build: bool,
    /// Write the tables to FILE as well: between its lines `<!-- results` and `<!-- end of results`, if it has them
    /// (docs/benchmark.md). FILE.tsv and the graphs in the directory FILE, both without `.md`, are written beside it
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Measure nothing: report the measurements in FILE, an earlier target/bench/measurements.tsv
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
}

const VARIABLES: &str = "\
Environment:
  MPI=\"openmpi mpich\"     which MPIs, each by the suffix of its compiler mpicc.SUFFIX (default: those found)
  QMPI_BENCH_PNMPI=DIR    installations of PnMPI to compare with, one for each MPI: DIR/SUFFIX/lib/libpnmpi.so, DIR/SUFFIX/bin/pnmpi-patch
  QMPI_BENCH_MPICH=DIR    an MPICH configured with --enable-qmpi to compare with (default: target/qmpi-mpich, ci/setup --qmpi-mpich)";

//! `libqmpi_core.so`: loads the tools of a stack, puts them on top of each other, and fills in what `libqmpi.so` jumps through.
//!
//! `libqmpi.so` opens it where there is an MPI and a stack. Everything here runs while the process is set up, or where a tool asks
//! for more than a look into a table; nothing is on the path of a call.
//!
//! Each module uses those above it only:
//!
//! | module | what |
//! |---|---|
//! | `ring` | the words of `libqmpi.so` |
//! | `heap`, `unwinding` | where this library's memory comes from; why it needs no unwinder |
//! | `name` | C names of functions of MPI |
//! | `lost_stack` | does the stack reach every rank? |
//! | `qmpi` | QMPI tools: registration, what comes next for each, function tables |
//! | `requested` | the stack that the environment asks for |
//! | `versions` | versions of wrappers |
//! | `recorder` | the recorder of calls, in front of layers |
//! | `switching` | layers that are switched off and on while the program runs |
//! | `large_counts` | calls with large counts for layers that have none |
//! | `chain` | the next link of every function below each layer |
//! | `thesis` | tools of the 2018 thesis's prototype |
//! | `finalize` | does `MPI_Finalize` arrive at every layer? |
//! | `sessions` | programs that use sessions, and layers that begin in MPI_Init |
//! | `process_end` | what is done and said when all layers have ended |
//! | `process` | the program's own objects: calls bound already, its tools, Fortran, libraries opened later |
//! | `present` | what tools can learn of each other, and of the process |
//! | `stack` | layers are planned, loaded, put on top of each other |
//! | `interface` | the C functions of `qmpi.h` and `qmpix.h` |
//! | `start` | start-up: one thread at a time, under `ld.so`'s lock |
//! | `mpir` | what it tells `qmpi run --mpir` |
//! | `survey` | what tools intercept, for `qmpi list` |
//! | `functions` | the functions that `libqmpi.so` calls |

mod chain;
mod finalize;
mod functions;
mod heap;
mod interface;
mod large_counts;
mod lost_stack;
mod mpir;
mod name;
#[cfg(planted)]
#[path = "../../entry/src/planted.rs"]
mod planted;
mod present;
mod process;
mod process_end;
mod qmpi;
mod recorder;
mod requested;
mod ring;
mod sessions;
mod stack;
mod start;
mod survey;
mod switching;
mod thesis;
// Tests unwind.
#[cfg(panic = "abort")]
mod unwinding;
mod versions;

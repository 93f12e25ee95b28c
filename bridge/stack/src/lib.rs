//! The stack a user asks for: which tools, in which order, with which settings, and where their files are.
//!
//! Used by the command before a job starts and by the runtime in every MPI process, so that both read a tool list and a
//! configuration file in one way. Nothing here opens a tool: whether a file *is* one is `qmpi-elf`'s question.
//!
//! | module | one thing |
//! |---|---|
//! | [`variable`] | names of the environment variables |
//! | [`preload`] | what is in `LD_PRELOAD` |
//! | [`list`] | the syntax of `QMPI_TOOL_LIST` |
//! | [`config`] | the TOML file |
//! | [`ranks`] | sets such as `0-3,8` |
//! | [`lookup`] | from a tool's name to its file |
//! | [`stack`] | all of that put together |
//! | [`rank`] | this process's rank before `MPI_Init` |
//! | [`launcher`] | what a launcher's command line does with the variables |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a panic is how a test fails"))]

pub mod config;
mod error;
pub mod launcher;
pub mod list;
pub mod lookup;
mod nearest;
pub mod preload;
pub mod rank;
pub mod ranks;
pub mod setting;
pub mod stack;
pub mod variable;

pub use config::Config;
pub use error::Error;
pub use launcher::Launcher;
pub use list::Element;
pub use lookup::Lookup;
pub use nearest::nearest;
pub use rank::rank_from_env;
pub use ranks::RankSet;
pub use setting::{LogLevel, OnError};
pub use stack::{Layer, Origin, PassedOver, Request, Skipped, Stack};

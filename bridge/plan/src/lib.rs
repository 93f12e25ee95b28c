//! The plan of a stack: which tools the user asks for, where their files are, what they are, and where each is loaded.
//!
//! The command makes it before a job starts, and every MPI process when it starts, by this code, so that both read a tool list in
//! one way and refuse the same tools for the same reasons. Nothing here loads a tool: a plan is made from files alone.
//!
//! | step | module |
//! |---|---|
//! | what the user asks for: variables, tool list, configuration file | [`request`] |
//! | from a tool's name to its file | [`lookup`] |
//! | the layers with their settings | [`stack`] |
//! | functions that are not MPI's | [`wraps`] |
//! | what each file is, and whether it can be a layer | [`inspector`], [`planned`], [`refusal`] |
//! | what a layer with hidden calls of its own passes on | [`own_calls`] |
//! | where the program's own calls of `PMPI_f` go | [`ProgramPmpi`] |
//! | a namespace of its own, or one that clones share | [`placement`] |
//! | the words by which layers are switched off and on | [`control`] |
//! | ranks, the launcher, `LD_PRELOAD` | [`job`] |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a panic is how a test fails"))]

pub mod control;
mod error;
pub mod inspector;
pub mod job;
pub mod own_calls;
pub mod placement;
pub mod planned;
mod program_pmpi;
pub mod refusal;
pub mod request;
pub mod stack;
pub mod wraps;

pub use error::PlanError;
pub use inspector::Inspector;
pub use job::launcher::{self, Launcher};
pub use job::preload;
pub use job::rank::{
    RANK_VARIABLES, SIZE_VARIABLES, SPAWNED_VARIABLE, WORLD_VARIABLES, rank_from_env, size_from_env, told_by_launchers,
};
pub use job::ranks::RankSet;
pub use placement::{Namespaces, Place};
pub use planned::{LayerKind, Planned};
pub use program_pmpi::ProgramPmpi;
pub use refusal::Refusal;
pub use request::config::Config;
pub use request::filter::Filter;
pub use request::list::{self, Element};
pub use request::lookup::{self, Lookup};
pub use request::nearest::nearest;
pub use request::setting::{LogLevel, OnError, OwnCalls, Processes, Switching};
pub use request::{Request, variable};
pub use stack::{Layer, PassedOver, Skipped, Stack, StackOrigin};
pub use wraps::Wraps;

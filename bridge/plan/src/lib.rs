//! The plan of a stack: which tools the user asks for, where their files are, what they are, and where each is loaded.
//!
//! The command makes it before a job starts, and every MPI process when it starts, by this code, so that both read a tool list in
//! one way and refuse the same tools for the same reasons. Nothing here loads a tool: a plan is made from files alone.
//!
//! Each module uses those above it only:
//!
//! | module | what |
//! |---|---|
//! | `error` | what is wrong with what the user asks for |
//! | [`job`] | ranks, the launcher, `LD_PRELOAD` |
//! | `nearest` | what a misspelt word may mean |
//! | [`wraps`] | functions that are not MPI's |
//! | `setting`, `filter` | settings that are a word; which calls a layer sees |
//! | [`config`] | the configuration file |
//! | [`stack`] | the layers with their settings |
//! | [`request`] | what the user asks for: variables, tool list, configuration files; from a tool's name to its file |
//! | [`planned`], [`inspector`] | what each file is, and whether it can be a layer |
//! | [`own_calls`] | what a layer with hidden calls of its own passes on |
//! | [`placement`] | a namespace of its own, or one that clones share |
//! | [`control`] | the words by which layers are switched off and on |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a panic is how a test fails"))]

pub mod config;
pub mod control;
mod error;
mod filter;
pub mod inspector;
pub mod job;
mod nearest;
pub mod own_calls;
pub mod placement;
pub mod planned;
pub mod request;
mod setting;
pub mod stack;
pub mod wraps;

pub use config::Config;
pub use error::PlanError;
pub use filter::Filter;
pub use inspector::Inspector;
pub use job::launcher::{self, Launcher};
pub use job::preload;
pub use job::rank::{
    RANK_VARIABLES, SIZE_VARIABLES, SPAWNED_VARIABLE, WORLD_VARIABLES, rank_from_env, size_from_env, told_by_launchers,
};
pub use job::ranks::RankSet;
pub use nearest::nearest;
pub use placement::{Namespaces, Place};
pub use planned::{LayerKind, Planned};
pub use request::list::{self, Element};
pub use request::lookup::{self, Lookup};
pub use request::{Request, variable};
pub use setting::{
    FortranCalls, LargeCountCalls, LogLevel, OnError, OwnCalls, Processes, ProgramPmpi, SessionCalls, SettingWord,
    Switching,
};
pub use stack::{Layer, PassedOver, Skipped, Stack, StackOrigin};
pub use wraps::Wraps;

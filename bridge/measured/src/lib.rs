//! What a job of `qmpi` recorded, read and shown: the numbers of `--report` and `--stats`, the calls of `--trace`, and two sides of `compare`.
//!
//! In this order: a module imports only from modules above it. Nothing here starts a process.
//!
//! | what | module |
//! |---|---|
//! | why there is nothing to show | `error` |
//! | what a rank left: its record, or the counters of a rank that wrote none; the directory with them | `rank_record`, `counters`, [`rank_file`] |
//! | ranks of several worlds in one row; the sums of a job, what layers did not see | `worlds`, `job`, `blind_spots` |
//! | the calls that ranks recorded; as text, or as events for Perfetto | `trace`, [`events`] |
//! | a job for a terminal, for a browser | `passed_on`, `notes`, [`tables`], `template`, [`page`] |
//! | how a command ended; two sides of tools | [`ended`], [`compare`] |
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a panic is how a test fails"))]

mod blind_spots;
pub mod compare;
mod counters;
pub mod ended;
mod error;
pub mod events;
mod job;
mod notes;
pub mod page;
mod passed_on;
pub mod rank_file;
mod rank_record;
pub mod tables;
mod template;
mod trace;
mod worlds;

pub use error::MeasuredError;
pub use job::MeasuredJob;

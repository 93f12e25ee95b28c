//! The job that a stack is for: its ranks, its launcher, and what is preloaded into its processes.

mod kind;
pub mod launcher;
mod options;
pub mod preload;
pub mod rank;
pub mod ranks;

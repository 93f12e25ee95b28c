//! What the commands print.
//!
//! | what | module |
//! |---|---|
//! | a tool, an MPI library, a launch | [`tool`], [`mpi`], [`launch`] |
//! | the setting that helps a tool | `advice` |
//! | the connections between layers | [`edges`] |
//! | good and bad answers, warnings, errors in JSON | [`check`], [`warning`], [`failure`] |
//! | what a job measured: for a terminal, as a page for a browser | [`measured`], [`page`] |
//! | what two sides differ in, as both | [`compared`] |
//! | bytes that calls move, for both | `bytes` |
//! | lists, words for a shell, the terminal | [`listing`], [`shell`], [`terminal`] |

pub(crate) mod advice;
pub(crate) mod bytes;
pub mod check;
pub mod compared;
pub mod container;
pub mod edges;
pub mod failure;
pub mod launch;
pub mod listing;
pub mod measured;
pub mod mpi;
pub mod notes;
pub mod page;
pub mod program;
pub mod shell;
mod template;
pub mod terminal;
pub mod tool;
pub mod trace;
pub mod warning;

//! `qmpi compare`: one program under two sides of tools, run several times each, and what is different.
//!
//! What varies between runs of one side is found first, and not held against the other.
//!
//! | phase | modules |
//! |---|---|
//! | what is compared | [`side`] |
//! | one run | [`command`], [`rank`], [`directory`], [`run`] |
//! | what runs print and write, without what differs each time | [`mask`], [`token`] |
//! | what varies by itself, and what differs | [`sequence`] |
//! | exit status, output, files | [`output`] |
//! | calls of MPI, and what they cost | [`calls`], `edge.rs`, [`record`], [`cost`] |
//! | what was found | [`finding`] |

pub mod calls;
pub mod command;
pub mod cost;
pub mod directory;
mod edge;
pub mod finding;
pub mod mask;
pub mod output;
pub mod rank;
pub mod record;
pub mod run;
mod sends;
pub mod sequence;
pub mod side;
pub mod token;

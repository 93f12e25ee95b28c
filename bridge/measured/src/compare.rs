//! One program under two sides of tools, run several times each, and what is different.
//!
//! What varies between runs of one side is found first, and not held against the other. In this order: a module imports only from modules
//! above it.
//!
//! | what | modules |
//! |---|---|
//! | what was found | `finding` |
//! | what runs print and write, without what differs each time; what a run left | [`mask`], [`run`], `token` |
//! | what varies by itself, and what differs | `sequence` |
//! | exit status, output, files | `output` |
//! | calls of MPI that a run recorded, and what they cost | `sends`, `record`, `quartiles`, [`recorded`] |
//! | calls of all runs | `edge`, `calls`, `cost` |
//! | the answer, for a terminal, for a browser | [`answer`], [`text`], [`page`] |

pub mod answer;
mod calls;
mod cost;
mod edge;
mod finding;
pub mod mask;
mod output;
pub mod page;
mod quartiles;
mod record;
pub mod recorded;
pub mod run;
mod sends;
mod sequence;
pub mod text;
mod token;

pub use record::ToolsOfSide;
pub use token::Pool;

//! One program under two sides of tools, run several times each, and what is different.
//!
//! What varies between runs of one side is found first, and not held against the other. In this order: a module imports only from modules
//! above it.
//!
//! | what | modules |
//! |---|---|
//! | what was found | `finding` |
//! | what runs print and write, without what differs each time; what a run left | `mask`, `run`, `token` |
//! | what varies by itself, and what differs | `sequence` |
//! | exit status, output, files | `output` |
//! | calls of MPI that a run recorded, and what they cost | `sends`, `record`, `quartiles`, `recorded` |
//! | calls of all runs | `edge`, `calls`, `cost` |
//! | the answer, for a terminal, for a browser | `answer`, [`text`], [`page`] |

mod answer;
mod calls;
mod cost;
mod edge;
mod finding;
mod mask;
mod output;
pub mod page;
mod quartiles;
mod record;
mod recorded;
mod run;
mod sends;
mod sequence;
pub mod text;
mod token;

pub use answer::{Comparison, SideFacts, SideRuns};
pub use mask::{Masks, RunFacts};
pub use record::ToolsOfSide;
pub use recorded::Recorded;
pub use run::Run;
pub use token::Pool;

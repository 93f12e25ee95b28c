//! The subcommands, one file each.

pub mod compare;
pub mod ctl;
pub mod doctor;
pub mod env;
pub mod generate;
pub mod inspect;
pub mod list;
pub mod report;
pub mod run;
pub mod surveyed;

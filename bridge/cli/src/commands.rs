//! The subcommands, one file each.

pub mod attach;
pub mod bisect;
pub mod compare;
pub mod crashed;
pub mod ctl;
pub mod demo;
pub mod doctor;
pub mod env;
pub mod generate;
pub mod inspect;
pub mod list;
pub mod ps;
pub mod report;
pub mod run;
pub mod surveyed;
pub mod tools;

//! The subcommands, one file each.

pub(crate) mod attach;
pub(crate) mod bisect;
pub(crate) mod compare;
pub(crate) mod ctl;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod env;
pub(crate) mod generate;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod ps;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod surveyed;
pub(crate) mod tools;

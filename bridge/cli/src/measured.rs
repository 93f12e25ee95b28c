//! What `qmpi run --report` measured: the files of the ranks, and what they are together.

pub mod job;
pub mod rank_file;
pub mod trace;

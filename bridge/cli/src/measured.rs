//! What `qmpi run --report` measured: what each rank left, and what they are together.

pub mod counters;
pub mod job;
pub mod rank_file;
pub mod trace;
pub mod worlds;

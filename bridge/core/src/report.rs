//! What the core tells people: warnings about a stack that does not do what was asked for, and answers on request.

pub(crate) mod edges;
pub(crate) mod finalize;
pub(crate) mod lost_stack;
pub(crate) mod survey;

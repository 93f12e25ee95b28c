//! A hazard: what a private namespace cannot do for a tool, or does only with help.
//!
//! Whether one stops a run is decided by the caller; the ids are stable, the sentences are not.

/// What a hazard means for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Works because the runtime does something about it; worth knowing when it does not.
    Handled,
    /// A part of the tool sees or does less than under LD_PRELOAD.
    Limited,
    /// The tool will not work as it is.
    Fatal,
}

/// One finding about a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hazard {
    /// Stable name of the rule.
    pub id: &'static str,
    /// What it means for a run.
    pub effect: Effect,
    /// One sentence for the user.
    pub text: String,
}

//! Which of the calls that a layer intercepts it sees: `filter` of the configuration file.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

/// The conditions that a call has to meet, all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// One in so many calls of a function, the first among them.
    pub every: NonZeroU32,
    /// Only calls that begin so long after the start of the process, or later.
    pub from: Option<Duration>,
    /// Only calls that begin earlier than so long after the start of the process.
    pub to: Option<Duration>,
    /// On communicators of these names, as `MPI_Comm_get_name` has them. Calls without a communicator meet it.
    pub communicators: Option<Vec<String>>,
}

impl Default for Filter {
    fn default() -> Self {
        Self { every: NonZeroU32::MIN, from: None, to: None, communicators: None }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = match self.every.get() {
            1 => "calls".to_owned(),
            every => format!("one in {every} calls of a function"),
        };
        let communicators = self.communicators.as_ref().map(|names| format!("on {}", names.join(", ")));
        let from = self.from.map(|from| format!("from {} s", from.as_secs_f64()));
        let to = self.to.map(|to| format!("until {} s", to.as_secs_f64()));
        let after = if from.is_some() || to.is_some() { " after the start" } else { "" };
        let parts: Vec<String> = [Some(calls), communicators, from, to].into_iter().flatten().collect();
        write!(f, "{}{after}", parts.join(", "))
    }
}

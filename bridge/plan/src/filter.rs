//! Which of the calls that a layer intercepts it sees: `filter` of the configuration file.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

/// The conditions that a call has to meet, all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// One in so many calls of a function, the first among them.
    pub every: NonZeroU32,
    /// From so long after the start of the process.
    pub from: Option<Duration>,
    /// Until so long after it.
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
        if self.every.get() == 1 {
            f.write_str("calls")?;
        } else {
            write!(f, "one in {} calls of a function", self.every)?;
        }
        if let Some(names) = &self.communicators {
            write!(f, ", on {}", names.join(", "))?;
        }
        if let Some(from) = self.from {
            write!(f, ", from {} s", from.as_secs_f64())?;
        }
        if let Some(to) = self.to {
            write!(f, ", until {} s", to.as_secs_f64())?;
        }
        if self.from.is_some() || self.to.is_some() {
            f.write_str(" after the start")?;
        }
        Ok(())
    }
}

//! What a function does with handles, as far as it matters to a layer that is switched off for a while.
//!
//! A tool keeps what it knows of communicators, windows, files and datatypes, and of requests. If it misses how an object came into
//! being, it does not know it later; if it misses how a request is completed, it keeps it for ever.

use crate::FnId;
use crate::handles::table::HANDLES;

mod table;

/// What a function does with handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handles {
    /// Nothing but to use them.
    Uses,
    /// It makes, ends or names an object, begins or ends an epoch, MPI itself, or what a tool measures.
    Object,
    /// Its last argument is where it stores a new request.
    Starts,
    /// The same of a function that makes an object, too.
    ObjectAndStarts,
    /// The argument at this place, from 0, points to a request.
    Request(u8),
    /// The first argument is a count, the second points to so many requests.
    Requests,
    /// The argument at this place, from 0, is a request.
    RequestValue(u8),
}

impl Handles {
    /// Of this function.
    pub fn of(id: FnId) -> Handles {
        HANDLES[id.index()]
    }

    /// Does a tool have to see each call, to understand others?
    pub fn is_needed(self) -> bool {
        matches!(self, Handles::Object | Handles::ObjectAndStarts)
    }

    /// Does it store a new request?
    pub fn starts(self) -> bool {
        matches!(self, Handles::Starts | Handles::ObjectAndStarts)
    }

    /// Does it take requests?
    pub fn takes_requests(self) -> bool {
        matches!(self, Handles::Request(_) | Handles::Requests | Handles::RequestValue(_))
    }
}

//! Functions that a tool refers to and that nothing defines: loading must not fail for them, calling must say so.

use crate::error::LoadError;
use crate::links::trampoline;
use crate::{arch, log};

/// What a tool would call if it existed.
pub(crate) struct Missing {
    tool: String,
    function: String,
    reason: String,
    hint: &'static str,
}

/// Makes a function that says that `function` is missing, and ends the process.
///
/// # Errors
/// When no further stubs can be mapped.
pub fn stub(tool: &str, function: &str, reason: String, hint: &'static str) -> Result<usize, LoadError> {
    let missing = Missing { tool: tool.into(), function: function.into(), reason, hint };
    trampoline::allocate(arch::missing, Box::leak(Box::new(missing)))
}

/// The end of a stub.
pub(crate) extern "C" fn report(missing: &Missing) -> ! {
    let Missing { tool, function, reason, hint } = missing;
    log::fatal(&format!("{tool}: it called {function}, {reason}"), Some(hint))
}

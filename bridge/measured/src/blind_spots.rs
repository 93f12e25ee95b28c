//! What tools do not see: functions that the program called and of which no call came to a layer.

use std::collections::BTreeMap;

use serde::Serialize;

/// Functions that the text names; `--json` has all.
const NAMED: usize = 6;

/// What a layer did not see.
#[derive(Debug, Serialize)]
pub struct UnseenCalls {
    pub layer: String,
    /// Calls of the program.
    pub calls: u64,
    /// By function.
    pub functions: BTreeMap<String, u64>,
}

impl UnseenCalls {
    /// One sentence.
    pub(crate) fn text(&self, all_calls: u64) -> String {
        let Self { layer, calls, functions } = self;
        let mut by_calls: Vec<(&String, &u64)> = functions.iter().collect();
        by_calls.sort_by_key(|(name, calls)| (std::cmp::Reverse(**calls), *name));
        let mut named: Vec<String> =
            by_calls.iter().take(NAMED).map(|(name, calls)| format!("{name} ({calls})")).collect();
        if functions.len() > NAMED {
            named.push(format!("and {} more functions", functions.len() - NAMED));
        }
        format!("Not seen by {layer}: {calls} of the program's {all_calls} calls: {}.", named.join(", "))
    }
}

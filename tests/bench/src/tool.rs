//! The tools of the stacks.

/// A library, and the letter that stands for it in the name of a stack.
pub(crate) struct Tool {
    pub(crate) letter: char,
    /// The name of its file, without `.so`.
    pub(crate) file: &'static str,
}

/// p PMPI pass-through, c counter, z PMPI tool that does not call on, q generated QMPI pass-through, t QMPI tool with a table by tool id, l one
/// that asks QMPI_Get_function in each call, a one that asks for the calling address, s QMPI tool that does not call on, k the same, but the
/// calling address is kept for it, i one that measures the interface.
pub(crate) const TOOLS: [Tool; 10] = [
    Tool { letter: 'p', file: "pass" },
    Tool { letter: 'c', file: "counter" },
    Tool { letter: 'z', file: "pmpi_sink" },
    Tool { letter: 'q', file: "qpass" },
    Tool { letter: 't', file: "table" },
    Tool { letter: 'l', file: "lookup" },
    Tool { letter: 'a', file: "address" },
    Tool { letter: 's', file: "sink" },
    Tool { letter: 'k', file: "keep" },
    Tool { letter: 'i', file: "interface" },
];

impl Tool {
    pub(crate) fn with(letter: char) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.letter == letter)
    }
}

//! What a process has cost when `main` begins (setup.c).

/// Processor time and memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    pub(crate) cpu_ms: f64,
    pub(crate) private_kb: f64,
    pub(crate) shared_kb: f64,
    pub(crate) pss_kb: f64,
}

impl Cost {
    /// Pages that the process does not share with the file they come from.
    pub(crate) fn dirty_kb(&self) -> f64 {
        self.private_kb + self.shared_kb
    }
}

//! The stack: its layers with their settings, and what was passed over on the way to it.

use std::path::PathBuf;

use qmpi_abi::FnId;

use crate::config::ToolConfig;
use crate::{LargeCountCalls, LogLevel, OnError, PlanError, Processes, ProgramPmpi};

/// One instance of a tool in the stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Unique within the stack: the name, and `name#2` for its second instance.
    pub label: String,
    /// The name of the element, and of its section in the configuration file.
    pub name: String,
    /// The tool's file, absolute.
    pub path: PathBuf,
    /// What its section says. Files of `with` are absolute; those that are not there yet are as they were given.
    pub settings: ToolConfig,
}

/// An element without a file, passed over because `QMPI_ON_ERROR=skip`.
#[derive(Debug)]
pub struct Skipped {
    /// The label it would have had.
    pub label: String,
    /// What is wrong with it.
    pub error: PlanError,
}

/// Where the tools are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackOrigin {
    /// Nowhere; the stack is empty.
    Nowhere,
    /// `QMPI_TOOL_LIST`, or `-t`.
    ToolList,
    /// `stack` of the configuration file.
    Config,
    /// `TOOLS`.
    Thesis,
}

/// All layers, outermost first, with the settings that concern the whole.
#[derive(Debug)]
pub struct Stack {
    /// The layers, outermost first.
    pub layers: Vec<Layer>,
    /// What to do with a layer that cannot be set up.
    pub on_error: OnError,
    /// What all layers see of calls with large counts; their settings say it, too.
    pub large_counts: LargeCountCalls,
    /// How much to say.
    pub log: LogLevel,
    /// In which processes it is set up.
    pub processes: Processes,
    /// Where the tools are named.
    pub origin: StackOrigin,
    /// Elements without a file; not empty only with [`OnError::Skip`].
    pub skipped: Vec<Skipped>,
    /// Layers that are only a name so far, by their place in `layers`, and why no file was found; not empty only with
    /// [`crate::Request::keep_names`]. Their `path` is the name.
    pub unresolved: Vec<(usize, PlanError)>,
    /// Where the program's own calls of `PMPI_f` go.
    pub program_pmpi: ProgramPmpi,
    /// Why `TOOLS` was passed over, if it was.
    pub passed_over: Option<PassedOver>,
}

/// A `TOOLS` that is no list of shared objects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("TOOLS is set, but passed over: `{element}` in it is no shared object")]
pub struct PassedOver {
    /// The first element that is none.
    pub(crate) element: String,
    /// Others are, or all look like paths: probably it was meant as one.
    pub is_meant: bool,
}

impl PassedOver {
    /// What the user can do about it.
    pub const HINT: &'static str =
        "name the tools with -t or in QMPI_TOOL_LIST; if TOOLS is another program's, unset it";
}

impl Layer {
    /// What to say of its settings where a layer cannot be switched off.
    pub fn sees_all_calls(&self, place: &str) -> Option<String> {
        let has_filter = self.settings.switch.as_ref()?.filter.is_some();
        let setting = if has_filter { "filter" } else { "switch" };
        Some(format!("{}: `{setting}` has no effect {place}: the layer sees all calls", self.label))
    }

    /// Whether it has no file: its tool is registered by whoever has it.
    pub fn is_name_only(&self) -> bool {
        // Paths of files are absolute.
        !self.path.is_absolute()
    }

    /// Whether calls of this function arrive at it, if its tool intercepts them.
    pub fn lets(&self, function: FnId) -> bool {
        self.settings.functions.as_ref().is_none_or(|functions| functions.contains(&function))
            && (!self.settings.skips_pcontrol || function.name() != "MPI_Pcontrol")
    }

    /// Whether the layer exists on `rank`. Where no launcher tells the rank, it does.
    pub fn on_rank(&self, rank: Option<u32>) -> bool {
        match (&self.settings.ranks, rank) {
            (Some(ranks), Some(rank)) => ranks.contains(rank),
            _ => true,
        }
    }
}

//! Files that instances of a tool would write over each other's: names that are compiled into the tool, where it is known which.
//!
//! A tool is told by the constants of its file, whatever the file is called.

use qmpi_elf::Tool;
use qmpi_launch::Warning;

use crate::plan::layer::InspectedLayer;

/// What is known of a tool's output.
struct KnownOutput {
    /// Constants, or ends of some (linkers share those), all of which are in the file.
    constants: &'static [&'static str],
    /// What the files are called unless the user says otherwise.
    files: &'static str,
    /// The variable that says otherwise, and what its value is.
    setting: Option<(&'static str, &'static str)>,
}

const KNOWN: [KnownOutput; 3] = [
    // IBM's mpitrace. The job's number is that of the batch system or the process.
    KnownOutput {
        constants: &["mpi_profile.%d.%d"],
        files: "mpi_profile.JOB.RANK",
        setting: Some(("TRACE_DIR", "another directory, which exists")),
    },
    // SST's dumpi: the root of the names, the time of MPI_Init in seconds, the rank.
    KnownOutput {
        constants: &["%s-%04d.%02d.%02d.%02d.%02d.%02d", "DUMPI_CONF"],
        files: "dumpi-TIME-RANK.bin",
        setting: Some(("DUMPI_CONF", "a file with the line `fileroot=NAME`")),
    },
    // Projections, the PMPI library.
    KnownOutput { constants: &["ProjPMPI.%d.log"], files: "ProjPMPI.RANK.log", setting: None },
];

/// A warning for each set of layers that would write the same files.
pub(crate) fn shared(layers: &[InspectedLayer]) -> Vec<Warning> {
    let tools: Vec<(&InspectedLayer, &Tool)> =
        layers.iter().filter_map(|layer| Some((layer, layer.planned.pmpi()?))).collect();
    if tools.len() < 2 {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    for known in &KNOWN {
        let mut left: Vec<&InspectedLayer> =
            tools.iter().filter(|(_, tool)| known.is_of(tool)).map(|(layer, _)| *layer).collect();
        while let Some(first) = left.first().copied() {
            let (same, others): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|layer| known.value(layer) == known.value(first));
            left = others;
            warnings.extend(known.warning(&same));
        }
    }
    warnings
}

impl KnownOutput {
    fn is_of(&self, tool: &Tool) -> bool {
        let is_one = |text: &str| self.constants.iter().any(|constant| text.ends_with(constant));
        let found: Vec<String> = tool
            .closure
            .objects
            .iter()
            .flat_map(|object| object.strings_in_rodata(&is_one).unwrap_or_default())
            .collect();
        self.constants.iter().all(|constant| found.iter().any(|text| text.ends_with(constant)))
    }

    /// What the user says for this layer.
    fn value<'a>(&self, layer: &'a InspectedLayer) -> Option<&'a str> {
        let (variable, _) = self.setting?;
        layer.layer().settings.env.iter().rev().find(|(name, _)| name == variable).map(|(_, value)| value.as_str())
    }

    fn warning(&self, same: &[&InspectedLayer]) -> Option<Warning> {
        let meet = same.iter().enumerate().any(|(i, layer)| same[i + 1..].iter().any(|other| layer.meets(other)));
        let (last, first) = same.split_last().filter(|_| meet)?;
        let labels: Vec<String> = first.iter().map(|layer| format!("`{}`", layer.label())).collect();
        let message = format!(
            "tools {} and `{}` write the same files unless they are told otherwise: {}",
            labels.join(", "),
            last.label(),
            self.files
        );
        let hint = match self.setting {
            Some((variable, value)) => {
                format!("give each another value in its section: env = {{ {variable} = \"...\" }}, {value}")
            }
            None => "no setting is known that changes the names; put the tool into the stack once".to_owned(),
        };
        Some(Warning::new(message, hint))
    }
}

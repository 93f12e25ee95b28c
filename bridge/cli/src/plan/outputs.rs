//! Files that instances of a tool would write over each other's: names that are compiled into the tool, where it is known which.
//!
//! A tool is told by the constants of its file, whatever the file is called. Which tools these are is in `manifests.toml`.

use std::collections::BTreeMap;

use qmpi_elf::Tool;
use qmpi_launch::Warning;

use crate::plan::layer::InspectedLayer;
use crate::plan::manifest::{self, KnownOutput};

/// A warning for each set of layers that would write the same files.
pub(crate) fn shared(layers: &[InspectedLayer]) -> Vec<Warning> {
    let tools: Vec<(&InspectedLayer, &Tool)> =
        layers.iter().filter_map(|layer| Some((layer, layer.planned.pmpi()?))).collect();
    if tools.len() < 2 {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    for known in manifest::outputs() {
        let mut groups: BTreeMap<Option<&str>, Vec<&InspectedLayer>> = BTreeMap::new();
        for (layer, _) in tools.iter().filter(|(_, tool)| known.is_of(tool)) {
            groups.entry(known.value(layer)).or_default().push(layer);
        }
        warnings.extend(groups.values().filter_map(|same| known.warning(same)));
    }
    warnings
}

impl KnownOutput {
    fn is_of(&self, tool: &Tool) -> bool {
        let is_one = |text: &str| self.constants.iter().any(|constant| text.ends_with(constant));
        let objects = tool.closure.objects.iter();
        let found: Vec<String> = objects.flat_map(|one| one.strings_in_rodata(&is_one).unwrap_or_default()).collect();
        self.constants.iter().all(|constant| found.iter().any(|text| text.ends_with(constant)))
    }

    /// What the user says for this layer.
    fn value<'a>(&self, layer: &'a InspectedLayer) -> Option<&'a str> {
        let (variable, _) = self.setting.as_ref()?;
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
        let hint = match &self.setting {
            Some((variable, value)) => {
                format!("give each another value in its section: env = {{ {variable} = \"...\" }}, {value}")
            }
            None => "no setting is known that changes the names; put the tool into the stack once".to_owned(),
        };
        Some(Warning::new(message, hint))
    }
}

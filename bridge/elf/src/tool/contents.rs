//! What shows in the code and the constants of a tool only, beyond its tables.
//!
//! Reading those takes milliseconds, and a run gains nothing by it: for the desk.

use qmpi_abi::classify;

use crate::tool::deferral::Deferral;
use crate::tool::hazard::{Effect, Hazard};
use crate::tool::rules::{self, GOTCHA};
use crate::tool::wrapped::{Evidence, Wrapped};
use crate::tool::{NextFunction, Tool, spelling};

impl Tool {
    /// Makes [`Tool::dlsym_names`] those that the tool looks up, where its code shows which these are, and corrects what follows from them.
    /// Returns those of [`Tool::wrapped`] of which it looks no next function up: functions of its own, it seems.
    pub fn look_at_code(&mut self) -> Vec<Wrapped> {
        let by_name = |wrapped: &&Wrapped| wrapped.evidence == Evidence::LookUp;
        if self.dlsym_names.is_empty() && !self.wrapped.iter().any(|wrapped| by_name(&wrapped)) {
            return Vec::new();
        }
        let Some(names) = self.looked_up() else { return Vec::new() };
        let imports_profiling = matches!(self.next_function, NextFunction::PmpiImports | NextFunction::Both);
        self.dlsym_names = names.iter().filter(|name| classify(name).is_some()).cloned().collect();
        self.objects.iter_mut().for_each(|object| object.dlsym_names.retain(|name| names.contains(name)));
        self.next_function = NextFunction::of(imports_profiling, !self.dlsym_names.is_empty());
        self.hazards = rules::all(self);
        let is_looked_up = |wrapped: &&Wrapped| {
            let others = spelling::looked_up_as(&wrapped.name);
            names.contains(&wrapped.name) || others.iter().any(|other| names.contains(other))
        };
        self.wrapped.iter().filter(by_name).filter(|wrapped| !is_looked_up(wrapped)).cloned().collect()
    }

    /// Hazards besides [`Tool::hazards`].
    pub fn hazards_of_contents(&self) -> Vec<Hazard> {
        let deferral = self.deferral().map(|deferral| Hazard {
            id: "defers-finalize",
            effect: Effect::Handled,
            text: match deferral {
                Deferral::AtExit => {
                    "its MPI_Finalize returns without a call of PMPI_Finalize, which it makes at exit: layers below it see the end only then"
                }
                Deferral::Elsewhere => {
                    "no direct call leads from its MPI_Finalize to PMPI_Finalize, which it calls in another place: if that is at exit, layers below it see the end only then"
                }
            }
            .into(),
        });
        let gotcha =
            self.has_gotcha_inside().then(|| Hazard { id: "gotcha", effect: Effect::Limited, text: GOTCHA.into() });
        deferral.into_iter().chain(gotcha).collect()
    }

    /// Has GOTCHA been linked into an object, with its functions hidden? It reads a variable of its own then.
    fn has_gotcha_inside(&self) -> bool {
        let is_seen = self.hazards.iter().any(|hazard| hazard.id == "gotcha");
        let has_variable = || {
            self.closure.objects.iter().any(|object| {
                object.strings_in_rodata(&|text| text == "GOTCHA_DEBUG").is_ok_and(|found| !found.is_empty())
            })
        };
        !is_seen && has_variable()
    }
}

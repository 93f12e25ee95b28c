//! Hazards that show in the code and the constants of a tool only, beyond its tables.
//!
//! Reading those takes milliseconds, and a run gains nothing by it: for the desk.

use crate::tool::Tool;
use crate::tool::deferral::Deferral;
use crate::tool::hazard::{Effect, Hazard};
use crate::tool::rules::GOTCHA;

impl Tool {
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

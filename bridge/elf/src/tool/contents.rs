//! Hazards that show in the constants of a tool only, beyond its tables.
//!
//! Reading the constants takes milliseconds, and a run gains nothing by it: for the desk.

use crate::tool::Tool;
use crate::tool::hazard::{Effect, Hazard};
use crate::tool::rules::GOTCHA;

impl Tool {
    /// Hazards besides [`Tool::hazards`].
    pub fn hazards_of_contents(&self) -> Vec<Hazard> {
        let gotcha =
            self.has_gotcha_inside().then(|| Hazard { id: "gotcha", effect: Effect::Limited, text: GOTCHA.into() });
        gotcha.into_iter().collect()
    }

    /// Has GOTCHA been linked into an object, with its functions hidden? GOTCHA reads a variable of its own then.
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

//! Pages from templates: every text that goes into one is escaped.

use minijinja::{Environment, Error, UndefinedBehavior, Value};

/// The page that this template makes of these values. A value that the template names and does not get is an error.
pub(crate) fn render(source: &str, values: Value) -> Result<String, Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    // The name's ending switches escaping on.
    environment.add_template("page.html", source)?;
    environment.get_template("page.html")?.render(values)
}

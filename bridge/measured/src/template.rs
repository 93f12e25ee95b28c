//! Pages from templates: every text that goes into one is escaped. Templates show numbers by the filters `time`, `grouped`, `percent` and
//! `fixed`, which has so many digits behind the point.

use minijinja::{Environment, Error, UndefinedBehavior, Value};

use crate::tables::time;

/// The page that this template makes of these values. A value that the template names and does not get is an error.
pub(crate) fn render(source: &str, values: Value) -> Result<String, Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.add_filter("time", time);
    environment.add_filter("grouped", grouped);
    environment.add_filter("percent", percent);
    environment.add_filter("fixed", |number: f64, digits: usize| format!("{number:.digits$}"));
    // The name's ending switches escaping on.
    environment.add_template("page.html", source)?;
    environment.get_template("page.html")?.render(values)
}

/// `1,234,567`
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share of percent: `96.3 %`, `0.02 %`, `< 0.01 %`.
pub(crate) fn percent(share: f64) -> String {
    match share {
        share if share <= 0.0 => "0 %".to_owned(),
        share if share < 0.01 => "< 0.01 %".to_owned(),
        share if share < 10.0 => format!("{share:.2} %"),
        share => format!("{share:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.0, 0.003, 0.02, 9.5, 96.28].map(percent), ["0 %", "< 0.01 %", "0.02 %", "9.50 %", "96.3 %"]);
    }
}

//! Facts and lists of names for people: in columns, wrapped, and cut where the number says enough.

use std::path::Path;

use crate::terminal;

/// Columns of an answer. Fixed, so that it is the same in a terminal, a pipe and a golden file.
const WIDTH: usize = 100;

/// `a, b, c` wrapped at 100 columns, every line indented; ends with a newline.
pub(crate) fn wrapped<S: AsRef<str>>(names: impl IntoIterator<Item = S>, indent: usize) -> String {
    let mut text = String::new();
    let mut column = 0;
    for name in names {
        let name = name.as_ref();
        if column > 0 && column + 2 + name.len() <= WIDTH {
            text.push_str(", ");
            column += 2;
        } else {
            text.push_str(if column > 0 { ",\n" } else { "" });
            text.push_str(&" ".repeat(indent));
            column = indent;
        }
        text.push_str(name);
        column += name.len();
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// The first few of the names, and how many more there are.
pub(crate) fn shortened<S: AsRef<str>>(names: &[S], shown: usize) -> String {
    let first: Vec<&str> = names.iter().take(shown).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(shown) {
        0 => first.join(", "),
        more => format!("{}, ... ({more} more)", first.join(", ")),
    }
}

/// Facts in columns, a line for each that has a value: `  kind       MPI library`.
pub(crate) fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, Option<String>)>) -> String {
    facts.into_iter().filter_map(|(name, value)| Some(format!("  {name:<11}{}\n", value?))).collect()
}

/// The names as a fact, if there are any: the first few, and how many more there are.
pub(crate) fn if_any<S: AsRef<str>>(names: &[S], shown: usize) -> Option<String> {
    (!names.is_empty()).then(|| shortened(names, shown))
}

/// `1 function`, `2 functions`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The layers of a stack, outermost first: label, kind, file, and lines about each.
pub(crate) fn stack(layers: &[(&str, &str, &Path, Vec<String>)]) -> String {
    let mut text = terminal::bold("stack (outermost first)") + if layers.is_empty() { "\n  no tools\n" } else { "\n" };
    let width = layers.iter().map(|(label, ..)| label.len()).max().unwrap_or(0);
    for ((label, kind, path, about), tool_id) in layers.iter().zip(1..) {
        text += &format!("  {tool_id:>2}  {label:width$}  {kind:<6}  {}\n", path.display());
        text.extend(about.iter().map(|line| format!("      {line}\n")));
    }
    text
}

/// The last part of a path.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_within_the_width() {
        let names = vec!["MPI_Something_long"; 20];
        let text = wrapped(&names, 4);
        assert!(text.lines().all(|line| line.len() <= WIDTH + 1 && line.starts_with("    MPI")));
        assert_eq!(text.matches("MPI").count(), 20);
        assert_eq!(wrapped::<&str>([], 4), "");
    }

    #[test]
    fn numbers() {
        assert_eq!(shortened(&["a", "b", "c"], 2), "a, b, ... (1 more)");
        assert_eq!(shortened(&["a", "b"], 2), "a, b");
        assert_eq!((count(1, "layer"), count(0, "layer")), ("1 layer".into(), "0 layers".into()));
    }
}

//! `qmpi completions` and `qmpi man`: both come from the definition in `args`.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::Error;
use crate::args::Cli;
use crate::terminal;

pub(crate) fn completions(shell: Shell) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "qmpi", &mut script);
    terminal::answer(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(page: Option<&str>, output: Option<&Path>) -> Result<(), Error> {
    let pages = pages();
    if let Some(directory) = output {
        return pages.iter().try_for_each(|(name, page)| write(directory, name, page));
    }
    let wanted = page.map_or("qmpi".to_owned(), |page| format!("qmpi-{page}"));
    match pages.iter().find(|(name, _)| *name == wanted) {
        Some((_, page)) => terminal::answer(page),
        None => {
            let known = pages.iter().filter_map(|(name, _)| name.strip_prefix("qmpi-")).collect::<Vec<_>>().join(", ");
            let message = format!("no manual page for `{}`", page.unwrap_or_default());
            Err(Error::usage(message, format!("there is one for each of {known}")))
        }
    }
}

/// All pages, the overview first: `("qmpi-run", ".TH ...")`.
fn pages() -> Vec<(String, String)> {
    let overview = Cli::command();
    let commands = overview.get_subcommands().cloned().map(|command| {
        let name = format!("qmpi-{}", command.get_name());
        // Without the parent clap would write `run [OPTIONS]`.
        let called = format!("qmpi {}", command.get_name());
        command.display_name(&name).bin_name(called)
    });
    std::iter::once(overview.clone())
        .chain(commands)
        .map(|command| {
            let name = command.get_display_name().unwrap_or("qmpi").to_owned();
            let sections = command.get_after_help().map(|text| sections(&text.to_string())).unwrap_or_default();
            let page = page(command).unwrap_or_default();
            (name, String::from_utf8_lossy(&page).into_owned() + &sections)
        })
        .collect()
}

/// What comes from the options. clap_mangen would put the sections after them into one running paragraph.
fn page(command: clap::Command) -> std::io::Result<Vec<u8>> {
    let has_commands = command.has_subcommands();
    let source = concat!("qmpi ", env!("CARGO_PKG_VERSION"));
    let man = clap_mangen::Man::new(command.version(env!("CARGO_PKG_VERSION"))).manual("QMPI").source(source);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_commands {
        man.render_subcommands_section(&mut page)?;
    }
    Ok(page)
}

/// The text after the options as sections of a manual page, line by line:
///
/// ```text
/// EXIT STATUS              .SH EXIT STATUS
///   0    success     →     .nf
///                            0    success
///                          .fi
/// ```
fn sections(text: &str) -> String {
    let is_heading =
        |line: &str| line.starts_with(|c| c != ' ') && line.chars().all(|c| c.is_ascii_uppercase() || c == ' ');
    let written = |line| if is_heading(line) { format!(".fi\n.SH {line}\n.nf\n") } else { escaped(line) + "\n" };
    format!(".nf\n{}.fi\n", text.lines().map(written).collect::<String>())
}

/// For roff: backslashes and hyphens mean something, and so do dots and quotes at the beginning.
fn escaped(line: &str) -> String {
    let text = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}

fn write(directory: &Path, name: &str, page: &str) -> Result<(), Error> {
    let path = directory.join(format!("{name}.1"));
    std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&path, page)).map_err(|error| {
        Error::failed(
            format!("cannot write {}: {error}", path.display()),
            "give a directory that can be written with --output",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_for_each_command() {
        let pages = pages();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[..3], ["qmpi", "qmpi-run", "qmpi-demo"]);
        assert!(pages.iter().all(|(_, page)| page.contains(".TH ")));
        assert!(pages[1].1.contains(".SH EXIT STATUS\n.nf\n"));
        assert!(!pages[1].1.contains("EXTRA"));
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(
            sections("NOTES\n  a-b's\n.x\nMORE\n"),
            ".nf\n.fi\n.SH NOTES\n.nf\n  a\\-b\\(aqs\n\\&.x\n.fi\n.SH MORE\n.nf\n.fi\n"
        );
    }
}

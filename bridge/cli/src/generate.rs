//! `qmpi completions` and `qmpi man`: both come from the definition in `args`.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{Cli, ManArgs};
use crate::{Error, terminal};

/// Prints the completion script for `shell`.
///
/// # Errors
/// If stdout cannot be written.
pub fn completions(shell: Shell) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "qmpi", &mut script);
    terminal::answer(&String::from_utf8_lossy(&script))
}

/// Prints one page, or writes all.
///
/// # Errors
/// [`Error::Usage`] for a page that does not exist, [`Error::WritePage`] for one that cannot be written.
pub fn man(args: &ManArgs) -> Result<(), Error> {
    let pages = pages();
    if let Some(directory) = &args.output {
        return pages.iter().try_for_each(|(name, page)| write(directory, name, page));
    }
    let wanted = args.page.as_ref().map_or("qmpi".to_owned(), |page| format!("qmpi-{page}"));
    match pages.iter().find(|(name, _)| *name == wanted) {
        Some((_, page)) => terminal::answer(page),
        None => {
            let known = pages.iter().filter_map(|(name, _)| name.strip_prefix("qmpi-")).collect::<Vec<_>>().join(", ");
            Err(Error::Usage {
                message: format!("no manual page for `{}`", args.page.as_deref().unwrap_or_default()),
                hint: format!("there is one for each of {known}"),
            })
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
            let mut page = Vec::new();
            // Writing to memory does not fail.
            let _ = clap_mangen::Man::new(command.version(env!("CARGO_PKG_VERSION")))
                .manual("QMPI")
                .source(concat!("qmpi ", env!("CARGO_PKG_VERSION")))
                .render(&mut page);
            (name, String::from_utf8_lossy(&page).into_owned())
        })
        .collect()
}

fn write(directory: &Path, name: &str, page: &str) -> Result<(), Error> {
    let path = directory.join(format!("{name}.1"));
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&path, page))
        .map_err(|source| Error::WritePage { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_for_each_command() {
        let pages = pages();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[..3], ["qmpi", "qmpi-run", "qmpi-inspect"]);
        assert!(pages.iter().all(|(_, page)| page.contains(".TH ")));
        assert!(pages[1].1.contains("EXIT STATUS"));
    }
}

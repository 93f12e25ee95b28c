//! The manual page, made from the definition of the command line.

/// The page of this command.
pub(crate) fn page(command: clap::Command) -> String {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let man = clap_mangen::Man::new(command).manual("QMPI").source(concat!("qmpi ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    let _ = man
        .render_title(&mut page)
        .and_then(|()| man.render_name_section(&mut page))
        .and_then(|()| man.render_synopsis_section(&mut page))
        .and_then(|()| man.render_description_section(&mut page))
        .and_then(|()| man.render_options_section(&mut page))
        .and_then(|()| man.render_subcommands_section(&mut page));
    let mut page = String::from_utf8_lossy(&page).into_owned();
    // Headings of what follows the options; clap_mangen would make one running paragraph of it.
    page.push_str(".nf\n");
    for line in text.lines() {
        let is_heading = !line.is_empty() && line.chars().all(|c| c.is_ascii_uppercase() || c == ' ');
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        page.push_str(&if is_heading { format!(".fi\n.SH {line}\n.nf\n") } else { format!("\\&{line}\n") });
    }
    page.push_str(".fi\n");
    page
}

#[cfg(test)]
mod tests {
    #[test]
    fn examples_keep_their_lines() {
        let page = super::page(clap::Command::new("x").after_help("EXAMPLES\n  a \\\n  .b --c"));
        assert!(page.contains(".SH EXAMPLES\n.nf\n\\&  a \\e\n\\&  .b \\-\\-c\n.fi\n"), "{page}");
    }
}

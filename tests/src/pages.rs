//! The pages of the documentation: which there are, and where their links lead.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// All pages, by their paths from the root of the repository.
pub struct Pages(BTreeMap<PathBuf, String>);

impl Pages {
    /// Pages with these paths and texts.
    #[must_use]
    pub fn of(texts: &[(&str, &str)]) -> Self {
        Self(texts.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect())
    }

    /// Those of docs/ and its directories, and what stands above them.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn read(root: &Path) -> std::io::Result<Self> {
        let mut pages = BTreeMap::new();
        for directory in ["", "docs", "docs/maintainers", "docs/maintainers/decisions", "legacy-tools"] {
            for entry in std::fs::read_dir(root.join(directory))? {
                let name = entry?.file_name();
                let path = Path::new(directory).join(&name);
                if path.extension().is_some_and(|extension| extension == "md") {
                    let text = std::fs::read_to_string(root.join(&path))?;
                    pages.insert(path, text);
                }
            }
        }
        Ok(Self(pages))
    }

    /// The pages below docs/ that its table of contents does not name, and those that it names twice.
    ///
    /// # Panics
    /// Without docs/SUMMARY.md.
    #[must_use]
    pub fn not_in_contents(&self) -> Vec<String> {
        let contents = Path::new("docs/SUMMARY.md");
        let named: Vec<PathBuf> = links(&self.0[contents]).filter_map(|link| resolve(contents, link)).collect();
        let once: BTreeSet<&PathBuf> = named.iter().collect();
        let mut wrong: Vec<String> = self
            .0
            .keys()
            .filter(|page| page.starts_with("docs") && *page != contents && !once.contains(page))
            .map(|page| format!("{}: docs/SUMMARY.md does not name it", page.display()))
            .collect();
        if once.len() != named.len() {
            wrong.push("docs/SUMMARY.md names a page twice".to_owned());
        }
        wrong
    }

    /// The links between files of the repository that lead to no file, or to no heading of a page.
    #[must_use]
    pub fn broken_links(&self, root: &Path) -> Vec<String> {
        let headings: BTreeMap<&PathBuf, BTreeSet<String>> =
            self.0.iter().map(|(page, text)| (page, anchors(text))).collect();
        let mut wrong = Vec::new();
        for (page, text) in &self.0 {
            for link in links(text) {
                let Some(target) = resolve(page, link) else { continue };
                let fragment = link.split_once('#').map(|(_, fragment)| fragment);
                let is_there = match (headings.get(&target), fragment) {
                    (Some(headings), Some(fragment)) => headings.contains(fragment),
                    (_, _) => root.join(&target).exists(),
                };
                if !is_there {
                    wrong.push(format!("{}: {link}", page.display()));
                }
            }
        }
        wrong
    }

    /// How many links there are between files.
    #[must_use]
    pub fn links(&self) -> usize {
        self.0.iter().map(|(page, text)| links(text).filter(|link| resolve(page, link).is_some()).count()).sum()
    }
}

/// The lines of a page that are no code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The targets of `[text](target)` and `![text](target)`; the text may stand on the line before.
fn links(text: &str) -> impl Iterator<Item = &str> {
    prose(text).flat_map(|line| line.split("](").skip(1)).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link)
}

/// The file that a link of `page` leads to; none for the web.
fn resolve(page: &Path, link: &str) -> Option<PathBuf> {
    if link.contains(':') {
        return None;
    }
    let file = link.split('#').next().unwrap_or_default();
    if file.is_empty() {
        return Some(page.to_owned());
    }
    let mut path = page.parent().unwrap_or(Path::new("")).to_owned();
    for component in Path::new(file).components() {
        match component {
            Component::ParentDir => _ = path.pop(),
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    Some(path)
}

/// The names that forges and mdBook give to headings: small letters, digits, `_` and `-`, with `-` for each space.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for line in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let name: String = title
            .trim()
            .chars()
            .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter))
            .flat_map(char::to_lowercase)
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect();
        let first = name.clone();
        let name = (1..)
            .map(|n| format!("{first}-{n}"))
            .find(|other| !anchors.contains(other))
            .filter(|_| anchors.contains(&name))
            .unwrap_or(name);
        anchors.insert(name);
    }
    anchors
}

//! Exit status, output and files of all runs of two sides.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use similar::{ChangeTag, TextDiff};

use crate::compare::finding::{Aspect, Finding, Varying, vary};
use crate::compare::mask::{Masks, RunFacts};
use crate::compare::run::Run;
use crate::compare::sequence::{self, Difference, DifferenceKind};
use crate::compare::token::Item;
use crate::ended::Ended;

/// Two sides, and how to look at what they wrote.
pub(super) struct OutputComparison<'a> {
    pub names: [&'static str; 2],
    pub masks: &'a Masks,
    pub varying: &'a mut Varying,
}

/// The contents of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum FileContents {
    Text(String),
    /// A hash.
    Binary(u64),
    Absent,
}

impl FileContents {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Binary(_) | Self::Absent => None,
        }
    }
}

impl OutputComparison<'_> {
    /// How the runs ended, those whose calls were recorded as well.
    pub(super) fn status(&mut self, sides: [Vec<&Run>; 2]) -> Vec<Finding> {
        let of = |runs: &[&Run]| {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            runs.iter().for_each(|run| *counts.entry(run.status.to_string()).or_default() += 1);
            counts
        };
        let [old, new] = sides.each_ref().map(|runs| of(runs));
        if old.keys().eq(new.keys()) && old.len() == 1 {
            return Vec::new();
        }
        let list = |counts: &BTreeMap<String, usize>| {
            let all: usize = counts.values().sum();
            let one = |(status, count): (&String, &usize)| match counts.len() {
                1 => status.clone(),
                _ => format!("{status} in {count} of {all} runs"),
            };
            counts.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        // What fails on both sides now and then is the program, and one failure has several statuses: those of the launcher.
        let well = Ended::Exited(0).to_string();
        let fails = |counts: &BTreeMap<String, usize>| counts.keys().any(|status| *status != well);
        let is_other = old.keys().all(|status| !new.contains_key(status));
        if !is_other && fails(&old) == fails(&new) {
            let what = format!("{}: {}; {}: {}", self.names[0], list(&old), self.names[1], list(&new));
            vary(self.varying, Aspect::Status.title(), &what);
            return Vec::new();
        }
        let stuck = sides[1].iter().all(|run| run.status == Ended::TookTooLong);
        let more = if stuck { " in ten times the time of the old side's longest run" } else { "" };
        let message =
            format!("{} ends with {}, and {} with {}{more}", self.names[0], list(&old), self.names[1], list(&new));
        vec![Finding::new(Aspect::Status, message)]
    }

    /// What ranks and the launcher printed.
    pub(super) fn streams(&mut self, sides: [&[Run]; 2]) -> Vec<Finding> {
        let names: BTreeSet<&String> =
            sides.iter().flat_map(|runs| runs.iter()).flat_map(|run| run.streams.keys()).collect();
        let mut found = Vec::new();
        for name in names {
            let text = |run: &Run| match run.streams.get(name) {
                Some(path) => self.masked(path, &run.known),
                None => FileContents::Text(String::new()),
            };
            let (stream, rank) = name.split_once('.').map_or((name.as_str(), None), |(s, rank)| (s, rank.parse().ok()));
            let what = match rank {
                Some(rank) => format!("{stream} of rank {rank}"),
                None => stream.to_owned(),
            };
            let contents = sides.map(|runs| runs.iter().map(text).collect::<Vec<_>>());
            // Ranks and the launcher write at the same time where they are not told apart.
            let finding = self.compare(&what, &contents);
            found.extend(finding.map(|finding| Finding { kind: Aspect::Output, rank, ..finding }));
        }
        found
    }

    /// What was written into the directories.
    pub(super) fn files(&mut self, sides: [&[Run]; 2]) -> Vec<Finding> {
        let by_name = sides.map(|runs| runs.iter().map(|run| self.written(run)).collect::<Vec<_>>());
        let names: BTreeSet<String> = by_name.iter().flatten().flat_map(|run| run.keys().cloned()).collect();
        let mut found = Vec::new();
        for name in names {
            let of_run = |run: &BTreeMap<_, _>| run.get(&name).cloned().unwrap_or(FileContents::Absent);
            let contents = by_name.each_ref().map(|runs| runs.iter().map(of_run).collect::<Vec<_>>());
            let finding = self.compare(&name, &contents);
            found.extend(finding.map(|finding| Finding { kind: Aspect::File, ..finding }));
        }
        found
    }

    /// The files of a run by their masked names. Of several with one name, each has a number.
    fn written(&self, run: &Run) -> BTreeMap<String, FileContents> {
        let mut files = BTreeMap::new();
        let written = run.written.iter().map(|path| (path.clone(), self.masked(&run.files.join(path), &run.known)));
        let gone = |path: &PathBuf| format!("{} (removed)", path.display()).into();
        let removed = run.removed.iter().map(|path| (gone(path), FileContents::Text(String::new())));
        for (path, contents) in written.chain(removed) {
            let name = self.masks.apply(&path.to_string_lossy(), &run.known);
            let mut labels = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name} ({number})")));
            if let Some(label) = labels.find(|label| !files.contains_key(label)) {
                files.insert(label, contents);
            }
        }
        files
    }

    fn masked(&self, path: &Path, known: &RunFacts) -> FileContents {
        let Ok(bytes) = std::fs::read(path) else { return FileContents::Absent };
        match str::from_utf8(&bytes) {
            Ok(text) if !text.contains('\0') => FileContents::Text(self.masks.apply(text, known)),
            _ => FileContents::Binary(BuildHasherDefault::<DefaultHasher>::new().hash_one(&bytes)),
        }
    }

    fn compare(&mut self, what: &str, sides: &[Vec<FileContents>; 2]) -> Option<Finding> {
        let sets = sides.each_ref().map(|side| side.iter().collect::<HashSet<_>>());
        if !sets[0].is_disjoint(&sets[1]) {
            return None;
        }
        let [old_name, new_name] = self.names;
        let is_absent = |side: &HashSet<&FileContents>| side.iter().all(|contents| **contents == FileContents::Absent);
        let texts = sides.each_ref().map(|side| side.iter().map(FileContents::text).collect::<Option<Vec<&str>>>());
        let message = match (sets.each_ref().map(is_absent), texts) {
            ([true, _], _) => format!("{what} is written on the {new_name} side only"),
            ([_, true], _) => format!("{what} is written on the {old_name} side only"),
            (_, [Some(old), Some(new)]) => return self.compare_texts(what, &old, &new),
            _ if sets.iter().all(|set| set.len() == 1) => format!("{what} is another one, and not a text"),
            _ => {
                vary(self.varying, what, "is no text, and another one in each run");
                return None;
            }
        };
        Some(Finding { name: Some(what.to_owned()), ..Finding::new(Aspect::File, message) })
    }

    fn compare_texts(&mut self, what: &str, old: &[&str], new: &[&str]) -> Option<Finding> {
        let [old_name, new_name] = self.names;
        let is_constant = |side: &[&str]| side.iter().all(|text| *text == side[0]);
        let (message, diff) = if is_constant(old) && is_constant(new) {
            let changes = TextDiff::from_lines(old[0], new[0]);
            let count = |tag| changes.iter_all_changes().filter(|change| change.tag() == tag).count();
            let (gone, added) = (count(ChangeTag::Delete), count(ChangeTag::Insert));
            let mut diff = changes.unified_diff();
            diff.context_radius(2).header(&format!("{what}, {old_name}"), &format!("{what}, {new_name}"));
            (lines(what, gone, added, 0), diff.to_string().trim_end_matches('\n').to_owned() + "\n")
        } else {
            let items = |side: &[&str]| {
                side.iter().map(|text| text.lines().map(Item::of_line).map(Arc::new).collect()).collect::<Vec<_>>()
            };
            let compared = sequence::compare(&items(old), &items(new));
            for key in &compared.varying {
                vary(self.varying, what, &format!("`{}`", key.trim()));
            }
            if compared.is_unordered {
                vary(self.varying, what, "the order of its lines");
            }
            let (mut gone, mut added, mut moved) = (0, 0, 0);
            for difference in &compared.differences {
                match difference.kind {
                    DifferenceKind::Missing => gone += 1,
                    DifferenceKind::Added => added += 1,
                    DifferenceKind::Changed(..) => (gone, added) = (gone + 1, added + 1),
                    DifferenceKind::Moved(_) => moved += 1,
                }
            }
            if gone + added + moved == 0 {
                return None;
            }
            let mut diff = format!("--- {what}, {old_name}\n+++ {what}, {new_name}\n");
            rows(&mut diff, &compared.differences);
            (lines(what, gone, added, moved), diff)
        };
        Some(Finding { name: Some(what.to_owned()), diff: Some(diff), ..Finding::new(Aspect::Output, message) })
    }
}

/// Hunks of a diff. What varies is left out of them already.
fn rows(diff: &mut String, differences: &[Difference]) {
    // Where the next line belongs to the hunk: at these places of both sides.
    let (mut next_old, mut next_new) = (None, None);
    for Difference { place, item, kind } in differences {
        let (old, new) = match kind {
            DifferenceKind::Missing => (Some((*place, item)), None),
            DifferenceKind::Added => (None, Some((*place, item))),
            DifferenceKind::Moved(new) => (Some((*place, item)), Some((*new, item))),
            DifferenceKind::Changed(new, new_item, _) => (Some((*place, item)), Some((*new, new_item))),
        };
        let is_next = match (old, new) {
            (Some((place, _)), None) => next_old == Some(place) && next_new.is_none(),
            (None, Some((place, _))) => next_new.map_or(next_old.is_some(), |next| next == place),
            _ => false,
        };
        if !is_next {
            let sign = |sign: char, line: Option<(usize, &Arc<Item>)>| {
                line.map(|(place, _)| format!("{sign}{} ", place + 1)).unwrap_or_default()
            };
            // Writing into a String cannot fail.
            let _ = writeln!(diff, "@@ {}{}@@", sign('-', old), sign('+', new));
            (next_old, next_new) = (None, None);
        }
        if let Some((place, item)) = old {
            let _ = writeln!(diff, "-{}", item.text());
            next_old = Some(place + 1);
        }
        if let Some((place, item)) = new {
            let _ = writeln!(diff, "+{}", item.text());
            next_new = Some(place + 1);
        }
    }
}

fn lines(what: &str, gone: usize, added: usize, moved: usize) -> String {
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    match (gone, added, moved) {
        (0, 0, moved) => format!("{what}: {} elsewhere", plural(moved, "line")),
        (gone, 0, 0) => format!("{what}: {} missing", plural(gone, "line")),
        (0, added, 0) => format!("{what}: {} more", plural(added, "line")),
        (1, 1, _) => format!("{what}: 1 line differs"),
        (gone, added, _) if gone == added => format!("{what}: {gone} lines differ"),
        (gone, added, _) => format!("{what}: {} became {added}", plural(gone, "line")),
    }
}

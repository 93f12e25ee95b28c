//! Sequences of lines or calls from several runs of two sides: what varies by itself, and what differs.
//!
//! A difference is what all runs of one side have in common, and all runs of the other have in common, and is not the same. What differs
//! between runs of one side is never one: a kind of line or call that comes a varying number of times is left out, where the order varies all
//! are sorted, and a token that varies is not looked at. A token that varies in some items with a key may be the same in others by chance: what
//! is compared of it is which values all those items have together, as far as these do not vary.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use crate::compare::token::{Item, SharedText, is_fraction};

/// A diff that takes longer is cut short: what it says is still true, though not the least.
const PATIENCE: Duration = Duration::from_secs(10);

/// What came of a comparison.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Compared {
    /// What differs, in the order of the sequences.
    pub differences: Vec<Difference>,
    /// Keys that come a varying number of times, and were not compared.
    pub varying: BTreeSet<SharedText>,
    /// The order varies, and was not compared.
    pub is_unordered: bool,
}

/// Something that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// Its place in the old side's first run, or in the new one's where the old side does not have it.
    pub place: usize,
    /// What is there.
    pub item: Arc<Item>,
    pub kind: DifferenceKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DifferenceKind {
    /// Only the old side has it.
    Missing,
    /// Only the new side has it.
    Added,
    /// Both have it, the new side in this place.
    Moved(usize),
    /// These tokens differ from those of this item of the new side.
    Changed(usize, Arc<Item>, Vec<usize>),
}

/// The items of one run, each with its place.
type PlacedItems<'a> = Vec<(usize, &'a Arc<Item>)>;

/// Compares all runs of two sides; each has one at least.
pub(super) fn compare(old: &[Vec<Arc<Item>>], new: &[Vec<Arc<Item>>]) -> Compared {
    let is_same = |left: &[Arc<Item>], right: &[Arc<Item>]| {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.has_text_of(right))
    };
    if new.iter().any(|run| old.iter().any(|other| is_same(run, other))) {
        return Compared::default();
    }
    let mut varying = varying_keys(old);
    varying.extend(varying_keys(new));
    let [mut old, mut new] = [old, new].map(|runs| runs.iter().map(|run| without(run, &varying)).collect::<Vec<_>>());
    let is_unordered = !has_one_order(&old) || !has_one_order(&new);
    if is_unordered {
        for run in old.iter_mut().chain(&mut new) {
            run.sort_by(|(_, left), (_, right)| {
                (&left.key, &left.line, &left.tokens).cmp(&(&right.key, &right.line, &right.tokens))
            });
        }
    }
    let unlike = Unlike::of([&old, &new]);
    let mut differences = differences(&old, &new, &unlike);
    let by_key = [&old, &new].map(|side| side.iter().map(places_by_key).collect::<Vec<_>>());
    differences.extend(unlike.varying.iter().filter_map(|column| of_column(&by_key, *column)));
    differences.sort_by_key(|difference| difference.place);
    Compared { differences, varying, is_unordered }
}

/// The items of a run, without those with these keys.
fn without<'a>(run: &'a [Arc<Item>], keys: &BTreeSet<SharedText>) -> PlacedItems<'a> {
    run.iter().enumerate().filter(|(_, item)| !keys.contains(&item.key)).collect()
}

/// Keys of which runs have different numbers.
fn varying_keys(runs: &[Vec<Arc<Item>>]) -> BTreeSet<SharedText> {
    let count = |run: &Vec<Arc<Item>>| {
        let mut counts: BTreeMap<SharedText, usize> = BTreeMap::new();
        run.iter().for_each(|item| *counts.entry(Arc::clone(&item.key)).or_default() += 1);
        counts
    };
    let counts: Vec<BTreeMap<SharedText, usize>> = runs.iter().map(count).collect();
    let keys: BTreeSet<&SharedText> = counts.iter().flat_map(BTreeMap::keys).collect();
    let varies = |key: &&SharedText| counts.iter().any(|run| run.get(*key) != counts[0].get(*key));
    keys.into_iter().filter(varies).cloned().collect()
}

fn has_one_order(runs: &[PlacedItems<'_>]) -> bool {
    let is_like =
        |run: &PlacedItems<'_>| run.iter().map(|(_, item)| &item.key).eq(runs[0].iter().map(|(_, item)| &item.key));
    runs.iter().all(is_like)
}

/// The token of each run of a side at one place; `None` if they are not all the same.
fn constant<'a>(side: &'a [PlacedItems<'a>], index: usize, token: usize) -> Option<&'a str> {
    let value = side[0][index].1.tokens.get(token)?;
    let is_same = |run: &PlacedItems<'_>| run[index].1.tokens.get(token) == Some(value);
    side.iter().all(is_same).then_some(&**value)
}

/// Tokens that are not compared item by item.
struct Unlike<'a> {
    /// By shape, columns of tables in which a number with a fraction varies: no number with a fraction in them is compared. A time that was the
    /// same in all runs of a side by chance stands below others that were not.
    measured: HashSet<TokenColumn<'a>>,
    /// By key, tokens that vary in some item with it.
    varying: BTreeSet<TokenColumn<'a>>,
}

/// A token of all items with a key or a shape: that, and the token's number.
type TokenColumn<'a> = (&'a str, usize);

impl<'a> Unlike<'a> {
    fn of(sides: [&[PlacedItems<'a>]; 2]) -> Self {
        let mut unlike = Self { measured: HashSet::new(), varying: BTreeSet::new() };
        for side in sides {
            for (index, (_, item)) in side[0].iter().enumerate() {
                for token in (0..item.tokens.len()).filter(|token| constant(side, index, *token).is_none()) {
                    unlike.varying.insert((&item.key, token));
                    let is_fraction =
                        |run: &PlacedItems<'_>| run[index].1.tokens.get(token).is_some_and(|t| is_fraction(t));
                    if !item.shape.is_empty() && side.iter().any(is_fraction) {
                        unlike.measured.insert((&item.shape, token));
                    }
                }
            }
        }
        unlike
    }
}

/// The items of a run by their keys.
type ByKey<'a> = HashMap<&'a str, PlacedItems<'a>>;

fn places_by_key<'a>(run: &PlacedItems<'a>) -> ByKey<'a> {
    let mut by_key: ByKey<'a> = HashMap::new();
    for (place, item) in run {
        by_key.entry(&item.key).or_default().push((*place, item));
    }
    by_key
}

/// The values of a column in each run of a side, with an item that has each; `None` if they are not the same in all runs.
fn values<'a>(side: &[ByKey<'a>], (key, token): TokenColumn<'_>) -> Option<Vec<(&'a str, usize, &'a Arc<Item>)>> {
    let of_run = |run: &ByKey<'a>| {
        let items = run.get(key).into_iter().flatten();
        let mut values: Vec<_> =
            items.filter_map(|(place, item)| Some((&**item.tokens.get(token)?, *place, *item))).collect();
        values.sort_by_key(|(value, place, _)| (*value, *place));
        values
    };
    let texts =
        |values: &[(&'a str, usize, &'a Arc<Item>)]| values.iter().map(|(value, ..)| *value).collect::<Vec<_>>();
    let first = of_run(&side[0]);
    side.iter().all(|run| texts(&of_run(run)) == texts(&first)).then_some(first)
}

/// The difference between all values of a column on both sides, if there is one: the first value that only the one has, and the first that only
/// the other has.
fn of_column([old, new]: &[Vec<ByKey<'_>>; 2], column: TokenColumn<'_>) -> Option<Difference> {
    let (left, right) = (values(old, column)?, values(new, column)?);
    // More or fewer items are found as such.
    if left.len() != right.len() {
        return None;
    }
    let (old, new) = left.iter().zip(&right).find(|(old, new)| old.0 != new.0)?;
    let kind = DifferenceKind::Changed(new.1, Arc::clone(new.2), vec![column.1]);
    Some(Difference { place: old.1, item: Arc::clone(old.2), kind })
}

fn differences(old: &[PlacedItems<'_>], new: &[PlacedItems<'_>], unlike: &Unlike<'_>) -> Vec<Difference> {
    fn keys<'a>(side: &[PlacedItems<'a>]) -> Vec<&'a str> {
        side[0].iter().map(|(_, item)| &*item.key).collect()
    }
    let deadline = Some(Instant::now() + PATIENCE);
    let operations = capture_diff_slices_deadline(Algorithm::Myers, &keys(old), &keys(new), deadline);
    let mut found = Vec::new();
    for operation in &operations {
        if let DiffOp::Equal { old_index, new_index, len } = *operation {
            for place in 0..len {
                found.extend(changed(old, new, old_index + place, new_index + place, unlike));
            }
            continue;
        }
        let only = |side: &[PlacedItems<'_>], index: usize, kind| {
            let (place, item) = side[0][index];
            Difference { place, item: Arc::clone(item), kind }
        };
        found.extend(operation.old_range().map(|index| only(old, index, DifferenceKind::Missing)));
        found.extend(operation.new_range().map(|index| only(new, index, DifferenceKind::Added)));
    }
    moved(found)
}

/// The difference between items with the same key, if there is one.
fn changed(
    old: &[PlacedItems<'_>],
    new: &[PlacedItems<'_>],
    old_index: usize,
    new_index: usize,
    unlike: &Unlike<'_>,
) -> Option<Difference> {
    let (left, right) = (old[0][old_index], new[0][new_index]);
    let is_measured = |token: usize, text: &str| is_fraction(text) && unlike.measured.contains(&(&left.1.shape, token));
    let differs = |token: &usize| match (constant(old, old_index, *token), constant(new, new_index, *token)) {
        (Some(left), Some(right)) => left != right && !is_measured(*token, left) && !is_measured(*token, right),
        _ => false,
    };
    let is_like = |token: &usize| !unlike.varying.contains(&(&*left.1.key, *token));
    let count = left.1.tokens.len().min(right.1.tokens.len());
    let tokens: Vec<usize> = (0..count).filter(is_like).filter(differs).collect();
    let is_changed = !tokens.is_empty();
    let kind = DifferenceKind::Changed(right.0, Arc::clone(right.1), tokens);
    is_changed.then(|| Difference { place: left.0, item: Arc::clone(left.1), kind })
}

/// Joins what is missing in one place and added in another.
fn moved(mut found: Vec<Difference>) -> Vec<Difference> {
    let mut added: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for (index, Difference { place, item, kind }) in found.iter().enumerate().rev() {
        if *kind == DifferenceKind::Added {
            added.entry(item.text().into_owned()).or_default().push((index, *place));
        }
    }
    let mut gone = HashSet::new();
    for difference in found.iter_mut().filter(|difference| difference.kind == DifferenceKind::Missing) {
        if let Some((partner, new)) = added.get_mut(&*difference.item.text()).and_then(Vec::pop) {
            gone.insert(partner);
            difference.kind = DifferenceKind::Moved(new);
        }
    }
    let kept = found.into_iter().enumerate().filter(|(index, _)| !gone.contains(index));
    kept.map(|(_, difference)| difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(texts: &[&str]) -> Vec<Vec<Arc<Item>>> {
        texts.iter().map(|text| text.lines().map(Item::of_line).map(Arc::new).collect()).collect()
    }

    fn found(old: &[&str], new: &[&str]) -> Compared {
        compare(&runs(old), &runs(new))
    }

    fn tokens(compared: &Compared) -> Vec<(usize, Vec<usize>)> {
        let changed = |difference: &Difference| match &difference.kind {
            DifferenceKind::Changed(_, _, tokens) => (difference.place, tokens.clone()),
            other => panic!("{other:?}"),
        };
        compared.differences.iter().map(changed).collect()
    }

    #[test]
    fn what_is_constant_on_each_side_differs() {
        let compared = found(&["a 1\nb 2", "a 1\nb 2"], &["a 1\nb 3", "a 1\nb 3"]);
        assert_eq!(tokens(&compared), [(1, vec![0])]);
        assert!(compared.varying.is_empty() && !compared.is_unordered);
    }

    #[test]
    fn what_varies_on_a_side_does_not_count() {
        assert_eq!(found(&["t 1", "t 2"], &["t 3", "t 3"]).differences, []);
        assert_eq!(found(&["t 1", "t 1"], &["t 3", "t 4"]).differences, []);
        assert_eq!(found(&["t 1", "t 2"], &["t 2", "t 3"]), Compared::default(), "one run is the same");
        let polled = found(&["poll\npoll\nx 1", "poll\nx 1"], &["poll\npoll\npoll\nx 2", "poll\nx 2"]);
        assert_eq!((tokens(&polled), polled.varying.len()), (vec![(2, vec![0])], 1));
        let order = found(&["a 1\nb 1", "b 1\na 1"], &["a 1\nb 2", "b 2\na 1"]);
        assert_eq!((tokens(&order), order.is_unordered), (vec![(1, vec![0])], true));
    }

    #[test]
    fn a_time_that_is_constant_by_chance() {
        let old = ["s 3 0.01\nr 3 0.00", "s 3 0.02\nr 3 0.00"];
        assert_eq!(found(&old, &["s 3 0.05\nr 3 0.01", "s 3 0.04\nr 3 0.01"]).differences, []);
        let counted = found(&old, &["s 3 0.05\nr 4 0.01", "s 3 0.04\nr 4 0.01"]);
        assert_eq!(tokens(&counted), [(1, vec![1 - 1])]);
    }

    #[test]
    fn a_number_that_is_constant_by_chance() {
        let old = ["got 1\ngot 2\ngot 3", "got 1\ngot 3\ngot 2"];
        assert_eq!(found(&old, &["got 3\ngot 1\ngot 2", "got 3\ngot 2\ngot 1"]).differences, []);
        let another = found(&old, &["got 4\ngot 1\ngot 2", "got 4\ngot 2\ngot 1"]);
        assert_eq!(tokens(&another), [(2, vec![0])], "3 became 4");
        assert_eq!(found(&old, &["got 4\ngot 1\ngot 2", "got 1\ngot 2\ngot 3"]).differences, []);
    }

    #[test]
    fn lines_that_are_lost_added_and_moved() {
        let compared = found(&["a\nb\nc\nd"], &["a\nc\nb\ne"]);
        let places: Vec<String> = compared
            .differences
            .iter()
            .map(|Difference { place, item, kind }| match kind {
                DifferenceKind::Missing => format!("-{place}{}", item.text()),
                DifferenceKind::Added => format!("+{place}{}", item.text()),
                DifferenceKind::Moved(new) => format!("{place}>{new}{}", item.text()),
                DifferenceKind::Changed(..) => "changed".to_owned(),
            })
            .collect();
        assert_eq!(places, ["2>1c", "-3d", "+3e"]);
    }
}

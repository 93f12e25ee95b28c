//! The page of rules: `data/parameters.txt`.

use std::cell::Cell;

use regex::Regex;

use crate::error::{Error, Result};
use crate::parameters::length::factors;
use crate::parameters::shape::Shape;
use crate::parameters::{Direction, ONE, Parameter};

/// The rules of the workspace.
const BUILT_IN: &str = include_str!("../../data/parameters.txt");

/// What the rules are asked about.
pub(crate) struct Question<'a> {
    /// The whole name, for messages.
    name: &'a str,
    /// The name as rules have it.
    function: &'a str,
    parameter: &'a str,
    ctype: &'a str,
    shape: Shape,
}

impl<'a> Question<'a> {
    pub(crate) fn new(name: &'a str, parameter: &'a str, ctype: &'a str) -> Self {
        let function = ["MPIX_", "MPI_"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
        let function = function.strip_suffix("_c").unwrap_or(function);
        Self { name, function, parameter, ctype, shape: Shape::of(ctype) }
    }

    fn uncovered(&self, what: &'static str) -> Error {
        let Self { name, parameter, ctype, .. } = self;
        Error::NoRule {
            function: (*name).to_owned(),
            parameter: (*parameter).to_owned(),
            ctype: (*ctype).to_owned(),
            what,
        }
    }
}

/// One line of the page.
struct Rule {
    line: usize,
    says: String,
    types: String,
    /// `None` fits everything.
    name: Option<Regex>,
    function: Option<Regex>,
    is_used: Cell<bool>,
}

impl Rule {
    fn fits(&self, question: &Question) -> bool {
        let all = |pattern: &Option<Regex>, text: &str| pattern.as_ref().is_none_or(|pattern| pattern.is_match(text));
        let fits = question.shape.is_one_of(&self.types)
            && all(&self.name, question.parameter)
            && all(&self.function, question.function);
        self.is_used.set(self.is_used.get() || fits);
        fits
    }
}

/// All rules, in the order of the page.
#[derive(Default)]
pub struct Rules {
    /// Where they are from, for messages.
    file: String,
    means: Vec<(String, String)>,
    kinds: Vec<Rule>,
    results: Vec<Rule>,
    directions: Vec<Rule>,
    lengths: Vec<Rule>,
    roots: Vec<Rule>,
}

impl Rules {
    /// The rules of the workspace.
    ///
    /// # Errors
    /// If a line of them is wrong.
    pub fn built_in() -> Result<Self> {
        Self::parse(BUILT_IN, "shim-gen/data/parameters.txt")
    }

    /// Reads a page of rules; `file` is for messages.
    ///
    /// # Errors
    /// If a line is no rule, or names a kind that the page does not explain.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        let mut rules = Self { file: file.to_owned(), ..Self::default() };
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                rules.line(index + 1, line).map_err(|problem| Error::Line {
                    file: file.to_owned(),
                    line: index + 1,
                    problem,
                })?;
            }
        }
        Ok(rules)
    }

    fn line(&mut self, number: usize, line: &str) -> std::result::Result<(), String> {
        if let Some(("means", rest)) = line.split_once(' ') {
            let (kind, meaning) = rest.trim().split_once(' ').ok_or("a kind without a meaning")?;
            self.means.push((kind.to_owned(), meaning.trim().to_owned()));
            return Ok(());
        }
        let columns: Vec<_> = line.split_whitespace().collect();
        let [section, says, types, name, function] = columns[..] else {
            return Err(format!("{} columns instead of 5", columns.len()));
        };
        let rule = Rule {
            line: number,
            says: says.to_owned(),
            types: types.to_owned(),
            name: pattern(name)?,
            function: pattern(function)?,
            is_used: Cell::new(false),
        };
        match section {
            "kind" | "result" if !self.means.iter().any(|(kind, _)| kind == says) => {
                return Err(format!("the page does not say what `{says}` means"));
            }
            "kind" => self.kinds.push(rule),
            "result" => self.results.push(rule),
            "direction" if Direction::parse(says).is_none() => return Err(format!("`{says}` is not a direction")),
            "direction" => self.directions.push(rule),
            "length" => self.lengths.push(rule),
            "root" => self.roots.push(rule),
            _ => return Err(format!("`{section}` is not a section")),
        }
        Ok(())
    }

    /// Kinds and what they mean, in the order of the page.
    pub fn kinds(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.means.iter().map(|(kind, meaning)| (kind.as_str(), meaning.as_str()))
    }

    pub(crate) fn kind(&self, question: &Question) -> Result<&str> {
        first(&self.kinds, question).map(|rule| rule.says.as_str()).ok_or_else(|| question.uncovered("kind"))
    }

    /// The kind of a result; handles are what they are as parameters.
    pub(crate) fn result(&self, question: &Question) -> Result<&str> {
        first(&self.results, question).map_or_else(|| self.kind(question), |rule| Ok(rule.says.as_str()))
    }

    pub(crate) fn direction(&self, question: &Question) -> Result<Direction> {
        if !question.shape.is_pointer() || question.shape.is_const {
            return Ok(Direction::In);
        }
        let rule = first(&self.directions, question);
        rule.and_then(|rule| Direction::parse(&rule.says)).ok_or_else(|| question.uncovered("direction"))
    }

    /// The first rule that fits and names only parameters that there are.
    pub(crate) fn length(&self, question: &Question, parameters: &[Parameter]) -> Result<String> {
        if !question.shape.is_pointer() {
            return Ok(ONE.to_owned());
        }
        let possible = |rule: &&Rule| factors(&rule.says, parameters).is_some() && rule.fits(question);
        let rule = self.lengths.iter().find(possible).ok_or_else(|| question.uncovered("length"))?;
        Ok(rule.says.clone())
    }

    pub(crate) fn at_root(&self, question: &Question) -> bool {
        first(&self.roots, question).is_some()
    }

    /// # Errors
    /// A rule that was never the first to fit says nothing: the page is wrong, or something has gone from the headers.
    pub(crate) fn all_used(&self) -> Result<()> {
        let sections = [&self.kinds, &self.results, &self.directions, &self.lengths, &self.roots];
        match sections.into_iter().flatten().find(|rule| !rule.is_used.get()) {
            None => Ok(()),
            Some(rule) => Err(Error::Line {
                file: self.file.clone(),
                line: rule.line,
                problem: format!("nothing is left for the rule that says `{}`", rule.says),
            }),
        }
    }
}

fn first<'a>(rules: &'a [Rule], question: &Question) -> Option<&'a Rule> {
    rules.iter().find(|rule| rule.fits(question))
}

fn pattern(text: &str) -> std::result::Result<Option<Regex>, String> {
    if text == "-" {
        return Ok(None);
    }
    Regex::new(&format!("^(?:{text})$")).map(Some).map_err(|_| format!("`{text}` is not a regular expression"))
}

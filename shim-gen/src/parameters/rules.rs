//! The page of rules: `data/parameters.txt`.

use std::cell::Cell;

use regex::Regex;

use crate::error::{Result, ShimError};
use crate::parameters::length::factors;
use crate::parameters::row::{ListedParameter, ParameterDirection};
use crate::parameters::shape::TypeShape;
use crate::text::{Parsed, columns, each_line};

/// The rules of the workspace.
const BUILT_IN: &str = include_str!("../../data/parameters.txt");

/// The length of what is no array.
const ONE: &str = "1";

/// A parameter of a function, or its result, as a header declares it.
pub(crate) struct DeclaredParameter<'a> {
    /// The whole name of the function, for messages.
    function: &'a str,
    /// The same as rules have it.
    stem: &'a str,
    name: &'a str,
    ctype: &'a str,
    shape: TypeShape,
}

impl<'a> DeclaredParameter<'a> {
    pub(crate) fn new(function: &'a str, name: &'a str, ctype: &'a str) -> Self {
        let stem = ["MPIX_", "MPI_"].iter().find_map(|prefix| function.strip_prefix(prefix)).unwrap_or(function);
        let stem = stem.strip_suffix("_c").unwrap_or(stem);
        Self { function, stem, name, ctype, shape: TypeShape::of(ctype) }
    }

    fn uncovered(&self, what: &'static str) -> ShimError {
        ShimError::NoRule(self.function.to_owned(), what, self.ctype.to_owned(), self.name.to_owned())
    }

    /// The row of the parameter, as if it were no array.
    pub(crate) fn listed(&self, kind: &str, direction: ParameterDirection, at_root: bool) -> ListedParameter {
        let [name, ctype, kind, length] = [self.name, self.ctype, kind, ONE].map(str::to_owned);
        ListedParameter { name, ctype, direction, kind, length, at_root }
    }
}

/// One line of the page.
struct Rule {
    line: usize,
    section: String,
    says: String,
    types: String,
    /// `None` fits everything.
    name: Option<Regex>,
    function: Option<Regex>,
    is_used: Cell<bool>,
}

impl Rule {
    fn fits(&self, parameter: &DeclaredParameter) -> bool {
        let all = |pattern: &Option<Regex>, text: &str| pattern.as_ref().is_none_or(|pattern| pattern.is_match(text));
        let fits = parameter.shape.is_one_of(&self.types)
            && all(&self.name, parameter.name)
            && all(&self.function, parameter.stem);
        self.is_used.set(self.is_used.get() || fits);
        fits
    }
}

/// All rules, in the order of the page.
#[derive(Default)]
pub struct Rules {
    /// Where they are from, for messages.
    file: String,
    /// Kinds and what they mean.
    pub(crate) kinds: Vec<(String, String)>,
    rules: Vec<Rule>,
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
        let mut number = 0;
        each_line(text, file, |line| {
            number += 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') { Ok(()) } else { rules.line(number, line) }
        })?;
        Ok(rules)
    }

    fn line(&mut self, line: usize, text: &str) -> Parsed<()> {
        if let Some(("means", rest)) = text.split_once(' ') {
            let (kind, meaning) = rest.trim().split_once(' ').ok_or("a kind without a meaning")?;
            self.kinds.push((kind.to_owned(), meaning.trim().to_owned()));
            return Ok(());
        }
        let [section, says, types, name, function] = columns(text.split_whitespace())?;
        let (name, function) = (pattern(name)?, pattern(function)?);
        match section {
            "kind" | "result" if !self.kinds.iter().any(|(kind, _)| kind == says) => {
                return Err(format!("the page does not say what `{says}` means"));
            }
            "direction" => drop(ParameterDirection::parse(says)?),
            "kind" | "result" | "length" | "root" => {}
            _ => return Err(format!("`{section}` is not a section")),
        }
        let [section, says, types] = [section, says, types].map(str::to_owned);
        self.rules.push(Rule { line, section, says, types, name, function, is_used: Cell::new(false) });
        Ok(())
    }

    /// What the first rule of a section says that fits the parameter.
    fn first(&self, section: &str, parameter: &DeclaredParameter) -> Option<&str> {
        let mut rules = self.rules.iter().filter(|rule| rule.section == section);
        rules.find(|rule| rule.fits(parameter)).map(|rule| rule.says.as_str())
    }

    pub(crate) fn kind(&self, parameter: &DeclaredParameter) -> Result<&str> {
        self.first("kind", parameter).ok_or_else(|| parameter.uncovered("kind"))
    }

    /// The kind of a result; handles are what they are as parameters.
    pub(crate) fn result(&self, parameter: &DeclaredParameter) -> Result<&str> {
        self.first("result", parameter).map_or_else(|| self.kind(parameter), Ok)
    }

    pub(crate) fn direction(&self, parameter: &DeclaredParameter) -> Result<ParameterDirection> {
        if !parameter.shape.is_pointer() || parameter.shape.is_const {
            return Ok(ParameterDirection::In);
        }
        let says = self.first("direction", parameter);
        says.and_then(|says| ParameterDirection::parse(says).ok()).ok_or_else(|| parameter.uncovered("direction"))
    }

    /// The first rule that fits and names only parameters that there are.
    pub(crate) fn length(&self, parameter: &DeclaredParameter, parameters: &[ListedParameter]) -> Result<String> {
        if !parameter.shape.is_pointer() {
            return Ok(ONE.to_owned());
        }
        let mut possible =
            self.rules.iter().filter(|rule| rule.section == "length" && factors(&rule.says, parameters).is_some());
        let rule = possible.find(|rule| rule.fits(parameter)).ok_or_else(|| parameter.uncovered("length"))?;
        Ok(rule.says.clone())
    }

    pub(crate) fn at_root(&self, parameter: &DeclaredParameter) -> bool {
        self.first("root", parameter).is_some()
    }

    /// # Errors
    /// A rule that was never the first to fit says nothing: the page is wrong, or something has gone from the headers.
    pub(crate) fn all_used(&self) -> Result<()> {
        let problem = |rule: &Rule| format!("nothing is left for the rule that says `{}`", rule.says);
        match self.rules.iter().find(|rule| !rule.is_used.get()) {
            None => Ok(()),
            Some(rule) => Err(ShimError::Line(self.file.clone(), rule.line, problem(rule))),
        }
    }
}

fn pattern(text: &str) -> Parsed<Option<Regex>> {
    if text == "-" {
        return Ok(None);
    }
    Regex::new(&format!("^(?:{text})$")).map(Some).map_err(|_| format!("`{text}` is not a regular expression"))
}

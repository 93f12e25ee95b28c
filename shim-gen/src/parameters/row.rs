//! One parameter of a function, or its result: a row of `parameters.tsv`.

use crate::text::{Parsed, columns};

/// Whether a function reads or writes through a parameter. The file has the names of the variants in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterDirection {
    /// The function reads it.
    In,
    /// The function writes it.
    Out,
    /// Both.
    InOut,
    /// What the function returns.
    Result,
}

impl ParameterDirection {
    fn word(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    pub(crate) fn parse(word: &str) -> Parsed<Self> {
        let mut all = [Self::In, Self::Out, Self::InOut, Self::Result].into_iter();
        all.find(|direction| direction.word() == word).ok_or_else(|| format!("`{word}` is not a direction"))
    }
}

/// One parameter, or the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedParameter {
    /// Its name in the newest standard.
    pub name: String,
    /// C text of the type without the name.
    pub ctype: String,
    /// Whether the function reads or writes it.
    pub direction: ParameterDirection,
    /// What it is: a word of the rules.
    pub kind: String,
    /// How many elements there are, as the rules write it; `length::factors` resolves it.
    pub length: String,
    /// Only the root's argument has a meaning.
    pub at_root: bool,
}

impl ListedParameter {
    /// Whether it is what the function returns.
    pub fn is_result(&self) -> bool {
        self.direction == ParameterDirection::Result
    }

    /// The line of the file for the parameter at this place of a function.
    pub(crate) fn line(&self, function: &str, place: usize) -> String {
        let Self { name, ctype, direction, kind, length, at_root } = self;
        let place = if self.is_result() { "-".to_owned() } else { place.to_string() };
        let (direction, at) = (direction.word(), if *at_root { "root" } else { "-" });
        format!("{function}\t{place}\t{name}\t{ctype}\t{direction}\t{kind}\t{length}\t{at}\n")
    }

    /// A line of the file: the function, the place, the parameter.
    pub(crate) fn parse(line: &str) -> Parsed<(&str, Option<usize>, Self)> {
        let [function, place, name, ctype, direction, kind, length, at] = columns(line.split('\t'))?;
        let place = match place {
            "-" => None,
            number => Some(number.parse().map_err(|_| format!("`{number}` is not a place"))?),
        };
        let direction = ParameterDirection::parse(direction)?;
        let [name, ctype, kind, length] = [name, ctype, kind, length].map(str::to_owned);
        Ok((function, place, Self { name, ctype, direction, kind, length, at_root: at == "root" }))
    }
}

//! A TOML document in which every value knows its key, with the section, and its line: each message about it begins with them.
//!
//! Tables are asked for one key after the other. What nobody asked for means nothing, and is an error, so that a misspelt key is not
//! silently without effect. Nothing is deserialized by `serde`: errors on the way would know neither the key's section nor what to write
//! instead.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::nearest::did_you_mean;
use crate::{PlanError, SettingWord};

/// A set of characters that must not occur, and how to call it in a message.
pub(super) type Forbidden = (&'static [char], &'static str);
pub(super) const NUL: Forbidden = (&['\0'], "NUL");

/// What to do about a value where no more can be said.
pub(super) const CORRECT: &str = "correct the value or leave the key out";

/// A document and its name, for messages.
pub(super) struct Document<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

/// A value of a document.
pub(super) struct ConfigItem<'d> {
    document: &'d Document<'d>,
    /// Its key, with the section.
    key: String,
    value: &'d Spanned<DeValue<'d>>,
}

/// A table whose keys are known.
pub(super) struct ConfigTable<'d> {
    entries: Vec<(&'d Spanned<DeString<'d>>, ConfigItem<'d>)>,
    /// The keys that were asked for.
    known: Vec<&'static str>,
}

impl<'d> ConfigTable<'d> {
    /// The table `section`, or the whole document.
    pub(super) fn new(document: &'d Document<'d>, section: &str, table: &'d DeTable<'d>) -> Self {
        let dot = if section.is_empty() { "" } else { "." };
        let item = |(key, value): (&'d Spanned<DeString<'d>>, _)| {
            (key, ConfigItem { document, key: format!("{section}{dot}{}", key.get_ref()), value })
        };
        Self { entries: table.iter().map(item).collect(), known: Vec::new() }
    }

    /// Reads the value of a key, if it is there.
    pub(super) fn get<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&ConfigItem<'d>) -> Result<T, PlanError>,
    ) -> Result<Option<T>, PlanError> {
        self.known.push(key);
        self.entries.iter().find(|(name, _)| name.get_ref() == key).map(|(_, item)| read(item)).transpose()
    }

    /// Refuses keys that were not asked for. Returns those that were, for messages.
    pub(super) fn end(self) -> Result<String, PlanError> {
        let known = self.known.join(", ");
        let Some((key, item)) = self.entries.iter().find(|(key, _)| !self.known.contains(&&**key.get_ref())) else {
            return Ok(known);
        };
        let hint = did_you_mean(key.get_ref(), self.known).unwrap_or_else(|| format!("valid here: {known}"));
        Err(item.document.error(key.span(), format!("unknown key `{}`", item.key), hint))
    }
}

impl<'d> ConfigItem<'d> {
    /// A table with these keys.
    pub(super) fn table(&self, expected: &str) -> Result<ConfigTable<'d>, PlanError> {
        let table = self.value.get_ref().as_table().ok_or_else(|| self.not(expected))?;
        Ok(ConfigTable::new(self.document, &self.key, table))
    }

    /// A table with whatever keys.
    pub(super) fn map<T>(
        &self,
        expected: &str,
        read: impl Fn(&Spanned<DeString<'_>>, &ConfigItem<'d>) -> Result<T, PlanError>,
    ) -> Result<BTreeMap<String, T>, PlanError> {
        let entries = self.table(expected)?.entries.into_iter();
        entries.map(|(key, item)| Ok((key.get_ref().to_string(), read(key, &item)?))).collect()
    }

    /// One of the words of this setting.
    pub(super) fn word<W: SettingWord>(&self) -> Result<W, PlanError> {
        let words: Vec<String> = W::WORDS.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        let words = words.join(", ");
        let expected = words.rsplit_once(", ").map_or(words.clone(), |(first, last)| format!("{first} or {last}"));
        let word = self.string(&expected)?;
        W::of_word(word).ok_or_else(|| {
            self.wrong(format!("`{}` is not {expected}", word.escape_debug()), format!("write {expected}"))
        })
    }

    pub(super) fn flag(&self) -> Result<bool, PlanError> {
        self.value.get_ref().as_bool().ok_or_else(|| self.not("true or false"))
    }

    /// A number of things, at least one.
    pub(super) fn count(&self) -> Result<NonZeroU32, PlanError> {
        let integer = self.value.get_ref().as_integer().ok_or_else(|| self.not("an integer"))?;
        let number = u32::from_str_radix(integer.as_str(), integer.radix()).ok().and_then(NonZeroU32::new);
        number.ok_or_else(|| self.wrong("it must be a number from 1 to 4294967295", CORRECT))
    }

    /// A number of seconds.
    pub(super) fn seconds(&self) -> Result<Duration, PlanError> {
        let integer = || self.value.get_ref().as_integer().and_then(|number| number.as_str().parse().ok());
        let float = || self.value.get_ref().as_float().and_then(|number| number.as_str().parse().ok());
        let seconds: f64 = integer().or_else(float).ok_or_else(|| self.not("a number of seconds"))?;
        let fault = |_| self.wrong("it must be a number of seconds, 0 or more", CORRECT);
        Duration::try_from_secs_f64(seconds).map_err(fault)
    }

    /// Directories; relative ones below that of the configuration file.
    pub(super) fn directories(&self) -> Result<Vec<PathBuf>, PlanError> {
        Ok(self.strings(NUL)?.iter().map(|directory| self.below_directory(directory)).collect())
    }

    /// A file; a relative one below the directory of the configuration file.
    pub(super) fn path(&self) -> Result<PathBuf, PlanError> {
        Ok(self.below_directory(self.text("a string", NUL)?))
    }

    /// This path, below the file's directory if it is relative.
    pub(super) fn below_directory(&self, path: impl AsRef<Path>) -> PathBuf {
        self.document.path.parent().unwrap_or(Path::new("")).join(path)
    }

    pub(super) fn strings(&self, forbidden: Forbidden) -> Result<Vec<String>, PlanError> {
        const EXPECTED: &str = "an array of strings, [\"a\", \"b\"]";
        let array = self.value.get_ref().as_array().ok_or_else(|| self.not(EXPECTED))?;
        let item = |value| ConfigItem { document: self.document, key: self.key.clone(), value };
        array.iter().map(|value| item(value).text(EXPECTED, forbidden).map(str::to_owned)).collect()
    }

    pub(super) fn is_array(&self) -> bool {
        self.value.get_ref().is_array()
    }

    pub(super) fn string(&self, expected: &str) -> Result<&'d str, PlanError> {
        self.value.get_ref().as_str().ok_or_else(|| self.not(expected))
    }

    /// A string that has none of these characters.
    pub(super) fn value(&self, expected: &str, forbidden: Forbidden) -> Result<&'d str, PlanError> {
        let text = self.string(expected)?;
        self.has_none_of(forbidden, text, self.value.span())?;
        Ok(text)
    }

    /// A string that is not empty, and has none of these characters.
    pub(super) fn text(&self, expected: &str, forbidden: Forbidden) -> Result<&'d str, PlanError> {
        match self.value(expected, forbidden)? {
            text if text.trim().is_empty() => Err(self.wrong("must not be empty", CORRECT)),
            text => Ok(text),
        }
    }

    /// Refuses a text, its value or a key, that has one of these characters.
    pub(super) fn has_none_of(
        &self,
        (characters, called): Forbidden,
        text: &str,
        span: Range<usize>,
    ) -> Result<(), PlanError> {
        if !text.contains(characters) {
            return Ok(());
        }
        let message = format!("`{}`: `{}` must not contain {called}", self.key, text.escape_debug());
        Err(self.document.error(span, message, CORRECT))
    }

    /// The error for a value of another type than expected.
    fn not(&self, expected: &str) -> PlanError {
        let message = format!("`{}` must be {expected}, not {}", self.key, self.value.get_ref().type_str());
        self.document.error(self.value.span(), message, format!("write {expected}"))
    }

    /// The error for a value of the right type that makes no sense.
    pub(super) fn wrong(&self, fault: impl std::fmt::Display, hint: impl Into<String>) -> PlanError {
        self.document.error(self.value.span(), format!("`{}`: {fault}", self.key), hint)
    }
}

impl Document<'_> {
    pub(super) fn error(
        &self,
        span: Range<usize>,
        message: impl std::fmt::Display,
        hint: impl Into<String>,
    ) -> PlanError {
        PlanError::new(format!("{}:{}: {message}", self.path.display(), self.line(span.start)), hint)
    }

    /// The key that stands there, with its section: what is before it on its line, below the last header.
    pub(super) fn key(&self, span: Range<usize>) -> String {
        let before = self.text.get(..span.end).unwrap_or_default();
        let (above, line) = before.rsplit_once('\n').unwrap_or(("", before));
        let plain = |text: &str| text.trim().trim_start_matches('[').replace(['"', '\''], "");
        if line.contains('=') {
            // In an inline table.
            return plain(self.text.get(span).unwrap_or_default());
        }
        let header = above.lines().rev().map(|line| line.split('#').next().unwrap_or_default().trim());
        let header = header.filter_map(|line| line.strip_prefix('[')?.strip_suffix(']')).next();
        match header.filter(|_| !line.trim_start().starts_with('[')) {
            Some(header) => format!("{}.{}", plain(header.trim_end_matches(']')), plain(line)),
            None => plain(line),
        }
    }

    fn line(&self, offset: usize) -> usize {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        before.iter().filter(|&&byte| byte == b'\n').count() + 1
    }
}

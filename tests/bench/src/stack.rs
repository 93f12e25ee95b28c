//! A stack of tools, or what a process is compared with: what measurements call STACK.

/// One of them; its name is what [`Stack::parse`] takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stack {
    /// The program alone.
    None,
    /// One PMPI tool under LD_PRELOAD.
    Preload { calling: bool },
    /// libqmpi with so many bridged tools.
    Bridged { count: u32, calling: bool },
    /// The tools of these letters in turns, so many times.
    Letters { letters: String, times: u32 },
    /// Layers of the prototype of 2018.
    Thesis(u32),
    /// PnMPI with so many modules.
    PnMpi(u32),
    /// MPICH's own QMPI with so many native tools.
    Own(u32),
    /// The same with tools that libqmpi_bridge.so bridges.
    Plugin(u32),
    /// The same with both in turns.
    Turns(u32),
}

impl Stack {
    /// Of its name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (plain, calling) = name.strip_suffix("-call").map_or((name, false), |plain| (plain, true));
        match plain {
            "none" => return Some(Self::None),
            "preload" => return Some(Self::Preload { calling }),
            _ => {}
        }
        let at = plain.find(|c: char| c.is_ascii_digit())?;
        let (letters, count) = (&plain[..at], plain[at..].parse().ok()?);
        Some(match letters {
            "" => Self::Bridged { count, calling },
            "h" => Self::Thesis(count),
            "pnmpi" => Self::PnMpi(count),
            "own" => Self::Own(count),
            "plugin" => Self::Plugin(count),
            "turns" => Self::Turns(count),
            _ => Self::Letters { letters: letters.to_owned(), times: count },
        })
    }

    /// The name of its row in the table of calls, if it has one there: others are only terms of differences.
    pub(crate) fn title(&self) -> Option<String> {
        Some(match self {
            Self::None => "no libqmpi".to_owned(),
            Self::Preload { calling: false } => "tool under LD_PRELOAD".to_owned(),
            Self::Preload { calling: true } => "calling tool under LD_PRELOAD".to_owned(),
            Self::Bridged { count: 0, .. } => "libqmpi, empty stack".to_owned(),
            Self::Bridged { count, calling: false } => format!("libqmpi, {}", of(*count, "tool")),
            Self::Bridged { count, calling: true } => format!("libqmpi, {}", of(*count, "calling tool")),
            Self::Letters { letters, times } => match letters.as_str() {
                "q" => format!("libqmpi, {}, generated", of(*times, "QMPI tool")),
                "t" => format!("libqmpi, {} with a table", of(*times, "QMPI tool")),
                _ => return None,
            },
            Self::Thesis(_) => return None,
            Self::PnMpi(0) => "PnMPI, no module".to_owned(),
            Self::PnMpi(count) => format!("PnMPI, {}", of(*count, "module")),
            Self::Own(count) => format!("MPICH's own QMPI, {} with a table", of(*count, "QMPI tool")),
            Self::Plugin(count) => format!("MPICH's own QMPI, {} bridged by libqmpi_bridge.so", of(*count, "tool")),
            Self::Turns(count) => format!("MPICH's own QMPI, {}, native and bridged in turns", of(*count, "tool")),
        })
    }
}

/// `1 tool`, `2 tools`.
fn of(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_a_stack_is() {
        for (name, stack) in [
            ("none", Stack::None),
            ("preload-call", Stack::Preload { calling: true }),
            ("10-call", Stack::Bridged { count: 10, calling: true }),
            ("0", Stack::Bridged { count: 0, calling: false }),
            ("pt5", Stack::Letters { letters: "pt".to_owned(), times: 5 }),
            ("h5", Stack::Thesis(5)),
            ("pnmpi15", Stack::PnMpi(15)),
        ] {
            assert_eq!(Stack::parse(name), Some(stack), "{name}");
        }
        assert_eq!(Stack::parse("unknown"), None);
    }

    #[test]
    fn only_some_have_a_row() {
        let title = |name| Stack::parse(name).and_then(|stack| stack.title());
        assert_eq!(title("1").as_deref(), Some("libqmpi, 1 tool"));
        assert_eq!(title("2-call").as_deref(), Some("libqmpi, 2 calling tools"));
        assert_eq!(title("q10").as_deref(), Some("libqmpi, 10 QMPI tools, generated"));
        assert_eq!(title("ps1"), None);
    }
}

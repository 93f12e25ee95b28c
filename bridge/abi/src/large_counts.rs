//! Functions with large counts (`MPI_Send_c`), and how a call of one can be shown to a tool that has the function with `int` counts alone.

use crate::FnId;
use crate::parameters::{Direction, Kind, Parameter};

/// How a call with large counts becomes one with `int` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LargeCounts {
    /// Counts are arguments. Each of these places, a bit for each, has to fit into an `int`.
    Values(u16),
    /// Arrays of counts are among the arguments, and are read before the function returns.
    Arrays,
    /// The function stores counts.
    Stored,
    /// It does not become one: the program could see a difference (what made a datatype), the function is called back with large counts, or
    /// arrays would have to outlive the call.
    Never,
}

impl LargeCounts {
    /// For a function and its form with large counts.
    pub fn of(function: FnId, large: FnId) -> Self {
        let (narrow, wide) = (function.parameters(), large.parameters());
        let makes_datatype =
            |parameter: &Parameter| parameter.kind == Kind::Datatype && parameter.direction == Direction::Out;
        let has = |is_it: &dyn Fn(&Parameter) -> bool| wide.iter().any(is_it);
        if narrow.len() != wide.len() || has(&makes_datatype) || has(&|parameter| parameter.kind == Kind::Callback) {
            return Self::Never;
        }
        let of_width = |width: Width| narrow.iter().zip(wide).any(|(narrow, wide)| Width::of(narrow, wide) == width);
        if of_width(Width::Stored) {
            Self::Stored
        } else if of_width(Width::Array) {
            if has(&|parameter| parameter.kind == Kind::Request) { Self::Never } else { Self::Arrays }
        } else {
            let values = narrow.iter().zip(wide).map(|(narrow, wide)| Width::of(narrow, wide) == Width::Value);
            Self::Values(values.enumerate().fold(0, |places, (place, is_value)| places | u16::from(is_value) << place))
        }
    }
}

/// The functions with large counts that a layer is shown which has these functions.
pub fn shown(functions: &[FnId]) -> impl Iterator<Item = FnId> {
    functions.iter().filter_map(|id| {
        let large = id.with_large_counts().filter(|large| !functions.contains(large))?;
        (LargeCounts::of(*id, large) != LargeCounts::Never).then_some(large)
    })
}

/// What is wider of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Nothing: both forms of the function take the same word.
    Same,
    /// A number.
    Value,
    /// The elements of an array.
    Array,
    /// What the function stores at an address.
    Stored,
}

impl Width {
    /// For a parameter in both forms of a function.
    pub fn of(narrow: &Parameter, wide: &Parameter) -> Self {
        match narrow.ctype() {
            "int" if wide.ctype() != "int" => Self::Value,
            "const int[]" if wide.ctype() != "const int[]" => Self::Array,
            "int *" if wide.ctype() != "int *" => Self::Stored,
            _ => Self::Same,
        }
    }
}

impl FnId {
    /// The form of this function with large counts.
    pub fn with_large_counts(self) -> Option<Self> {
        let name = self.name().as_bytes();
        let mut large = [0; 64];
        let end = name.len() + 2;
        large.get_mut(..name.len())?.copy_from_slice(name);
        large.get_mut(name.len()..end)?.copy_from_slice(b"_c");
        Self::by_bytes(large.get(..end)?)
    }

    /// Of a function that detaches a buffer and has large counts: the one that attaches it.
    pub fn attaching_with_large_counts(self) -> Option<Self> {
        Self::by_name(match self.name() {
            "MPI_Buffer_detach_c" => "MPI_Buffer_attach_c",
            "MPI_Comm_detach_buffer_c" => "MPI_Comm_attach_buffer_c",
            "MPI_Session_detach_buffer_c" => "MPI_Session_attach_buffer_c",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

    use super::*;

    fn of(name: &str) -> LargeCounts {
        let function = FnId::by_name(name).unwrap();
        LargeCounts::of(function, function.with_large_counts().unwrap())
    }

    #[test]
    fn each_function_is_shown_in_its_way() {
        assert_eq!(of("MPI_Send"), LargeCounts::Values(0b10));
        assert_eq!(of("MPI_Sendrecv"), LargeCounts::Values(0b100_0010));
        assert_eq!(of("MPI_Type_get_extent"), LargeCounts::Values(0));
        assert_eq!(of("MPI_Ibcast"), LargeCounts::Values(0b10));
        assert_eq!(of("MPI_Gatherv"), LargeCounts::Arrays);
        assert_eq!(of("MPI_Get_count"), LargeCounts::Stored);
        assert_eq!(of("MPI_Pack"), LargeCounts::Stored);
        for past in ["MPI_Igatherv", "MPI_Gatherv_init", "MPI_Type_contiguous", "MPI_Op_create", "MPI_Register_datarep"]
        {
            assert_eq!(of(past), LargeCounts::Never, "{past}");
        }
        assert_eq!(of("MPI_Type_get_envelope"), LargeCounts::Never);
    }

    #[test]
    fn each_function_that_detaches_has_one_that_attaches() {
        let detaching = FnId::all().filter(|id| id.name().contains("detach") && id.name().ends_with("_c"));
        let names = detaching.map(|id| (id.name().replace("detach", "attach"), id.attaching_with_large_counts()));
        for (name, attaching) in names {
            assert_eq!(attaching, FnId::by_name(&name));
            assert!(attaching.is_some(), "{name}");
        }
    }

    #[test]
    fn functions_without_the_form_have_none() {
        for name in ["MPI_Barrier", "MPI_Send_c", "MPI_Init"] {
            assert_eq!(FnId::by_name(name).unwrap().with_large_counts(), None);
        }
    }
}

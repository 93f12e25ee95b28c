//! Which buffers a function has that data moves from and to, and what their sizes are the products of: worked out from the table of parameters
//! when the recorder is opened.
//!
//! A function that moves nothing to another process, a window or a file has none: `MPI_Pack`, `MPI_Reduce_local`; and those that prepare
//! persistent communication, as nobody knows how often that is started.

use qmpi_abi::FnId;
use qmpi_abi::parameters::{Direction, Factor, Kind, Parameter};

/// A buffer of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub(crate) place: u8,
    pub(crate) moves: Moves,
    pub(crate) amount: Amount,
    /// Only the root's has a meaning.
    pub(crate) at_root: bool,
    /// `MPI_IN_PLACE` stands for it and makes its count and datatype meaningless.
    pub(crate) may_be_in_place: bool,
    /// Of an operation on a window, without a meaning where that is `MPI_NO_OP`.
    pub(crate) is_origin: bool,
}

/// Which way data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moves {
    /// Out of the buffer.
    Out,
    /// Into it.
    In,
    /// First out of it, then into it.
    Both,
    /// Out of the root's, into those of others.
    FromRoot,
}

/// How many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    /// A count and a datatype.
    Plain {
        /// Of this argument
        count: u8,
        /// and this type,
        is_int: bool,
        /// and this argument.
        datatype: u8,
    },
    /// Anything else.
    Product(&'static Product),
}

impl Amount {
    /// Whether MPI has to be asked about a communicator, or there is an array to add up.
    pub(crate) fn asks(&self) -> bool {
        match self {
            Self::Plain { .. } => false,
            Self::Product(product) => !product.times.is_empty() || matches!(product.counts, Counts::Array { .. }),
        }
    }
}

/// Factors of a number of bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Product {
    pub(crate) counts: Counts,
    /// How many ranks, or neighbors.
    pub(crate) times: &'static [Factor],
    pub(crate) datatype: u8,
    /// An array with a datatype for each of the counts.
    pub(crate) datatypes: Option<u8>,
    /// An array: of so many extents, or bytes where there is a datatype for each.
    pub(crate) displacements: Option<Displacements>,
}

/// Where what each of the counts counts lies, from the buffer's address on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Displacements {
    pub(crate) place: u8,
    pub(crate) is_int: bool,
}

/// A number of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    /// One.
    Number,
    /// An argument.
    Argument { place: u8, is_int: bool },
    /// An array, added up.
    Array { place: u8, is_int: bool, length: &'static [Factor] },
}

/// Those of a function; none if its arguments do not tell.
pub(crate) fn buffers(function: FnId) -> Vec<Buffer> {
    if is_persistent(function) { Vec::new() } else { all(function) }
}

/// Those of a function that prepares persistent communication.
pub(crate) fn persistent_buffers(function: FnId) -> Vec<Buffer> {
    if is_persistent(function) { all(function) } else { Vec::new() }
}

fn is_persistent(function: FnId) -> bool {
    ["_init", "_init_c"].iter().any(|end| function.name().ends_with(end))
}

fn all(function: FnId) -> Vec<Buffer> {
    let parameters = function.parameters();
    let has = |kinds: &[Kind]| parameters.iter().any(|parameter| kinds.contains(&parameter.kind));
    let is_transfer = has(&[Kind::Communicator, Kind::Window, Kind::File, Kind::Message]);
    if !is_transfer || has(&[Kind::Position]) {
        return Vec::new();
    }
    let has_root = parameters.iter().any(|parameter| parameter.kind == Kind::Rank && parameter.name() == "root");
    let is_operation = has(&[Kind::Op]) && has(&[Kind::Window]);
    let buffer = |(place, parameter): (usize, &'static Parameter)| {
        if parameter.kind != Kind::Buffer {
            return None;
        }
        let moves = match parameter.direction {
            Direction::In => Moves::Out,
            Direction::Out => Moves::In,
            Direction::InOut if has_root => Moves::FromRoot,
            Direction::InOut => Moves::Both,
            Direction::Result => return None,
        };
        Some(Buffer {
            place: place as u8,
            moves,
            amount: amount(parameters, parameter.length())?,
            at_root: parameter.at_root,
            may_be_in_place: has_own_count(parameters, parameter),
            is_origin: is_operation && parameter.direction == Direction::In,
        })
    };
    parameters.iter().enumerate().filter_map(buffer).collect()
}

/// `sendcount` of `sendbuf`: where that is `MPI_IN_PLACE`, the count means nothing. One that both buffers share keeps its meaning.
fn has_own_count(parameters: &[Parameter], buffer: &Parameter) -> bool {
    let is_own = |place: u8| {
        let side = parameters[usize::from(place)].name().get(..4);
        matches!(side, Some("send" | "recv")) && side == buffer.name().get(..4)
    };
    buffer.length().iter().any(|factor| match factor {
        Factor::Argument(place) | Factor::Sum(place) => is_own(*place),
        _ => false,
    })
}

fn amount(parameters: &'static [Parameter], length: &'static [Factor]) -> Option<Amount> {
    let is_int = |place: u8| parameters[usize::from(place)].ctype().trim_start_matches("const ").starts_with("int");
    if let [Factor::Argument(count), Factor::Size(datatype)] = length {
        return Some(Amount::Plain { count: *count, is_int: is_int(*count), datatype: *datatype });
    }
    let (mut counts, mut times, mut datatype) = (Counts::Number, Vec::new(), None);
    for factor in length {
        match *factor {
            Factor::Argument(place) if counts == Counts::Number => {
                counts = Counts::Argument { place, is_int: is_int(place) };
            }
            Factor::Sum(place) if counts == Counts::Number => {
                let length = parameters[usize::from(place)].length();
                let is_known =
                    |factor: &Factor| matches!(factor, Factor::Ranks(_) | Factor::Sources(_) | Factor::Destinations(_));
                if !length.iter().all(is_known) {
                    return None;
                }
                counts = Counts::Array { place, is_int: is_int(place), length };
            }
            Factor::Ranks(_) | Factor::Sources(_) | Factor::Destinations(_) => times.push(*factor),
            Factor::Size(place) if datatype.is_none() => datatype = Some(place),
            _ => return None,
        }
    }
    let datatype = datatype?;
    let is_array = parameters[usize::from(datatype)].ctype().contains('[');
    // They stand behind the counts.
    let displacements = match counts {
        Counts::Array { place, .. } => Some(place + 1),
        Counts::Number | Counts::Argument { .. } => None,
    };
    let displacements = displacements
        .filter(|place| parameters.get(usize::from(*place)).is_some_and(|next| next.name().contains("displs")))
        .map(|place| Displacements { place, is_int: is_int(place) });
    let product = Product {
        displacements,
        counts,
        times: Box::leak(times.into_boxed_slice()),
        datatype,
        datatypes: is_array.then_some(datatype),
    };
    Some(Amount::Product(Box::leak(Box::new(product))))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn of(function: &str) -> Vec<Buffer> {
        buffers(FnId::by_name(function).unwrap())
    }

    #[test]
    fn functions_that_everybody_knows() {
        let [send] = of("MPI_Send")[..] else { panic!() };
        assert_eq!(send.amount, Amount::Plain { count: 1, is_int: true, datatype: 2 });
        assert_eq!((send.moves, send.may_be_in_place), (Moves::Out, false));
        let [large] = of("MPI_Irecv_c")[..] else { panic!() };
        assert_eq!((large.moves, large.amount), (Moves::In, Amount::Plain { count: 1, is_int: false, datatype: 2 }));
        let [bcast] = of("MPI_Bcast")[..] else { panic!() };
        assert_eq!(bcast.moves, Moves::FromRoot);
        let [replace] = of("MPI_Sendrecv_replace")[..] else { panic!() };
        assert_eq!(replace.moves, Moves::Both);
        let [sent, received] = of("MPI_Allreduce")[..] else { panic!() };
        assert!(!sent.may_be_in_place && !received.may_be_in_place, "they share a count");
        let [sent, received] = of("MPI_Gather")[..] else { panic!() };
        assert!(sent.may_be_in_place && !sent.at_root && received.at_root);
        let [origin, result] = of("MPI_Get_accumulate")[..] else { panic!() };
        assert!(origin.is_origin && !result.is_origin);
        assert_eq!(of("MPI_Reduce_scatter").len(), 1, "nothing tells what comes back");
        assert_eq!(of("MPI_Alltoallw").len(), 2);
        assert_eq!(of("MPI_Neighbor_alltoallv_c").len(), 2);
        let [sent, _] = of("MPI_Neighbor_alltoallw")[..] else { panic!() };
        let Amount::Product(product) = sent.amount else { panic!() };
        assert_eq!(
            product.displacements,
            Some(Displacements { place: 2, is_int: false }),
            "MPI_Aint beside counts of int"
        );
        let persistent = |function: &str| persistent_buffers(FnId::by_name(function).unwrap()).len();
        assert_eq!((persistent("MPI_Send_init"), persistent("MPI_Alltoallw_init_c")), (1, 2));
        assert_eq!((persistent("MPI_Send"), persistent("MPI_Psend_init")), (0, 0), "partitions come one by one");
    }

    #[test]
    fn functions_without_transfers() {
        for function in [
            "MPI_Pack",
            "MPI_Unpack_external",
            "MPI_Reduce_local",
            "MPI_Send_init",
            "MPI_Allreduce_init_c",
            "MPI_File_read_all_end",
            "MPI_T_pvar_read",
            "MPI_Comm_rank",
            "MPI_Wait",
        ] {
            assert_eq!(of(function), [], "{function}");
        }
    }

    /// Which buffers of all functions are left out, so that a new one is thought about.
    #[test]
    fn buffers_that_are_not_counted() {
        let mut left_out = Vec::new();
        for function in FnId::all().filter(|function| !function.name().starts_with("MPI_T_")) {
            let counted = buffers(function);
            let is_persistent = ["_init", "_init_c"].iter().any(|end| function.name().ends_with(end));
            for (place, parameter) in function.parameters().iter().enumerate() {
                let is_counted = counted.iter().any(|buffer| usize::from(buffer.place) == place);
                if parameter.kind == Kind::Buffer && !is_counted && !is_persistent && !function.name().ends_with("_c") {
                    left_out.push(format!("{} {}", function.name(), parameter.name()));
                }
            }
        }
        left_out.sort();
        assert_eq!(
            left_out,
            [
                "MPI_File_read_all_end buf",
                "MPI_File_read_at_all_end buf",
                "MPI_File_read_ordered_end buf",
                "MPI_File_write_all_end buf",
                "MPI_File_write_at_all_end buf",
                "MPI_File_write_ordered_end buf",
                "MPI_Ireduce_scatter recvbuf",
                "MPI_Pack inbuf",
                "MPI_Pack outbuf",
                "MPI_Pack_external inbuf",
                "MPI_Pack_external outbuf",
                "MPI_Reduce_local inbuf",
                "MPI_Reduce_local inoutbuf",
                "MPI_Reduce_scatter recvbuf",
                "MPI_Unpack inbuf",
                "MPI_Unpack outbuf",
                "MPI_Unpack_external inbuf",
                "MPI_Unpack_external outbuf",
            ]
        );
    }
}

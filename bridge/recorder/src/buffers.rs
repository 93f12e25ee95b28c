//! The buffers of a function that data moves from and to, and how many bytes a call sends and receives by what its arguments tell: counts,
//! datatypes, communicators.
//!
//! What a function sends is what it reads from buffers of the program, what it receives is the room that it is given in them. A buffer of which
//! nothing in the call tells the size, or whose arguments have no meaning on this rank, has no bytes. A function that moves nothing to another
//! process, a window or a file has no buffers: `MPI_Pack`, `MPI_Reduce_local`. Nor has one that prepares persistent communication: nobody knows how
//! often that is started.

use qmpi_abi::parameters::{Direction, Factor, Kind};

use crate::arguments::{CallArguments, Signature, is_array, number, word};
use crate::mpi::IN_PLACE;
use crate::system::ticks;
use crate::thread::ThreadMemory;

/// A buffer of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub(crate) place: u8,
    pub(crate) moves: Moves,
    /// Only the root's has a meaning.
    at_root: bool,
    /// `MPI_IN_PLACE` stands for it and makes its count and datatype meaningless.
    may_be_in_place: bool,
    /// Of an operation on a window, without a meaning where that is `MPI_NO_OP`.
    is_origin: bool,
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

/// The buffers of a function.
#[derive(Debug)]
pub(crate) struct Buffers {
    pub(crate) all: Vec<Buffer>,
    /// Most functions have one buffer whose size is an argument times that of a datatype.
    plain: Option<PlainBuffer>,
    root: Option<u8>,
    communicator: Option<u8>,
    /// An operation that may be `MPI_NO_OP`.
    no_op: Option<u8>,
    /// Whether MPI is asked how long arrays are, and they are added up: that takes time, which is nobody's.
    is_slow: bool,
}

#[derive(Debug, Clone, Copy)]
struct PlainBuffer {
    moves: Moves,
    count: u8,
    /// Bytes of the count.
    width: u8,
    datatype: u8,
}

/// Elements of one datatype, one behind the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ElementRun {
    pub(crate) elements: u64,
    pub(crate) datatype: u64,
    /// Where they begin, from the buffer's address on, in bytes or extents of the datatype; `None`: they begin there, and there are no others.
    pub(crate) displacement: Option<i64>,
    pub(crate) is_in_bytes: bool,
}

impl Buffers {
    /// Of a function; `None`: it has none, or its arguments do not tell.
    pub(crate) fn of(signature: &Signature) -> Option<Buffers> {
        let has = |kinds: &[Kind]| kinds.iter().any(|kind| signature.of_kind(*kind).is_some());
        let is_persistent = signature.ends_with(&["_init", "_init_c"]);
        if is_persistent
            || !has(&[Kind::Communicator, Kind::Window, Kind::File, Kind::Message])
            || has(&[Kind::Position])
        {
            return None;
        }
        let all: Vec<Buffer> =
            (0..signature.parameters.len() as u8).filter_map(|place| buffer(place, signature)).collect();
        let factors = |buffer: &Buffer| signature.parameter(buffer.place).length();
        let plain = match &all[..] {
            [buffer] if !buffer.is_origin && buffer.moves != Moves::FromRoot => match *factors(buffer) {
                [Factor::Argument(count), Factor::Size(datatype)] => {
                    Some(PlainBuffer { moves: buffer.moves, count, width: signature.width(count), datatype })
                }
                _ => None,
            },
            _ => None,
        };
        let is_quick = |factor: &Factor| matches!(factor, Factor::Argument(_) | Factor::Size(_));
        (!all.is_empty()).then(|| Buffers {
            plain,
            root: signature.rank("root"),
            communicator: signature.of_kind(Kind::Communicator),
            no_op: signature.of_kind(Kind::Op).filter(|_| has(&[Kind::Window])),
            is_slow: !all.iter().flat_map(factors).all(is_quick),
            all,
        })
    }

    /// What a call that has succeeded has sent and received, if that is quickly known. So it is of most calls: the thread remembers the datatype.
    #[inline]
    pub(crate) fn quick_count(&self, words: &[u64], thread: &ThreadMemory) -> Option<[u64; 2]> {
        let PlainBuffer { moves, count, width, datatype } = self.plain?;
        let size = thread.sizes.known(word(words, datatype))?;
        Some(moves.bytes(false, number(word(words, count), width).wrapping_mul(size)))
    }

    /// What a call that has succeeded has sent and received.
    #[inline(never)]
    pub(crate) fn count(&self, arguments: &CallArguments) -> [u64; 2] {
        let mut bytes = [0_u64; 2];
        let began = if self.is_slow { ticks() } else { 0 };
        self.each(arguments, |buffer, is_root| {
            let [sent, received] = buffer.moves.bytes(is_root, buffer.bytes(arguments));
            bytes = [bytes[0].wrapping_add(sent), bytes[1].wrapping_add(received)];
        });
        if self.is_slow {
            arguments.thread.leave_out(ticks().wrapping_sub(began));
        }
        bytes
    }

    /// The buffers that have a meaning in a call that has succeeded, and whether the rank is the root.
    pub(crate) fn each(&self, arguments: &CallArguments, mut tell: impl FnMut(&Buffer, bool)) {
        let Some((is_root, is_between)) = self.role(arguments) else { return };
        let mpi = arguments.mpi;
        let has_no_operation = || self.no_op.is_some_and(|op| mpi.handle(arguments.word(op)) == mpi.no_op);
        for buffer in &self.all {
            // The root of an operation between two groups is alone in its group.
            let has_all = is_root && !is_between;
            let is_due = has_all || buffer.at_root == is_root || is_root && buffer.moves == Moves::FromRoot;
            let is_in_place = buffer.may_be_in_place && IN_PLACE.contains(&arguments.word(buffer.place));
            if is_due && !is_in_place && !(buffer.is_origin && has_no_operation()) {
                tell(buffer, is_root);
            }
        }
    }

    /// Whether the rank is the root, as all are where there is none, and whether the operation is one between two groups; `None`: the rank is in the
    /// root's group, and not the root.
    fn role(&self, arguments: &CallArguments) -> Option<(bool, bool)> {
        let (Some(root), Some(communicator)) = (self.root, self.communicator) else { return Some((true, false)) };
        let (root, communicator, mpi) = (arguments.word(root) as i32, arguments.word(communicator), arguments.mpi);
        if mpi.is_between_groups(communicator) {
            return (root != mpi.proc_null).then_some((root == mpi.root, true));
        }
        Some((mpi.rank(communicator) == Some(root), false))
    }
}

fn buffer(place: u8, signature: &Signature) -> Option<Buffer> {
    let parameter = signature.parameter(place);
    let moves = match parameter.direction {
        Direction::In => Moves::Out,
        Direction::Out => Moves::In,
        Direction::InOut if signature.rank("root").is_some() => Moves::FromRoot,
        Direction::InOut => Moves::Both,
        Direction::Result => return None,
    };
    // A number or an array of numbers of one datatype, or of one for each number, for some ranks.
    let is_of_ranks =
        |factor: &Factor| matches!(factor, Factor::Ranks(_) | Factor::Sources(_) | Factor::Destinations(_));
    let (mut counts, mut datatypes) = (Vec::new(), 0);
    for factor in parameter.length() {
        match *factor {
            Factor::Argument(place) => counts.push(place),
            Factor::Sum(place) if signature.parameter(place).length().iter().all(is_of_ranks) => counts.push(place),
            Factor::Size(_) => datatypes += 1,
            _ if is_of_ranks(factor) => {}
            _ => return None,
        }
    }
    if parameter.kind != Kind::Buffer || counts.len() > 1 || datatypes != 1 {
        return None;
    }
    // `sendcount` of `sendbuf`: where that is MPI_IN_PLACE, the count means nothing. One that both buffers share keeps its meaning.
    let side = |name: &'static str| name.get(..4).filter(|side| matches!(*side, "send" | "recv"));
    let has_own_count = |count: &u8| {
        let side_of_count = side(signature.parameter(*count).name());
        side_of_count.is_some() && side_of_count == side(parameter.name())
    };
    let is_of_operation = signature.of_kind(Kind::Op).and(signature.of_kind(Kind::Window)).is_some();
    Some(Buffer {
        place,
        moves,
        at_root: parameter.at_root,
        may_be_in_place: counts.iter().any(has_own_count),
        is_origin: is_of_operation && moves == Moves::Out,
    })
}

impl Buffer {
    /// How many bytes there are.
    pub(crate) fn bytes(&self, arguments: &CallArguments) -> u64 {
        let (mut sum, mut known) = (0_u64, None);
        self.each_run(arguments, |run| {
            let size = match known {
                Some((datatype, size)) if datatype == run.datatype => size,
                _ => arguments.type_size(run.datatype),
            };
            known = Some((run.datatype, size));
            sum = sum.wrapping_add(run.elements.wrapping_mul(size));
        });
        sum
    }

    /// Where its elements are, in their order. Where there are none, the datatype may be anything, and nothing is told.
    pub(crate) fn each_run(&self, arguments: &CallArguments, mut tell: impl FnMut(ElementRun)) {
        let signature = arguments.signature;
        let (mut elements, mut datatypes, mut counts) = (1_u64, 0, None);
        for factor in signature.parameter(self.place).length() {
            match *factor {
                Factor::Size(place) => datatypes = place,
                Factor::Sum(place) => counts = Some(place),
                other => elements = elements.wrapping_mul(arguments.factor(other)),
            }
        }
        // Each count may have its own datatype; displacements are in bytes then.
        let is_in_bytes = is_array(signature.parameter(datatypes));
        let mut tell = |elements, datatype, displacement| {
            if elements > 0 {
                tell(ElementRun { elements, datatype, displacement, is_in_bytes });
            }
        };
        let datatype = arguments.word(datatypes);
        let Some(place) = counts else { return tell(elements, datatype, None) };
        let all = 0..arguments.product(signature.parameter(place).length());
        // Displacements stand behind the counts.
        let next = signature.parameters.get(usize::from(place) + 1);
        if !next.is_some_and(|next| next.name().contains("displs")) {
            let elements = all.map(|element| arguments.number_element(place, element)).fold(0, u64::wrapping_add);
            return tell(elements, datatype, None);
        }
        for element in all {
            let datatype = if is_in_bytes { arguments.element(datatypes, element) } else { datatype };
            let displacement = arguments.signed_element(place + 1, element);
            tell(arguments.number_element(place, element), datatype, Some(displacement));
        }
    }
}

impl Moves {
    /// Does data go out of the buffer, and into it?
    #[inline]
    pub(crate) fn ways(self, is_root: bool) -> [bool; 2] {
        match self {
            Moves::Out => [true, false],
            Moves::In => [false, true],
            Moves::Both => [true, true],
            Moves::FromRoot => [is_root, !is_root],
        }
    }

    /// So many bytes as those that are sent and those that are received.
    #[inline]
    fn bytes(self, is_root: bool, bytes: u64) -> [u64; 2] {
        self.ways(is_root).map(|is_way| if is_way { bytes } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use qmpi_abi::FnId;

    use super::*;
    use qmpi_abi::MpiFamily;

    fn of_name(function: &str) -> Option<Buffers> {
        Buffers::of(&Signature::of(FnId::by_name(function).unwrap(), MpiFamily::Mpich))
    }

    fn of(function: &str) -> Vec<Buffer> {
        of_name(function).map(|buffers| buffers.all).unwrap_or_default()
    }

    #[test]
    fn functions_that_everybody_knows() {
        let plain = |function: &str| {
            let plain = of_name(function).unwrap().plain;
            plain.map(|plain| (plain.moves, plain.count, plain.width, plain.datatype))
        };
        assert_eq!(plain("MPI_Send"), Some((Moves::Out, 1, 4, 2)));
        assert_eq!(plain("MPI_Irecv_c"), Some((Moves::In, 1, 8, 2)));
        assert_eq!(plain("MPI_Sendrecv_replace"), Some((Moves::Both, 1, 4, 2)));
        assert_eq!((plain("MPI_Bcast"), plain("MPI_Allreduce")), (None, None));
        let [bcast] = of("MPI_Bcast")[..] else { panic!() };
        assert_eq!(bcast.moves, Moves::FromRoot);
        let [sent, received] = of("MPI_Allreduce")[..] else { panic!() };
        assert!(!sent.may_be_in_place && !received.may_be_in_place, "they share a count");
        let [sent, received] = of("MPI_Gather")[..] else { panic!() };
        assert!(sent.may_be_in_place && !sent.at_root && received.at_root);
        let [origin, result] = of("MPI_Get_accumulate")[..] else { panic!() };
        assert!(origin.is_origin && !result.is_origin);
        assert_eq!(of("MPI_Reduce_scatter").len(), 1, "nothing tells what comes back");
        assert_eq!(of("MPI_Alltoallw").len(), 2);
        assert_eq!(of("MPI_Neighbor_alltoallv_c").len(), 2);
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
            let counted = of(function.name());
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

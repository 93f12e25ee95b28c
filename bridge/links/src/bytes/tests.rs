//! Bytes of calls of functions that do nothing, with an MPI that answers as this file says.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use super::*;
use crate::conversion::Arity;
use crate::probe;

const RANK: i32 = 2;
const INT: u64 = 0x4c00_0405;
const DOUBLE: u64 = 0x4c00_080b;
const DERIVED: u64 = 0x8c00_0001;
const BETWEEN_GROUPS: u64 = 77;
const IN_PLACE: u64 = u64::MAX;

static DERIVED_SIZE: AtomicI32 = AtomicI32::new(12);
static QUESTIONS: AtomicUsize = AtomicUsize::new(0);
static RESULT: AtomicI32 = AtomicI32::new(0);

extern "C" fn type_size(datatype: u64, size: &mut i32) -> i32 {
    QUESTIONS.fetch_add(1, Ordering::Relaxed);
    *size = match datatype & 0xffff_ffff {
        INT => 4,
        DOUBLE => 8,
        DERIVED => DERIVED_SIZE.load(Ordering::Relaxed),
        other => panic!("nobody may ask for {other:x}"),
    };
    0
}

extern "C" fn comm_rank(_: u64, rank: &mut i32) -> i32 {
    *rank = RANK;
    0
}

extern "C" fn comm_size(_: u64, size: &mut i32) -> i32 {
    *size = 3;
    0
}

extern "C" fn comm_remote_size(_: u64, size: &mut i32) -> i32 {
    *size = 2;
    0
}

extern "C" fn comm_test_inter(communicator: u64, flag: &mut i32) -> i32 {
    *flag = i32::from(communicator == BETWEEN_GROUPS);
    0
}

#[rustfmt::skip]
extern "C" fn nothing(_: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64) -> i32 {
    RESULT.load(Ordering::Relaxed)
}

type Nine = extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64) -> i32;

fn real(id: FnId) -> Option<usize> {
    let function = match id.name() {
        "MPI_Type_size" => type_size as *const (),
        "MPI_Comm_rank" => comm_rank as *const (),
        "MPI_Comm_size" => comm_size as *const (),
        "MPI_Comm_remote_size" => comm_remote_size as *const (),
        "MPI_Comm_test_inter" => comm_test_inter as *const (),
        _ => return None,
    };
    Some(function.addr())
}

/// Sent and received by one call of a function with these arguments.
fn moved(function: &str, arguments: &[u64]) -> [u64; 2] {
    let id = FnId::by_name(function).unwrap();
    let call = crate::trace::Call { function: id, leading: 0 };
    let (probe, link) = Probe::recording((nothing as *const ()).addr(), Arity::Fixed(9), 2, call).unwrap().unwrap();
    let mut words = [0xdead_u64; 9];
    words[..arguments.len()].copy_from_slice(arguments);
    let [a, b, c, d, e, f, g, h, i] = words;
    // SAFETY: the link of that function.
    let call = unsafe { std::mem::transmute::<usize, Nine>(link) };
    assert_eq!(call(a, b, c, d, e, f, g, h, i), RESULT.load(Ordering::Relaxed));
    let measured = probe.measured();
    assert_eq!(measured.callers, [1, 0, 0]);
    measured.bytes[0]
}

/// One test: what is prepared is one for the process.
#[test]
fn bytes_are_what_arguments_say() {
    probe::prepare(3, 100);
    prepare(MpiFamily::Mpich, real, &[]);
    let counts: [i32; 3] = [1, 0, 5];
    let types: [u32; 3] = [INT as u32, 0, DOUBLE as u32];
    let (counts, types) = (counts.as_ptr().addr() as u64, types.as_ptr().addr() as u64);

    // buf, count, datatype, dest, tag, comm. The upper half of a word with an int may be anything.
    assert_eq!(moved("MPI_Send", &[0, 10, INT, 1, 0, 5]), [40, 0]);
    assert_eq!(moved("MPI_Send", &[0, 0xffff_0000_0000_000a, INT | 0xabcd_0000_0000, 1, 0, 5]), [40, 0]);
    assert_eq!(moved("MPI_Send_c", &[0, 1 << 40, DOUBLE, 1, 0, 5]), [8 << 40, 0]);
    assert_eq!(moved("MPI_Send", &[0, 0, 0xbad, 1, 0, 5]), [0, 0], "nobody asks for the type of no elements");
    assert_eq!(moved("MPI_Send", &[0, 0xffff_ffff, 0xbad, 1, 0, 5]), [0, 0], "as many as -1");
    assert_eq!(moved("MPI_Send", &[0, 3, 0x0c00_0000, 1, 0, 5]), [0, 0], "MPI_DATATYPE_NULL");
    assert_eq!(moved("MPI_Irecv", &[0, 3, DOUBLE, 1, 0, 5, 0]), [0, 24]);
    // sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source
    assert_eq!(moved("MPI_Sendrecv", &[0, 3, DOUBLE, 1, 0, 0, 5, INT, 1]), [24, 20]);
    assert_eq!(moved("MPI_Sendrecv_replace", &[0, 3, DOUBLE, 1, 0, 1, 0, 5]), [24, 24]);

    let asked = QUESTIONS.load(Ordering::Relaxed);
    assert_eq!(moved("MPI_Send", &[0, 10, INT, 1, 0, 5]), [40, 0]);
    assert_eq!(QUESTIONS.load(Ordering::Relaxed), asked, "the thread remembers it");
    assert_eq!(moved("MPI_Send", &[0, 10, DERIVED, 1, 0, 5]), [120, 0]);
    DERIVED_SIZE.store(20, Ordering::Relaxed);
    assert_eq!(moved("MPI_Send", &[0, 10, DERIVED, 1, 0, 5]), [200, 0], "the handle may be another datatype's");

    // buffer, count, datatype, root, comm
    assert_eq!(moved("MPI_Bcast", &[0, 10, INT, 2, 5]), [40, 0]);
    assert_eq!(moved("MPI_Bcast", &[0, 10, INT, 0, 5]), [0, 40]);
    let (root, proc_null) = (-3_i64 as u64, -1_i64 as u64);
    assert_eq!(moved("MPI_Bcast", &[0, 10, INT, root, BETWEEN_GROUPS]), [40, 0]);
    assert_eq!(moved("MPI_Bcast", &[0, 10, 0xbad, proc_null, BETWEEN_GROUPS]), [0, 0]);
    assert_eq!(moved("MPI_Bcast", &[0, 10, INT, 2, BETWEEN_GROUPS]), [0, 40], "rank 2 of the other group");

    // sendbuf, recvbuf, count, datatype, op, comm: MPI_IN_PLACE leaves the count its meaning
    assert_eq!(moved("MPI_Allreduce", &[IN_PLACE, 0, 10, INT, 1, 5]), [40, 40]);
    assert_eq!(moved("MPI_Reduce", &[0, 0, 10, INT, 1, 0, 5]), [40, 0]);
    assert_eq!(moved("MPI_Reduce", &[0, 0, 10, INT, 1, 2, 5]), [40, 40]);
    // sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm
    assert_eq!(
        moved("MPI_Gather", &[0, 10, INT, 0, 0xbad, 0xbad, 0, 5]),
        [40, 0],
        "what means nothing is not looked at"
    );
    assert_eq!(moved("MPI_Gather", &[0, 10, INT, 0, 10, INT, 2, 5]), [40, 120]);
    assert_eq!(moved("MPI_Gather", &[IN_PLACE, 10, 0xbad, 0, 10, INT, 2, 5]), [0, 120]);
    assert_eq!(moved("MPI_Gather", &[0, 10, 0xbad, 0, 10, INT, root, BETWEEN_GROUPS]), [0, 80]);
    assert_eq!(moved("MPI_Alltoall", &[0, 10, INT, 0, 5, DOUBLE, 5]), [120, 120]);
    assert_eq!(moved("MPI_Allgatherv", &[0, 10, INT, 0, counts, 0, DOUBLE, 5]), [40, 48]);
    assert_eq!(moved("MPI_Alltoallw", &[0, counts, 0, types, 0, counts, 0, types, 5]), [44, 44]);
    assert_eq!(moved("MPI_Alltoallw", &[IN_PLACE, 1, 1, 1, 0, counts, 0, types, 5]), [0, 44]);
    assert_eq!(moved("MPI_Reduce_scatter", &[0, 0, counts, INT, 1, 5]), [24, 0]);
    // origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype, ...
    assert_eq!(moved("MPI_Put", &[0, 10, INT, 1, 0, 10, INT, 9]), [40, 0]);
    assert_eq!(moved("MPI_Get", &[0, 10, INT, 1, 0, 10, INT, 9]), [0, 40]);
    // origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, win
    assert_eq!(moved("MPI_Compare_and_swap", &[0, 0, 0, DOUBLE, 1, 0, 9]), [16, 8]);
    // origin_addr, result_addr, datatype, target_rank, target_disp, op, win
    assert_eq!(moved("MPI_Fetch_and_op", &[0, 0, DOUBLE, 1, 0, 1, 9]), [8, 8]);
    assert_eq!(moved("MPI_Fetch_and_op", &[0, 0, DOUBLE, 1, 0, 1_476_395_022, 9]), [0, 8], "MPI_NO_OP");
    assert_eq!(moved("MPI_File_write_at", &[1, 0, 0, 10, INT, 0]), [40, 0]);
    assert_eq!(moved("MPI_Pack", &[0, 10, INT, 0, 100, 0, 5]), [0, 0]);

    RESULT.store(7, Ordering::Relaxed);
    assert_eq!(moved("MPI_Send", &[0, 10, 0xbad, 1, 0, 5]), [0, 0], "it failed");
    RESULT.store(0, Ordering::Relaxed);
}

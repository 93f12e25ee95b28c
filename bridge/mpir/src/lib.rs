//! What a rank tells `qmpi run --mpir`, and where: shared by `libqmpi.so`, which tells it, and the command, which is told.
//!
//! ```text
//! QMPI_MPIR   TOKEN@NAME[,ENDPOINT]...         NAME: a Unix socket without a file (abstract); for ranks of other hosts: TCP
//! message     length of the rest, four bytes, the lowest first
//!             TOKEN \0 KIND \0 CODE \0 PID \0 HOST \0 EXECUTABLE \0 [NAME=VALUE \0]...
//! answer      GO, once the process may go on; a connection that ends means the same
//! ```
//!
//! The variables are those of [`VARIABLES`] that the process has: what they say is decided by the command alone.
#![no_std]

pub mod address;
pub mod message;

/// The variable that tells ranks where to report.
pub const VARIABLE: &str = "QMPI_MPIR";

/// Bytes of the token: 128 random bits in hexadecimal.
pub const TOKEN: usize = 32;

/// No message is longer; what does not fit is left out.
pub const LIMIT: usize = 12 * 1024;

/// The answer.
pub const GO: u8 = b'g';

/// Variables by which launchers tell a process its rank, how many there are, and which job it is of.
pub const VARIABLES: [&str; 26] = [
    "OMPI_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_RANK",
    "MVP_COMM_WORLD_RANK",
    "PMI_RANK",
    "PMIX_RANK",
    "PALS_RANKID",
    "ALPS_APP_PE",
    "FLUX_TASK_RANK",
    "JSM_NAMESPACE_RANK",
    "PMI_ID",
    "SLURM_PROCID",
    "OMPI_COMM_WORLD_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "MVP_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "PALS_NRANKS",
    "FLUX_JOB_SIZE",
    "JSM_NAMESPACE_SIZE",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_NTASKS",
    "PMIX_NAMESPACE",
    "OMPI_MCA_ess_base_jobid",
    "PMI_SPAWNED",
    "PMI_JOBID",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
];

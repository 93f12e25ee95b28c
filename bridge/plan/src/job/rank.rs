//! The rank of this process as its launcher tells it, known before `MPI_Init`.
//!
//! Good enough for "banners on rank 0 only" and for `ranks = "..."`, which has to be decided when the tools are loaded.

use std::ffi::OsString;

/// Where launchers put the rank, the one to trust most first.
///
/// The order matters because launchers nest. A batch script run by Slurm has `SLURM_PROCID=0`, and every process that
/// `mpiexec` starts from it inherits that zero; Hydra and PRRTE also let `srun` start their daemons, whose `PMIX_RANK` or
/// `SLURM_PROCID` is then a node's number. So the variables of an MPI library's own launcher come first, those of the process
/// managers' interfaces next, and those of resource managers last.
pub const RANK_VARIABLES: [&str; 11] = [
    "OMPI_COMM_WORLD_RANK", // Open MPI's mpirun; also next to a PMIX_RANK, where both say the same
    "MV2_COMM_WORLD_RANK",  // MVAPICH2's mpirun_rsh
    "MVP_COMM_WORLD_RANK",  // MVAPICH 3 and later
    "PMI_RANK",             // Hydra: MPICH, Intel MPI, MVAPICH; also srun --mpi=pmi2
    "PMIX_RANK",            // PRRTE, srun --mpi=pmix
    "PALS_RANKID",          // HPE Cray PALS
    "ALPS_APP_PE",          // Cray ALPS
    "FLUX_TASK_RANK",       // Flux
    "JSM_NAMESPACE_RANK",   // IBM jsrun
    "PMI_ID",               // PMI-1 under older process managers
    "SLURM_PROCID",         // srun; also a batch script's own zero, hence last
];

/// The rank in `MPI_COMM_WORLD`, if a launcher known here started the process. `get` reads an environment variable.
///
/// A value that is not a number is passed over.
pub fn rank_from_env(get: &dyn Fn(&str) -> Option<OsString>) -> Option<u32> {
    number(&RANK_VARIABLES, get)
}

/// Where launchers put how many ranks there are, in the same order. Not `PALS_NRANKS`: with it users tell PALS's mpiexec how many it starts where
/// `-n` does not say it.
pub const SIZE_VARIABLES: [&str; 8] = [
    "OMPI_COMM_WORLD_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "MVP_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "FLUX_JOB_SIZE",
    "JSM_NAMESPACE_SIZE",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_NTASKS",
];

/// Where launchers put the name of `MPI_COMM_WORLD`.
pub const WORLD_VARIABLES: [&str; 2] = ["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"];

/// By which hydra, which names no `MPI_COMM_WORLD`, says of ranks that they were spawned.
pub const SPAWNED_VARIABLE: &str = "PMI_SPAWNED";

/// All variables by which launchers tell a process its rank, how many there are, and whose.
pub fn told_by_launchers() -> impl Iterator<Item = &'static str> {
    RANK_VARIABLES.into_iter().chain(SIZE_VARIABLES).chain(WORLD_VARIABLES).chain([SPAWNED_VARIABLE])
}

/// How many ranks `MPI_COMM_WORLD` has, if a launcher known here started the process.
pub fn size_from_env(get: &dyn Fn(&str) -> Option<OsString>) -> Option<u32> {
    number(&SIZE_VARIABLES, get)
}

fn number(names: &[&str], get: &dyn Fn(&str) -> Option<OsString>) -> Option<u32> {
    names.iter().find_map(|name| get(name)?.to_str()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(variables: &[(&str, &str)]) -> Option<u32> {
        rank_from_env(&|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_inner_launcher_wins() {
        assert_eq!(rank(&[("SLURM_PROCID", "0"), ("PMI_RANK", "5")]), Some(5));
        assert_eq!(rank(&[("PMIX_RANK", "1"), ("OMPI_COMM_WORLD_RANK", "3")]), Some(3));
        assert_eq!(rank(&[("SLURM_PROCID", "7")]), Some(7));
    }

    #[test]
    fn no_launcher_or_nonsense() {
        assert_eq!(rank(&[]), None);
        assert_eq!(rank(&[("PMI_RANK", "x")]), None);
        assert_eq!(rank(&[("PMI_RANK", "-1"), ("SLURM_PROCID", "2")]), Some(2));
    }
}

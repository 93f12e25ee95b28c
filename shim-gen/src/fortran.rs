//! Which functions have a Fortran procedure, and its name in `mpif.h`.

/// The lower-case name without trailing underscores, or `None` if C alone has the function.
///
/// By the shape of the name, so that functions of the next MPI are right as well. C only are: the tool information interface
/// (MPI 4.0 chapter 15); conversions of handles and statuses, which need a C type (19.3.4); large-count versions,
/// which Fortran has as specifics of the `mpi_f08` name (19.1.5); queries of Open MPI itself. For an extension the name may be one
/// that no library has: then no program calls it.
pub(crate) fn base_name(name: &str) -> Option<String> {
    const CONVERSIONS: [&str; 8] = ["_c2f", "_f2c", "_c2f08", "_f082c", "_f2f08", "_f082f", "_fromint", "_toint"];
    let c_only = name.starts_with("MPI_T_")
        || name.starts_with("OMPI_")
        || name.ends_with("_c")
        || CONVERSIONS.iter().any(|ending| name.ends_with(ending));
    (!c_only).then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::base_name;

    #[test]
    fn by_shape() {
        assert_eq!(base_name("MPI_Type_create_f90_real").as_deref(), Some("mpi_type_create_f90_real"));
        assert_eq!(base_name("MPI_Wtime").as_deref(), Some("mpi_wtime"));
        for name in [
            "MPI_T_init_thread",
            "MPI_Send_c",
            "MPI_Comm_c2f",
            "MPI_Status_f082c",
            "MPI_Comm_fromint",
            "OMPI_Affinity_str",
        ] {
            assert_eq!(base_name(name), None, "{name}");
        }
    }
}

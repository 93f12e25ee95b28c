//! Which file is a tool and which an MPI library, by what it has, whatever it is called; on libraries built here.

mod support;

use std::fmt::Write;
use std::path::Path;

use qmpi_abi::MpiFamily;
use qmpi_elf::mpi::abi_family::{family_of_library, is_mpi_library};
use qmpi_elf::{Effect, ElfFile, SearchPath, Tool, ToolKind};
use support::{Outcome, build, library};

fn inspect(path: &Path) -> Result<Tool, qmpi_elf::ElfError> {
    Tool::inspect(path, &[], &SearchPath::new(None), &|_| false)
}

/// A wrapper of each function of MPI's table, and as many functions with `PMPI_*` as it says, which look for the next one.
fn wrappers(profiling: usize) -> String {
    let mut text = "#define _GNU_SOURCE\n#include <dlfcn.h>\n".to_owned();
    for (index, id) in qmpi_abi::FnId::all().enumerate() {
        let name = id.name();
        let _ = writeln!(text, "int {name}(void) {{ return ((int (*)(void))dlsym(RTLD_NEXT, \"P{name}\"))(); }}");
        if index < profiling {
            let _ = writeln!(text, "int P{name}(void) {{ return ((int (*)(void))dlsym(RTLD_NEXT, \"P{name}\"))(); }}");
        }
    }
    text
}

/// All of MPI's functions behind `PMPI_*`, PMPI_Init among them.
const FUNCTIONS: &str =
    "int PMPI_Init(void) { return 0; } int MPI_Init(void) { return 0; } int PMPI_Send(void) { return 0; }";
/// A wrapper that takes its next function from elsewhere.
const TOOL: &str = "int PMPI_Send(void); int MPI_Send(void) { return PMPI_Send(); }";

#[test]
fn tools_that_define_the_profiling_interface() -> Outcome {
    let directory = tempfile::tempdir()?;
    for profiling in [35, 63, 400, usize::MAX] {
        let path = library(directory.path(), &format!("libwraps_{profiling}.so"), &wrappers(profiling), &["-w"])?;
        let tool = inspect(&path)?;
        assert_eq!(tool.kind, ToolKind::Pmpi, "{profiling}");
        assert_eq!(tool.intercepts.len(), qmpi_abi::FnId::all().len());
    }
    // It calls PMPI functions of its own that it also defines, and takes others from MPI.
    let source = "int PMPI_Init(void) { return 0; } int PMPI_Comm_rank(void); int MPI_Init(void) { return PMPI_Init() + PMPI_Comm_rank(); }";
    assert_eq!(inspect(&library(directory.path(), "liboverlap.so", source, &[])?)?.kind, ToolKind::Pmpi);
    // What it looks up is in a library of its own; but it is linked with MPI.
    library(directory.path(), "libmpi.so.40", FUNCTIONS, &[])?;
    let source = "void *find(const char *); int PMPI_Init(void) { return ((int (*)(void))find(\"PMPI_Init\"))(); } int MPI_Init(void) { return PMPI_Init(); }";
    let mpi = directory.path().join("libmpi.so.40").display().to_string();
    let path = library(directory.path(), "libindirect.so", source, &["-Wl,--no-as-needed", &mpi])?;
    assert_eq!(inspect(&path)?.kind, ToolKind::Pmpi);
    Ok(())
}

#[test]
fn tools_with_the_names_of_mpi_libraries() -> Outcome {
    let directory = tempfile::tempdir()?;
    let fortran = "void pmpi_send_(void); void mpi_send_(void) { pmpi_send_(); }";
    let by_name = "#define _GNU_SOURCE\n#include <dlfcn.h>\nint MPI_Send(void) { return ((int (*)(void))dlsym(RTLD_NEXT, \"PMPI_Send\"))(); }";
    for name in ["libpmpi.so", "libmpl.so.1", "libmpl.so", "libmpi_gnu_trace.so", "libopa.so", "libmpich_gnu_9.so"] {
        for source in [TOOL, fortran, by_name] {
            // With a SONAME, and without.
            let path = library(directory.path(), name, source, &[])?;
            assert_eq!(inspect(&path)?.kind, ToolKind::Pmpi, "{name} {source}");
            let path = build(directory.path(), name, source, &["-shared", "-fPIC"])?;
            assert_eq!(inspect(&path)?.kind, ToolKind::Pmpi, "{name} {source}");
        }
    }
    Ok(())
}

#[test]
fn mpi_libraries_by_what_they_have() -> Outcome {
    let directory = tempfile::tempdir()?;
    let kind = |name: &str, source: &str, options: &[&str]| -> Result<ToolKind, Box<dyn std::error::Error>> {
        Ok(inspect(&library(directory.path(), name, source, options)?)?.kind)
    };
    let mpi = ToolKind::MpiLibrary;
    // Whatever it is called; with and without objects.
    assert_eq!(kind("libstubs.so", FUNCTIONS, &[])?, mpi);
    assert_eq!(kind("libmpi_abi.so.1", FUNCTIONS, &[])?, mpi);
    // One with plugins looks names up, and MPI's name is not among them.
    let plugins = format!("#include <dlfcn.h>\n{FUNCTIONS} void *open_device(void) {{ return dlsym(0, \"device\"); }}");
    assert_eq!(kind("libmpi.so.12", &plugins, &[])?, mpi);
    assert_eq!(kind("libvendor.so.1", &format!("{plugins} int *MPI_UNWEIGHTED;"), &[])?, mpi);
    // PMPI in a library of its own, and MPI_* with the objects in another, which takes PMPI_* from it.
    assert_eq!(kind("libpmpi.so.12", &format!("{FUNCTIONS} int MPI_F_STATUS_IGNORE;"), &[])?, mpi);
    let outer = "int PMPI_Init(void); int MPI_Init(void) { return PMPI_Init(); } int *MPI_UNWEIGHTED;";
    assert_eq!(kind("libmpi.so.12", outer, &[])?, mpi);
    assert_eq!(kind("libother.so", outer, &[])?, mpi);
    // Bindings of other languages stand in front of C's functions as tools do.
    let fortran = "int PMPI_Init(void); int pmpi_init_(void) { return PMPI_Init(); } int mpi_init_(void) { return pmpi_init_(); }";
    assert_eq!(kind("libmpi_mpifh.so.40", fortran, &[])?, mpi);
    assert_eq!(kind("libmpi_cxx.so.40", "int MPI_Init(void); int f(void) { return MPI_Init(); }", &[])?, mpi);
    // Without a name and a profiling interface Fortran's is a tool like others.
    assert_eq!(
        kind("libfortran.so", "int PMPI_Init(void); int mpi_init_(void) { return PMPI_Init(); }", &[])?,
        ToolKind::Pmpi
    );
    Ok(())
}

/// Since Open MPI 6 the objects behind its handles are in another library than the functions.
#[test]
fn objects_in_another_library() -> Outcome {
    let directory = tempfile::tempdir()?;
    for objects in ["libopen_mpi.so.40", "libobjects.so.1"] {
        let path = library(directory.path(), objects, "int ompi_mpi_comm_world;", &[])?;
        assert!(is_mpi_library(&ElfFile::open(&path)?), "{objects}");
        let source =
            format!("{FUNCTIONS} extern int ompi_mpi_comm_world; int *world(void) {{ return &ompi_mpi_comm_world; }}");
        for name in ["libmpi.so.40", "libmpi.so", "libfunctions.so"] {
            let path = library(directory.path(), name, &source, &[&path.display().to_string()])?;
            let file = ElfFile::open(&path)?;
            assert!(is_mpi_library(&file), "{name}");
            assert_eq!(family_of_library(&file), Some(MpiFamily::OpenMpi), "{name}");
        }
    }
    Ok(())
}

#[test]
fn a_private_library_with_the_name_of_one_of_mpi() -> Outcome {
    let directory = tempfile::tempdir()?;
    let at = |name: &str| directory.path().join(name).display().to_string();
    library(
        directory.path(),
        "libmpl.so.1",
        "int MPI_Recv(void), PMPI_Recv(void); int MPI_Recv(void) { return PMPI_Recv(); } int help(void) { return 1; }",
        &[],
    )?;
    library(directory.path(), "libpmpi.so.12", FUNCTIONS, &[])?;
    let source = format!("int help(void); {TOOL} int use(void) {{ return help(); }}");
    let options = ["-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", &at("libmpl.so.1"), &at("libpmpi.so.12")];
    let tool = inspect(&library(directory.path(), "libroot.so", &source, &options)?)?;
    let objects: Vec<_> = tool.closure.objects.iter().map(ElfFile::name).collect();
    assert_eq!(objects, ["libroot.so", "libmpl.so.1"]);
    assert!(tool.closure.stopped.iter().any(|name| name == "libpmpi.so.12"), "{:?}", tool.closure.stopped);
    assert!(tool.undefined_elsewhere.is_empty(), "{:?}", tool.undefined_elsewhere);
    Ok(())
}

#[test]
fn weak_references_show_no_mpi() -> Outcome {
    let directory = tempfile::tempdir()?;
    let weak = "#define WEAK extern __attribute__((weak)) int\n\
        WEAK MPIR_F_MPI_IN_PLACE, mpifcmb4_, mpipriv1_, mpi_fortran_in_place_, ompi_mpi_comm_null;\n\
        int *addresses[] = { &MPIR_F_MPI_IN_PLACE, &mpifcmb4_, &mpipriv1_, &mpi_fortran_in_place_, &ompi_mpi_comm_null };\n";
    let tool = inspect(&library(directory.path(), "libweak.so", &format!("{weak}{TOOL}"), &[])?)?;
    assert_eq!((tool.kind, tool.abi), (ToolKind::Pmpi, None));
    assert_eq!(tool.data_imports.len(), 5);
    assert!(tool.hazards.iter().all(|hazard| hazard.effect != Effect::Fatal), "{:?}", tool.hazards);
    // What it cannot do without shows it as ever.
    let strong = "extern int ompi_mpi_comm_world; int *world(void) { return &ompi_mpi_comm_world; }";
    let tool = inspect(&library(directory.path(), "libstrong.so", &format!("{weak}{TOOL}{strong}"), &[])?)?;
    assert_eq!(tool.abi, Some(MpiFamily::OpenMpi));
    Ok(())
}

#[test]
fn environ_and_gotcha() -> Outcome {
    let directory = tempfile::tempdir()?;
    let ids = |path: &Path| -> Result<Vec<&'static str>, Box<dyn std::error::Error>> {
        let tool = inspect(path)?;
        Ok(tool.hazards.iter().chain(&tool.hazards_of_contents()).map(|hazard| hazard.id).collect())
    };
    for name in ["environ", "__environ", "_environ"] {
        let source = format!("extern char **{name}; char *first(void) {{ return {name}[0]; }} {TOOL}");
        assert!(ids(&library(directory.path(), "libscans.so", &source, &[])?)?.contains(&"environ"), "{name}");
        // In a library of the tool.
        let helper = format!("extern char **{name}; char *first(void) {{ return {name}[0]; }}");
        let helper = library(directory.path(), "libreads.so", &helper, &[])?.display().to_string();
        let source = format!("char *first(void); char *second(void) {{ return first(); }} {TOOL}");
        let path = library(directory.path(), "libuses.so", &source, &["-Wl,-rpath,$ORIGIN", &helper])?;
        assert!(ids(&path)?.contains(&"environ"), "{name}");
    }
    let wraps =
        format!("int gotcha_wrap(void *, int, char *); int f(void) {{ return gotcha_wrap(0, 0, \"t\"); }} {TOOL}");
    let inside = "__attribute__((visibility(\"hidden\"))) int gotcha_wrap(void *b, int n, char *t) { return getenv(\"GOTCHA_DEBUG\") != 0; }";
    let exported = "int gotcha_wrap(void *b, int n, char *t) { return getenv(\"GOTCHA_DEBUG\") != 0; }";
    for (name, source) in [
        ("libimports.so", wraps.clone()),
        ("libhides.so", format!("#include <stdlib.h>\n{inside}{wraps}")),
        ("libexports.so", format!("#include <stdlib.h>\n{exported}{wraps}")),
    ] {
        let found = ids(&library(directory.path(), name, &source, &["-w"])?)?;
        assert_eq!(found.iter().filter(|id| **id == "gotcha").count(), 1, "{name}: {found:?}");
        assert!(!found.contains(&"environ"), "{name}");
    }
    // One that defines no function of MPI, and exports none at all.
    let source = "int gotcha_wrap(void *, int, char *); __attribute__((constructor)) static void f(void) { gotcha_wrap(0, 0, \"t\"); }";
    let kind = inspect(&library(directory.path(), "libonly.so", source, &[])?)?.kind;
    assert!(matches!(&kind, ToolKind::None { reason } if reason.contains("GOTCHA")), "{kind:?}");
    Ok(())
}

//! Kinds of tools, their closure and their hazards, on libraries built here; and Debian's real tools.

mod support;

use std::path::{Path, PathBuf};

use qmpi_abi::MpiFamily;
use qmpi_elf::write::duplicate::{Changes, duplicate};
use qmpi_elf::{ElfFile, NextFunction, SearchPath, Tool, ToolKind};
use support::{Outcome, library};

fn inspect(path: &Path) -> Result<Tool, qmpi_elf::ElfError> {
    Tool::inspect(path, &[], &SearchPath::new(None), &|_| false)
}

fn names(ids: &[qmpi_abi::FnId]) -> Vec<&'static str> {
    ids.iter().map(|id| id.name()).collect()
}

fn has_hazard(tool: &Tool, id: &str) -> bool {
    tool.hazards.iter().any(|hazard| hazard.id == id)
}

#[test]
fn kinds() -> Outcome {
    let directory = tempfile::tempdir()?;
    let kind = |name: &str, source: &str| -> Result<ToolKind, Box<dyn std::error::Error>> {
        Ok(inspect(&library(directory.path(), name, source, &[])?)?.kind)
    };
    assert_eq!(kind("a.so", "int PMPI_Send(void); int MPI_Send(void) { return PMPI_Send(); }")?, ToolKind::Pmpi);
    assert_eq!(kind("b.so", "void pmpi_send_(void); void mpi_send_(void) { pmpi_send_(); }")?, ToolKind::Pmpi);
    // Exports nothing: the GNU hash table is empty and does not tell how many imports there are.
    let qmpi = "int QMPI_Register_tool_name(const char *, void *); \
                __attribute__((constructor)) static void r(void) { QMPI_Register_tool_name(\"x\", 0); }";
    assert_eq!(kind("c.so", qmpi)?, ToolKind::Qmpi);
    assert_eq!(kind("d.so", "void *get_interceptions(void) { return 0; }")?, ToolKind::Thesis);
    assert_eq!(kind("libmpi.so.12", "int PMPI_Send(void) { return 0; }")?, ToolKind::MpiLibrary);
    assert!(matches!(kind("e.so", "int f(void) { return 0; }")?, ToolKind::None { .. }));
    assert!(matches!(kind("f.so", "int QMPI_Register_tool_name(void) { return 0; }")?, ToolKind::None { .. }));
    Ok(())
}

#[test]
fn hash_styles_give_the_same_symbols() -> Outcome {
    let directory = tempfile::tempdir()?;
    let source = "int PMPI_Send(void), g(void); int MPI_Send(void) { return PMPI_Send() + g(); } int f1, f2, f3;";
    let mut seen = Vec::new();
    for style in ["sysv", "gnu", "both"] {
        let option = format!("-Wl,--hash-style={style}");
        let file = ElfFile::open(&library(directory.path(), &format!("lib{style}.so"), source, &[&option])?)?;
        let mut symbols: Vec<_> = file.symbols().map(|symbol| (symbol.name.to_owned(), symbol.defined)).collect();
        symbols.sort();
        seen.push(symbols);
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[2]);
    assert!(seen[0].contains(&("f3".to_owned(), true)));
    Ok(())
}

#[test]
fn closure_follows_private_libraries_only() -> Outcome {
    let directory = tempfile::tempdir()?;
    let here = directory.path();
    let inner = here.join("inner");
    std::fs::create_dir(&inner)?;
    library(here, "libmpich.so.12", "int PMPI_Send(void) { return 0; } int PMPI_Recv(void) { return 0; }", &[])?;
    library(here, "libshared.so.1", "int shared_one(void) { return 0; }", &[])?;
    library(&inner, "libdeep.so.1", "int deep(void) { return 0; }", &[])?;
    let at = |path: &Path| path.display().to_string();
    let (deep, mpi, shared) =
        (at(&inner.join("libdeep.so.1")), at(&here.join("libmpich.so.12")), at(&here.join("libshared.so.1")));
    let wrap = "int deep(void), PMPI_Recv(void), nowhere(void); int MPI_Recv(void) { return deep() + PMPI_Recv() + nowhere(); }";
    library(here, "libwrap.so.1", wrap, &[&deep])?;
    let wrapper = at(&here.join("libwrap.so.1"));
    let root = "int PMPI_Send(void), shared_one(void), MPI_Recv(void), MPI_Barrier(void); \
                int MPI_Send(void) { return PMPI_Send() + shared_one() + MPI_Recv() + MPI_Barrier(); }";
    // Old-style RPATH: inherited by libwrap, which finds libdeep through it.
    let rpath = ["-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN:${ORIGIN}/inner", &wrapper, &mpi, &shared];
    let tool_path = library(here, "libtool.so", root, &rpath)?;
    let tool = Tool::inspect(&tool_path, &[], &SearchPath::new(None), &|name| name == "libshared.so.1")?;

    let objects: Vec<_> = tool.closure.objects.iter().map(ElfFile::name).collect();
    assert_eq!(objects, ["libtool.so", "libwrap.so.1", "libdeep.so.1"]);
    assert!(tool.closure.stopped.iter().any(|name| name == "libmpich.so.12"));
    assert!(tool.closure.stopped.iter().any(|name| name == "libshared.so.1"));
    assert!(tool.closure.missing.is_empty(), "{:?}", tool.closure.missing);
    assert_eq!(names(&tool.intercepts).len(), 2);
    assert_eq!(names(&tool.objects[1].intercepts), ["MPI_Recv"]);
    assert_eq!(names(&tool.mpi_calls), ["MPI_Barrier"]);
    assert_eq!(tool.abi, Some(MpiFamily::Mpich));
    assert_eq!(tool.undefined_elsewhere, ["nowhere"]);
    assert!(has_hazard(&tool, "undefined-symbols"));

    std::fs::remove_file(inner.join("libdeep.so.1"))?;
    let tool = inspect(&tool_path)?;
    assert_eq!(tool.closure.missing.first().map(|missing| missing.needed_by.as_str()), Some("libwrap.so.1"));
    assert!(has_hazard(&tool, "missing-library"));
    Ok(())
}

#[test]
fn search_skips_foreign_libraries_and_honours_the_order() -> Outcome {
    let directory = tempfile::tempdir()?;
    let (first, second) = (directory.path().join("1"), directory.path().join("2"));
    std::fs::create_dir(&first)?;
    std::fs::create_dir(&second)?;
    let sound = library(&second, "libx.so.1", "int x;", &[])?;
    let mut foreign = std::fs::read(&sound)?;
    foreign[18] = 21; // EM_PPC64
    std::fs::write(first.join("libx.so.1"), foreign)?;
    let user = library(directory.path(), "libuser.so", "extern int x; int *y(void) { return &x; }", &[])?;
    let user = ElfFile::open(&user)?;
    let mut list = first.clone().into_os_string();
    list.push(":");
    list.push(&second);
    assert_eq!(SearchPath::new(Some(&list)).find("libx.so.1", &user, &[]), Some(sound.clone()));
    let system = SearchPath::new(None).with_system(vec![second.clone()]);
    assert_eq!(system.find("libx.so.1", &user, &[]), Some(sound));
    assert_eq!(SearchPath::new(None).find("libx.so.1", &user, &[]), None);
    Ok(())
}

#[test]
fn hazards() -> Outcome {
    let directory = tempfile::tempdir()?;
    let source = r#"
        #include <dlfcn.h>
        #include <link.h>
        #include <stdlib.h>
        __thread int fast __attribute__((tls_model("initial-exec")));
        int open(const char *path, int flags) { return fast; }
        int MPI_Finalize(void) { unsetenv("LD_PRELOAD"); dl_iterate_phdr(0, 0); return dlopen("x", 1) != 0; }
        int MPI_Pcontrol(int level, ...) { return 0; }
        int PMPI_Send(void) { return 0; }
    "#;
    let options = ["-D_GNU_SOURCE", "-Wl,-z,execstack", "-w"];
    let tool = inspect(&library(directory.path(), "libhazard.so", source, &options)?)?;
    for id in
        ["defines-pmpi", "dlopen", "dl-iterate-phdr", "exec-stack", "static-tls", "unsets-ld-preload", "keeps-finalize"]
    {
        assert!(has_hazard(&tool, id), "{id} is not in {:?}", tool.hazards);
    }
    assert!(tool.defines_pcontrol && !tool.passes_pcontrol_on && tool.static_tls);
    assert_eq!(tool.next_function, NextFunction::NoneSeen);

    let source = r#"
        #include <dlfcn.h>
        int MPI_Pcontrol(int level, ...) { return ((int (*)(int))dlsym(RTLD_NEXT, "PMPI_Pcontrol"))(level); }
        int MPI_New_function(void) { return 0; }
        extern void *ompi_mpi_comm_world; void *world(void) { return &ompi_mpi_comm_world; }
    "#;
    let tool = inspect(&library(directory.path(), "libnext.so", source, &["-D_GNU_SOURCE"])?)?;
    assert_eq!(tool.next_function, NextFunction::Dlsym);
    assert!(tool.passes_pcontrol_on && !has_hazard(&tool, "exec-stack"));
    assert_eq!(tool.unknown_mpi, ["MPI_New_function"]);
    assert_eq!(tool.data_imports, ["ompi_mpi_comm_world"]);
    assert_eq!(tool.abi, Some(MpiFamily::OpenMpi));
    Ok(())
}

#[test]
fn a_tool_bound_to_two_mpis_is_refused() -> Outcome {
    let directory = tempfile::tempdir()?;
    let mut options = vec!["-Wl,--no-as-needed".to_owned()];
    for name in ["libmpich.so.12", "libmpi.so.40"] {
        let path = library(directory.path(), name, "int PMPI_Send(void) { return 0; }", &[])?;
        options.push(path.display().to_string());
    }
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let source = "int PMPI_Send(void); int MPI_Send(void) { return PMPI_Send(); }";
    assert!(has_hazard(&inspect(&library(directory.path(), "libboth.so", source, &options)?)?, "mixed-mpi"));

    // Open MPI 1.10 has MPICH's number: the variables tell.
    let source = "extern int ompi_mpi_comm_world; int MPI_Send(void) { return ompi_mpi_comm_world; }";
    let path = library(directory.path(), "libmpi.so.12", "int ompi_mpi_comm_world;", &[])?;
    let tool = inspect(&library(directory.path(), "libold.so", source, &[&path.display().to_string()])?)?;
    assert_eq!(tool.abi, Some(MpiFamily::OpenMpi));
    assert!(!has_hazard(&tool, "mixed-mpi"));
    Ok(())
}

/// A file of Debian's packages; `None` with a printed reason where it is not installed, except in CI.
fn installed(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(format!("/usr/lib/{}-linux-gnu/{name}", std::env::consts::ARCH));
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none_or(|value| value != "true"), "{name} has to be installed in CI");
    eprintln!("skipped: {} is not installed", path.display());
    None
}

#[test]
fn ompitrace() -> Outcome {
    let Some(path) = installed("libompitrace.so.40") else { return Ok(()) };
    let tool = inspect(&path)?;
    assert_eq!(tool.kind, ToolKind::Pmpi);
    assert_eq!(tool.next_function, NextFunction::PmpiImports);
    assert_eq!(tool.intercepts.len(), 20);
    // It needs libc only; the variables tell what it was built for.
    assert_eq!(tool.abi, Some(MpiFamily::OpenMpi));
    assert_eq!(tool.data_imports, ["ompi_mpi_comm_world", "ompi_mpi_datatype_null"]);
    assert!(tool.undefined_elsewhere.is_empty() && tool.hazards.is_empty(), "{:?}", tool.hazards);
    Ok(())
}

#[test]
fn eztrace() -> Outcome {
    for (name, family) in [("libeztrace-openmpi.so", MpiFamily::OpenMpi), ("libeztrace-mpich.so", MpiFamily::Mpich)] {
        let Some(path) = installed(name) else { continue };
        let tool = inspect(&path)?;
        assert_eq!(tool.kind, ToolKind::Pmpi);
        // It has no other way to the next function than dlsym, and asks for MPI_f rather than PMPI_f.
        assert_eq!(tool.next_function, NextFunction::Dlsym);
        assert_eq!(tool.abi, Some(family));
        assert!(tool.dlsym_names.iter().any(|name| name == "MPI_Send"));
        assert!(tool.fortran_wrappers.iter().any(|name| name == "mpi_send_"));
        assert!(tool.closure.missing.is_empty() && tool.undefined_elsewhere.is_empty());
        assert!(tool.closure.objects.iter().any(|object| object.name() == "libeztrace-core.so"));
        assert!(has_hazard(&tool, "dlopen") && has_hazard(&tool, "dlsym-next"));
    }
    Ok(())
}

#[test]
fn open_mpi_monitoring() -> Outcome {
    let Some(path) = installed("openmpi/lib/ompi_monitoring_prof.so") else { return Ok(()) };
    let tool = inspect(&path)?;
    assert_eq!((tool.kind, tool.abi), (ToolKind::Pmpi, Some(MpiFamily::OpenMpi)));
    assert_eq!(names(&tool.intercepts).len(), 2);
    assert!(names(&tool.mpi_calls).contains(&"MPI_T_pvar_read"));
    assert!(tool.unknown_mpi.is_empty(), "{:?}", tool.unknown_mpi);
    Ok(())
}

#[test]
fn mpi_libraries() -> Outcome {
    use qmpi_elf::mpi::abi_family::{family_of_library, library_version};
    for (name, family, product) in
        [("libmpi.so.40", MpiFamily::OpenMpi, "Open MPI v"), ("libmpich.so.12", MpiFamily::Mpich, "MPICH Version: ")]
    {
        let Some(path) = installed(name) else { continue };
        let library = inspect(&path)?;
        assert_eq!((library.kind, library.abi), (ToolKind::MpiLibrary, Some(family)));
        let file = ElfFile::open(&path)?;
        assert_eq!(family_of_library(&file), Some(family));
        let version = library_version(&file)?;
        assert!(version.as_ref().is_some_and(|text| text.starts_with(product)), "{version:?}");
    }
    Ok(())
}

/// What `patchelf --remove-needed` leaves: versions of a library that is not named.
#[test]
fn versions_of_a_library_that_is_not_named() -> Outcome {
    let directory = tempfile::tempdir()?;
    let source = "double cos(double); double MPI_Wtime(void) { return cos(0) + cos(1.5); }";
    let path = library(directory.path(), "libunnamed.so", source, &["-fno-builtin", "-lm"])?;
    let named = Tool::inspect(&path, &[], &SearchPath::new(None), &|_| false)?;
    assert!(named.closure.unnamed.is_empty() && named.closure.stopped.iter().any(|name| name == "libm.so.6"));

    let mut bytes = std::fs::read(&path)?;
    let elf = goblin::elf::Elf::parse(&bytes)?;
    let entry = |dynamic: &goblin::elf::dynamic::Dynamic| {
        dynamic.dyns.iter().position(|entry| {
            entry.d_tag == goblin::elf::dynamic::DT_NEEDED
                && elf.dynstrtab.get_at(entry.d_val as usize) == Some("libm.so.6")
        })
    };
    let index = elf.dynamic.as_ref().and_then(entry).ok_or("no DT_NEEDED of libm")?;
    let section = elf.program_headers.iter().find(|header| header.p_type == goblin::elf::program_header::PT_DYNAMIC);
    let at = section.ok_or("no PT_DYNAMIC")?.p_offset as usize + index * 16;
    bytes[at..at + 8].copy_from_slice(&goblin::elf::dynamic::DT_DEBUG.to_le_bytes());
    std::fs::write(&path, bytes)?;

    let tool = Tool::inspect(&path, &[], &SearchPath::new(None), &|_| false)?;
    assert_eq!(tool.closure.unnamed, ["libm.so.6"]);
    assert!(tool.closure.stopped.iter().any(|name| name == "libm.so.6"), "{:?}", tool.closure.stopped);
    assert!(tool.hazards.iter().any(|hazard| hazard.id == "unnamed-library"));
    assert!(tool.undefined_elsewhere.is_empty(), "{:?}", tool.undefined_elsewhere);
    Ok(())
}

/// A library without exports has no hash table that counts its symbols; in a copy another table follows them.
#[test]
fn a_copy_has_the_symbols_of_the_original() -> Outcome {
    let directory = tempfile::tempdir()?;
    let source = r#"
        #include <stdio.h>
        int QMPI_Register_tool_name(const char *, void *);
        static int start(void) { return printf("%p", stderr); }
        __attribute__((constructor)) static void enter(void) { QMPI_Register_tool_name("t", start); }
    "#;
    for style in ["gnu", "sysv", "both"] {
        let option = format!("-Wl,--hash-style={style}");
        let path = library(directory.path(), "libstatic.so", source, &[&option])?;
        let copy = duplicate(&std::fs::read(&path)?, &Changes { needed: &["libx.so"], runpath: None })?;
        let copy_path = directory.path().join("libcopy.so");
        std::fs::write(&copy_path, copy)?;
        let (original, copy) = (ElfFile::open(&path)?, ElfFile::open(&copy_path)?);
        let names = |file: &ElfFile| file.symbols().map(|symbol| symbol.name.to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&copy), names(&original), "{style}");
        assert_eq!(copy.needed(), ["libx.so"]);
    }
    Ok(())
}

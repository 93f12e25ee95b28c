//! `qmpi inspect` of tools: how they go on, what they wrap and look up, and the setting that cures what it reports.

use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Trial, Verdict, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("look_ups_of_posix", &Mpi::ALL, look_ups_of_posix),
        ("look_ups_of_mpi", &Mpi::ALL, look_ups_of_mpi),
        ("helpers_of_a_tool", &Mpi::ALL, helpers_of_a_tool),
        ("wrappers_of_fortran", &Mpi::ALL, wrappers_of_fortran),
        ("share_is_advised", &Mpi::ALL, share_is_advised),
        ("with_is_advised", &Mpi::ALL, with_is_advised),
        ("with_is_advised_for_a_library", &Mpi::ALL, with_is_advised_for_a_library),
    ])
}

/// Compiles a shared object from text.
fn library(mpi: Mpi, output: &Path, source: &str, options: &[&str]) -> Result<String, Failed> {
    let file = output.with_extension("c");
    std::fs::write(&file, source)?;
    let mut compiler = Command::new(mpi.compiler("c"));
    let result = compiler.args(["-shared", "-fPIC", "-w", "-D_GNU_SOURCE", "-o"]).arg(output).arg(&file).args(options);
    let result = result.output()?;
    if result.status.success() {
        return Ok(output.display().to_string());
    }
    Err(format!("{}: {}", output.display(), String::from_utf8_lossy(&result.stderr)).into())
}

fn inspect(words: &[&str]) -> Result<String, Failed> {
    let output = Command::new(product::command()).arg("inspect").args(words).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(text) } else { Err(format!("qmpi inspect {words:?}: {text}{errors}").into()) }
}

/// Has these parts, and none of those.
fn says(text: &str, parts: &[&str], none: &[&str]) -> Verdict {
    let missing: Vec<_> = parts.iter().filter(|part| !text.contains(**part)).collect();
    let wrong: Vec<_> = none.iter().filter(|part| text.contains(**part)).collect();
    if missing.is_empty() && wrong.is_empty() {
        return Ok(());
    }
    Err(format!("lacks {missing:?}, has {wrong:?}\n{text}").into())
}

/// Calls of `open` and `close` are looked up, functions of MPI are imported; names of MPI's are there for the report only.
const OF_POSIX: &str = r#"
    #include <dlfcn.h>
    #include <mpi.h>
    #include <stdio.h>
    static struct { const char *name; int calls; } functions[] = { { "MPI_Bcast" }, { "MPI_Barrier" }, { "MPI_Send" } };
    static int opened;
    int open(const char *path, int flags, int mode)
    {
        static int (*real)(const char *, int, int);
        if (!real)
            real = dlsym(RTLD_NEXT, "open");
        opened++;
        return real(path, flags, mode);
    }
    int close(int file)
    {
        int (*real)(int) = dlsym(RTLD_NEXT, "close");
        return real(file);
    }
    int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
    {
        functions[0].calls++;
        return PMPI_Bcast(buffer, count, type, root, comm);
    }
    int MPI_Barrier(MPI_Comm comm)
    {
        functions[1].calls++;
        return PMPI_Barrier(comm);
    }
    int MPI_Finalize(void)
    {
        for (int i = 0; i < 3; i++)
            printf("%s: %d\n", functions[i].name, functions[i].calls);
        return PMPI_Finalize();
    }
"#;

fn look_ups_of_posix(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let tool = library(mpi, &directory.path().join("posix.so"), OF_POSIX, &["-O2"])?;
    let parts = ["goes on by PMPI_* imports (3 functions)\n", "2 functions of its libraries", "close, open\n"];
    says(&inspect(&[&tool])?, &parts, &["dlsym", "looks MPI functions up"])
}

fn look_ups_of_mpi(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let source = r#"
        #include <dlfcn.h>
        #include <mpi.h>
        int MPI_Barrier(MPI_Comm c) { return ((int (*)(MPI_Comm))dlsym(RTLD_NEXT, "PMPI_Barrier"))(c); }
        int MPI_Finalize(void) { return ((int (*)(void))dlsym(RTLD_NEXT, "MPI_Finalize"))(); }
        MORE
    "#;
    let more = "int MPI_Init(int *c, char ***v) { return PMPI_Init(c, v); }";
    for (more, ways) in [("", "dlsym (2 names)"), (more, "PMPI_* imports (1 function) and dlsym (2 names)")] {
        let tool = library(mpi, &directory.path().join("mpi.so"), &source.replace("MORE", more), &["-O2"])?;
        says(&inspect(&[&tool])?, &[&format!("goes on by {ways}\n"), "looks MPI functions up by name"], &[])?;
    }
    Ok(())
}

/// A function that is exported and whose name is a constant for a message, and one that the tool looks up, of a library that only programs have: the
/// file does not tell them apart, and `inspect` says so.
fn helpers_of_a_tool(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let source = r#"
        #include <dlfcn.h>
        #include <mpi.h>
        #include <stdio.h>
        int opens;
        void tool_report(int number) { fprintf(stderr, "%s: %d\n", __func__, number); }
        int open(const char *path, int flags, int mode)
        {
            int (*real)(const char *, int, int) = dlsym(RTLD_NEXT, "open");
            opens++;
            return real(path, flags, mode);
        }
        int part_create(int number) { return ((int (*)(int))dlsym(RTLD_NEXT, "part_create"))(number); }
        int MPI_Finalize(void) { tool_report(opens); return PMPI_Finalize(); }
    "#;
    let tool = library(mpi, &directory.path().join("helpers.so"), source, &["-O2"])?;
    let parts = [
        "1 function of its libraries\n             open\n",
        "2 functions besides: its own, or wrappers of a library that the program has\n             part_create, tool_report\n",
    ];
    says(&inspect(&[&tool])?, &parts, &["of other libraries"])
}

/// What they go on by, and their names.
fn wrappers_of_fortran(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let wrapper = |name: &str| format!("void p{name}(void); void {name}(void) {{ p{name}(); }}\n");
    let f08 = wrapper("mpi_barrier_f08_") + &wrapper("mpi_init_f08_") + &wrapper("mpi_finalize_f08_");
    let tool = library(mpi, &directory.path().join("f08.so"), &f08, &["-O2"])?;
    let text = inspect(&[&tool])?;
    let parts = [
        "goes on by pmpi_* imports of Fortran (3 functions)\n",
        "0 C functions, 3 Fortran names\n             mpi_barrier_f08_, mpi_finalize_f08_, mpi_init_f08_\n",
    ];
    says(&text, &parts, &["PMPI_* imports"])?;
    let both = format!(
        "{}{}int PMPI_Barrier(void); int MPI_Barrier(void) {{ return PMPI_Barrier(); }}\n",
        wrapper("mpi_barrier_"),
        wrapper("mpi_init_")
    );
    let tool = library(mpi, &directory.path().join("both.so"), &both, &["-O2"])?;
    let parts = [
        "goes on by PMPI_* imports (1 function) and pmpi_* imports of Fortran (2 functions)\n",
        "1 C function, 2 Fortran names\n             MPI_Barrier\n             mpi_barrier_, mpi_init_\n",
    ];
    says(&inspect(&[&tool])?, &parts, &[])
}

/// A library that calls MPI, as parallel HDF5 does: with the advice, program and tool have one copy, as
/// `in_common::*::a_library_that_calls_mpi` shows. One of whose functions the tool has wrappers is the program's without it.
fn share_is_advised(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir(at("site"))?;
    let part = "#include <mpi.h>\nstatic int parts; int part_create(int n) { CALL; return parts += n; }";
    let calls = part.replace("CALL", "int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank)");
    let plain = part.replace("CALL", "");
    let wrapper = "int part_create(int n) { return ((int (*)(int))dlsym(RTLD_NEXT, \"part_create\"))(n); }";
    let caller = "int part_create(int); int MPI_Pcontrol(int n, ...) { return part_create(n); }";
    let setting = "share = [\"libpart.so.1\"] in its section, ";
    let handled = "libpart.so.1 has functions that it wraps";
    for (place, part, uses, parts, none) in [
        ("site/", &calls, caller, &[setting][..], &[handled, "  wraps "][..]),
        (
            "site/",
            &calls,
            wrapper,
            &[handled, "1 function of its libraries\n             part_create\n"],
            &["share = "],
        ),
        ("site/", &plain, caller, &[], &["share = ", handled]),
        ("", &calls, caller, &[], &["share = ", handled]),
    ] {
        let built = library(mpi, &at(&format!("{place}libpart.so.1")), part, &["-O2", "-Wl,-soname,libpart.so.1"])?;
        let source = format!(
            "#include <dlfcn.h>\n#include <mpi.h>\n{uses}\nint MPI_Finalize(void) {{ return PMPI_Finalize(); }}"
        );
        let options = ["-O2", "-Wl,--no-as-needed", &built, "-Wl,-rpath,$ORIGIN:$ORIGIN/site"];
        let tool = library(mpi, &at("tool.so"), &source, &options)?;
        says(&inspect(&[&tool])?, parts, none)?;
        std::fs::remove_file(&built)?;
    }
    Ok(())
}

/// A tool of several files, looked at alone: the advice names the others, and is followed.
fn with_is_advised(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let at = |name: &str| directory.path().join(name);
    let last = tool(mpi, "several_files");
    for name in ["several_files_a.so", "several_files_b.so", "several_files.so"] {
        std::fs::copy(last.with_file_name(name), at(name))?;
    }
    let tool = at("several_files.so").display().to_string();
    let setting = "with = [\"several_files_a.so\"]";
    says(&inspect(&[&tool])?, &[setting], &[])?;
    let a = at("several_files_a.so").display().to_string();
    says(&inspect(&["--with", &a, &tool])?, &[], &["with = [", "several_files_note"])
}

/// A library that the tool needs lies beside it, where the dynamic linker does not look.
fn with_is_advised_for_a_library(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let at = |name: &str| directory.path().join(name);
    let options = ["-O2", "-Wl,-soname,libbeside.so.1"];
    let helper = library(mpi, &at("libbeside.so.1"), "int beside(void) { return 1; }", &options)?;
    let source = "#include <mpi.h>\n#include <stdio.h>\nint beside(void);
        int MPI_Finalize(void) { printf(\"beside: %d\\n\", beside()); return PMPI_Finalize(); }";
    let tool = library(mpi, &at("needs_beside.so"), source, &["-O2", &helper])?;
    let setting = "with = [\"libbeside.so.1\"]";
    says(&inspect(&[&tool])?, &[setting, "missing"], &[])?;
    let config = at("qmpi.toml");
    std::fs::write(&config, format!("stack = [\"t\"]\n[tool.t]\npath = {tool:?}\n{setting}\n"))?;
    let job = Job::alone(mpi, &program(mpi, "ring.c"));
    Ok(job.config(&config).run().expect(0, &["beside: 1".to_owned()])?)
}

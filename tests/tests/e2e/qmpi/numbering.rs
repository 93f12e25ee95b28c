//! Numbers of functions: QMPI tools compiled with the header of one MPICH run on all others, in one stack; where a number cannot
//! be read, the tool is refused.

use std::path::{Path, PathBuf};
use std::process::Command;

use qmpi_elf::{ElfFile, NumberingNote};
use qmpi_tests::wheel::{run, stacked};
use qmpi_tests::{Mpi, Outcome, Trial, Verdict, Wheel, product, program};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let tests: [(&str, Test); 8] = [
        ("the_note_survives", the_note_survives),
        ("every_header_on_every_mpich", every_header_on_every_mpich),
        ("linked_with_another_mpich", linked_with_another_mpich),
        ("on_open_mpi", on_open_mpi),
        ("without_the_note", without_the_note),
        ("unknown_release", unknown_release),
        ("parts_that_differ", parts_that_differ),
        ("inspect_says_whose_they_are", inspect_says_whose_they_are),
    ];
    let with_all = |test: Test| {
        move || {
            Mpi::ALL.into_iter().for_each(Mpi::require);
            [Wheel::MPICH_4, Wheel::MPICH_5, Wheel::OPEN_MPI_5].into_iter().for_each(Wheel::require);
            test()
        }
    };
    tests.into_iter().map(|(name, test)| Trial::test(name, with_all(test))).collect()
}

type Test = fn() -> Verdict;

/// Three headers, each with a numbering of its own.
const HEADERS: [Header; 3] = [Header::Debian, Header::Of(Wheel::MPICH_4), Header::Of(Wheel::MPICH_5)];

/// An MPICH, as far as its header is concerned.
#[derive(Clone, Copy)]
enum Header {
    Debian,
    Of(Wheel),
}

impl Header {
    fn name(self) -> &'static str {
        match self {
            Header::Debian => "mpich-4.0",
            Header::Of(wheel) => wheel.name,
        }
    }

    fn directory(self) -> PathBuf {
        match self {
            Header::Debian => Mpi::Mpich.header().parent().map_or_else(PathBuf::new, Path::to_path_buf),
            Header::Of(wheel) => wheel.prefix().join("include"),
        }
    }

    /// The number of its release.
    fn release(self) -> u32 {
        match self {
            Header::Debian => Mpi::Mpich.defined("MPICH_NUMVERSION").expect("MPICH says which release it is"),
            Header::Of(Wheel::MPICH_4) => 40_302_300,
            Header::Of(_) => 50_001_300,
        }
    }

    fn compiler(self) -> PathBuf {
        match self {
            Header::Debian => "mpicc.mpich".into(),
            Header::Of(wheel) => wheel.compiler(),
        }
    }
}

fn source(file: &str) -> String {
    product::root().join("tests/programs").join(file).display().to_string()
}

/// Compiles a library. Options stand before the source file, further ones after it.
fn compiled(output: &str, compiler: &Path, before: &[&str], after: &[&str]) -> PathBuf {
    let directory = product::target().join("tests/numbering");
    std::fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{error}"));
    let output = directory.join(format!("{output}.so"));
    let mut command = Command::new(compiler);
    command.args(["-shared", "-fPIC", "-O2", "-I"]).arg(product::root().join("bridge/include"));
    command.args(before).arg("-o").arg(&output).args(after);
    let result = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(result.status.success(), "{command:?}: {}", String::from_utf8_lossy(&result.stderr));
    output
}

/// The tool, compiled with a header and linked with no MPI.
fn tool(header: Header, name: &str, options: &[&str]) -> PathBuf {
    let include = format!("-I{}", header.directory().display());
    let name_option = format!("-DNAME=\"{name}\"");
    let before = [&["-Wall", "-Wextra", "-Werror", &include, &name_option], options].concat();
    compiled(&format!("{name}-{}", header.name()), Path::new("cc"), &before, &[&source("qmpi_numbered.c")])
}

fn named(name: &str, library: &Path) -> String {
    format!("{name}={}", library.display())
}

/// A launcher and a program on each MPICH.
fn jobs() -> Vec<Vec<String>> {
    let mut debian = Mpi::Mpich.launcher(2);
    debian.push(program(Mpi::Mpich, "ring.c").display().to_string());
    let of_wheel = |wheel: Wheel| {
        let mut words = wheel.launcher(2);
        words.push(wheel.program("ring.c").display().to_string());
        words
    };
    vec![debian, of_wheel(Wheel::MPICH_4), of_wheel(Wheel::MPICH_5)]
}

fn open_mpi_job() -> Vec<String> {
    let mut words = Mpi::OpenMpi.launcher(2);
    words.push(program(Mpi::OpenMpi, "ring.c").display().to_string());
    words
}

/// Ended well, was silent, and each tool counted what ring.c calls.
fn counted(outcome: &Outcome, names: &[&str]) -> Verdict {
    let line = |(place, name): (usize, &&str)| format!("{name} {}: send 3, wait 2, file 0, time 2", place + 1);
    let mut lines: Vec<String> = names.iter().enumerate().map(line).collect();
    lines.push("done".into());
    outcome.expect(0, &lines)?;
    if outcome.said().is_empty() { Ok(()) } else { Err(format!("not silent\n{}", outcome.report()).into()) }
}

/// Whatever the compiler and the linker do away with: unused and hidden symbols, sections, symbol tables.
fn the_note_survives() -> Verdict {
    let sections = ["-fvisibility=hidden", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"];
    let map = product::target().join("tests/numbering.map");
    std::fs::create_dir_all(product::target().join("tests"))?;
    std::fs::write(&map, "{ local: *; };\n")?;
    let script = format!("-Wl,--version-script={}", map.display());
    let file = source("qmpi_numbered.c");
    // A second part of the tool that is nothing but the header.
    let parts = source("qmpi_numbered_part.c");
    for header in HEADERS {
        let number = header.release();
        let include = format!("-I{}", header.directory().display());
        for (way, compiler, more) in [
            ("c", "cc", &["-std=c99", "-pedantic", "-Wall", "-Werror"][..]),
            ("cxx", "c++", &["-std=c++11", "-pedantic", "-Wall", "-Werror", "-x", "c++"]),
            ("lto", "cc", &["-flto"]),
            ("stripped", "cc", &["-s"]),
            ("gold", "cc", &["-fuse-ld=gold", "-s"]),
            ("debug", "cc", &["-O0", "-g"]),
        ] {
            let before = [&sections[..], &[&script, &include, "-DNAME=\"x\""], more].concat();
            let output = format!("survives-{way}-{}", header.name());
            let library = compiled(&output, Path::new(compiler), &before, &[&file, &parts]);
            let found = ElfFile::open(&library)?.numberings()?;
            if found != [NumberingNote::Mpich(number)] {
                return Err(format!("{}: {found:?}", library.display()).into());
            }
        }
    }
    // Where mpi.h has no numbers, they are qmpi.h's.
    let library = compiled("survives-own", &Wheel::OPEN_MPI_5.compiler(), &["-DNAME=\"x\""], &[&file]);
    let found = ElfFile::open(&library)?.numberings()?;
    if found == [NumberingNote::Own] { Ok(()) } else { Err(format!("{found:?}").into()) }
}

/// Alone, and all in one stack, one of them twice.
fn every_header_on_every_mpich() -> Verdict {
    let names = HEADERS.map(Header::name);
    let tools = HEADERS.map(|header| named(header.name(), &tool(header, header.name(), &[])));
    for job in jobs() {
        for (name, tool) in names.iter().zip(&tools) {
            counted(&run(&stacked(std::slice::from_ref(tool), &job), &[]), &[name])?;
        }
        let [a, b, c] = tools.clone();
        let outcome = run(&stacked(&[b.clone(), a, c, b], &job), &[]);
        counted(&outcome, &[names[1], names[0], names[2], names[1]])?;
    }
    // Numbers of qmpi.h, in a tool that was compiled for an MPI without QMPI, are understood by an MPICH too.
    let include = format!("-I{}", Wheel::OPEN_MPI_5.prefix().join("include").display());
    let before = [&include, "-DNAME=\"own\"", "-DWITHOUT_HANDLES"];
    let own = compiled("own", Path::new("cc"), &before, &[&source("qmpi_numbered.c")]);
    for job in jobs() {
        let outcome = run(&stacked(&[named("own", &own)], &job), &[]);
        outcome.expect(0, &["own 1: send 0, wait 0, file 0, time 2".to_owned()])?;
    }
    Ok(())
}

/// As users build tools: with a compiler wrapper, which links them with its MPI.
fn linked_with_another_mpich() -> Verdict {
    let mut names = Vec::new();
    let mut tools = Vec::new();
    for header in HEADERS {
        let option = format!("-DNAME=\"{}\"", header.name());
        let library = match header {
            Header::Debian => PathBuf::new(),
            Header::Of(wheel) => wheel.prefix().join("lib"),
        };
        let rpath = format!("-Wl,-rpath,{}", library.display());
        let output = format!("linked-{}", header.name());
        let file = source("qmpi_numbered.c");
        let library = compiled(&output, &header.compiler(), &[&option, &rpath], &[&file]);
        names.push(header.name());
        tools.push(named(header.name(), &library));
    }
    for job in jobs() {
        counted(&run(&stacked(&tools, &job), &[]), &names)?;
    }
    Ok(())
}

/// Functions without handles are the same there; it is said that others are not.
fn on_open_mpi() -> Verdict {
    for header in HEADERS {
        let name = format!("plain-{}", header.name());
        let tool = named(&name, &tool(header, &name, &["-DWITHOUT_HANDLES"]));
        let outcome = run(&stacked(&[tool], &open_mpi_job()), &[]);
        outcome.expect(0, &[format!("{name} 1: send 0, wait 0, file 0, time 2"), "done".to_owned()])?;
        let said = outcome.said();
        let header = NumberingNote::Mpich(header.release()).to_string();
        if said.len() != 2 || !said[0].contains(&format!("the mpi.h of {header} has other handles than libmpi.so.40")) {
            return Err(format!("not one warning with a hint\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// The outcome must be a refusal of one line with a hint; with `skip`, the program runs without the tool.
fn refused(tool: &str, job: &[String], reason: &str) -> Verdict {
    let outcome = run(&stacked(&[tool.to_owned()], job), &[]);
    let mut said = outcome.said();
    // Of the other rank, where the launcher was slow.
    said.sort_unstable();
    said.dedup();
    let is_clear = said.len() == 2 && said[0].contains(reason) && said[1].contains("hint: ");
    if outcome.status != 3 || !outcome.stdout.is_empty() || !is_clear {
        return Err(format!("not refused with {reason:?}\n{}", outcome.report()).into());
    }
    let outcome = run(&stacked(&[tool.to_owned()], job), &[("QMPI_ON_ERROR", "skip".into())]);
    outcome.expect(0, &["done".to_owned()])?;
    if outcome.said().iter().filter(|line| line.contains("is left out")).count() != 1
        || outcome.stdout.contains("send 3")
    {
        return Err(format!("not left out\n{}", outcome.report()).into());
    }
    Ok(())
}

/// Compiled with MPICH's header alone: on an MPICH these are its own numbers, elsewhere they are unknown.
fn without_the_note() -> Verdict {
    let include = format!("-I{}", Header::Debian.directory().display());
    let library = compiled("bare", Path::new("cc"), &[&include], &[&source("qmpi_native.c")]);
    let tool = named("native", &library);
    let outcome = run(&stacked(std::slice::from_ref(&tool), &jobs()[0]), &[]);
    outcome.expect(0, &["native 1: send 3, wait 2, time ok".to_owned()])?;
    refused(&tool, &open_mpi_job(), "nothing in the file says which that is")
}

/// A release of MPICH that is not known yet. By name it works all the same.
fn unknown_release() -> Verdict {
    let options = ["-DQMPIX_NUMBERING=60000300"];
    let refuse = named("new", &tool(Header::Debian, "new", &options));
    let by_name = named("by_name", &tool(Header::Debian, "by_name", &[&options[..], &["-DBY_NAME"]].concat()));
    for job in jobs() {
        refused(&refuse, &job, "stands for a function of MPICH 6.0.0, whose numbers are not known")?;
        let outcome = run(&stacked(std::slice::from_ref(&by_name), &job), &[]);
        counted(&outcome, &["by_name"])?;
    }
    Ok(())
}

/// One part of a tool is compiled with another header than the other one.
fn parts_that_differ() -> Verdict {
    let object = |header: Header, file: &str| {
        let output = product::target().join(format!("tests/numbering-{file}-{}.o", header.name()));
        let mut command = Command::new("cc");
        command.args(["-c", "-fPIC", "-DNAME=\"differ\"", "-I"]).arg(product::root().join("bridge/include"));
        command.arg("-I").arg(header.directory()).arg(source(file)).arg("-o").arg(&output);
        let done = command.output().is_ok_and(|result| result.status.success());
        assert!(done, "{command:?}");
        output.display().to_string()
    };
    let parts = [object(Header::Debian, "qmpi_numbered.c"), object(Header::Of(Wheel::MPICH_5), "qmpi_numbered_part.c")];
    let library = compiled("differ", Path::new("cc"), &[], &[&parts[0], &parts[1]]);
    let debian = NumberingNote::Mpich(Header::Debian.release());
    let reason = format!("its parts are compiled with different numbers of functions: {debian}, MPICH 5.0.1");
    refused(&named("differ", &library), &jobs()[0], &reason)
}

fn inspect_says_whose_they_are() -> Verdict {
    let tool = tool(Header::Of(Wheel::MPICH_4), "inspected", &[]);
    let words = [product::command().display().to_string(), "inspect".into(), tool.display().to_string()];
    run(&words, &[]).expect(0, &["  numbers    functions as MPICH 4.3.2 does".to_owned()])?;
    Ok(())
}

//! What a tool sees when it looks at the stack: the application's frames, and between layers nothing of ours.

use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, program, tool, variant};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("every_layer_reaches_main", &Mpi::ALL, every_layer_reaches_main),
        ("layers_that_leave_frames", &Mpi::ALL, layers_that_leave_frames),
        ("glibc_sees_the_files_of_the_layers", &Mpi::ALL, glibc_sees_the_files_of_the_layers),
        ("return_addresses", &Mpi::ALL, return_addresses),
        ("the_program_asks_about_a_tool", &Mpi::ALL, the_program_asks_about_a_tool),
        ("a_library_that_rewrites_objects", &Mpi::ALL, a_library_that_rewrites_objects),
    ])
}

fn check(outcome: &Outcome, expected: &[(&str, usize)]) -> Verdict {
    outcome.expect(0, &["frames: received 7 and 8".to_owned()])?;
    for &(line, times) in expected {
        if outcome.stdout.lines().filter(|printed| *printed == line).count() != times {
            return Err(format!("{line:?} does not stand {times} times on stdout\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// Tools that end in a jump, so that each sees what the outermost sees.
fn every_layer_reaches_main(mpi: Mpi) -> Verdict {
    let [unwind, backtrace] = ["unwind", "backtrace"].map(|name| tool(mpi, name).display().to_string());
    let job = Job::new(mpi, 2, &program(mpi, "frames.c"));
    let walk = "tool unwind: ok calls=1 MPI_Send < app_inner < app_outer < main";
    let site = "tool backtrace: ok calls=1 from_executable=1 caller=app_inner";
    check(&job.clone().stack(&[&unwind, &backtrace, &unwind]).run(), &[(walk, 2), (site, 1)])?;
    check(&job.stack(&[&backtrace, &unwind, &backtrace]).run(), &[(walk, 1), (site, 2)])
}

/// Tools that call, so that each layer adds one frame.
fn layers_that_leave_frames(mpi: Mpi) -> Verdict {
    let unwind = compile::companion(mpi, "unwind_frames.c").display().to_string();
    let outcome = Job::new(mpi, 2, &program(mpi, "frames.c")).stack(&[&unwind, &unwind, &unwind]).run();
    check(
        &outcome,
        &[
            ("tool unwind: ok calls=1 MPI_Send < app_inner < app_outer < main", 1),
            ("tool unwind: ok calls=1 MPI_Send < MPI_Send < app_inner < app_outer < main", 1),
            ("tool unwind: ok calls=1 MPI_Send < MPI_Send < MPI_Send < app_inner < app_outer < main", 1),
        ],
    )
}

fn glibc_sees_the_files_of_the_layers(mpi: Mpi) -> Verdict {
    let tool = compile::companion(mpi, "backtrace_frames.c").display().to_string();
    let outcome = Job::new(mpi, 2, &program(mpi, "frames.c")).stack(&[&tool, &tool, &tool]).run();
    check(
        &outcome,
        &[
            ("backtrace_frames: frames", 1),
            ("backtrace_frames: backtrace_frames.so frames", 1),
            ("backtrace_frames: backtrace_frames.so backtrace_frames.so frames", 1),
        ],
    )
}

/// For twenty functions: the outermost tool is called by the executable, as a preloaded tool is, the next one by the outermost.
fn return_addresses(mpi: Mpi) -> Verdict {
    const OF_RING: [&str; 18] = [
        "Init",
        "Finalize",
        "Comm_rank",
        "Comm_size",
        "Comm_dup",
        "Comm_free",
        "Send",
        "Recv",
        "Isend",
        "Irecv",
        "Wait",
        "Sendrecv",
        "Get_count",
        "Barrier",
        "Bcast",
        "Reduce",
        "Allreduce",
        "Wtime",
    ];
    const OF_EARLY: [&str; 4] = ["Initialized", "Init", "Comm_rank", "Finalize"];
    let library = compile::companion(mpi, "return_address.c");
    let tool = library.display().to_string();
    let ring = Job::new(mpi, 2, &program(mpi, "ring.c"));
    let early = Job::alone(mpi, &program(mpi, "early.c")).args(&["initialized".to_owned()]);
    for (job, name, functions) in [(ring, "ring", &OF_RING[..]), (early, "early", &OF_EARLY)] {
        let lines: Vec<String> =
            functions.iter().map(|function| format!("return_address: MPI_{function} {name}")).collect();
        job.clone().preload(&library).run().expect(0, &lines).map_err(|reason| format!("LD_PRELOAD: {reason}"))?;
        for tools in [&[tool.as_str()][..], &[&tool, &tool]] {
            let outcome = job.clone().stack(tools).run();
            for function in functions {
                for file in [name, "return_address.so"].iter().take(tools.len()) {
                    outcome.expect(0, &[format!("return_address: MPI_{function} {file}")])?;
                }
            }
            if outcome.count("return_address: ") != functions.len() * tools.len() {
                return Err(format!("called from elsewhere as well\n{}", outcome.report()).into());
            }
        }
    }
    Ok(())
}

/// The C library's answers about a tool's code, and the list of objects, are for the program what they are when the tool is preloaded.
fn the_program_asks_about_a_tool(mpi: Mpi) -> Verdict {
    let library = compile::companion(mpi, "names_frames_tool.c");
    let job = Job::alone(mpi, &program(mpi, "names_frames.c")).env("COUNTER", "file=/dev/null");
    let answers = |outcome: &Outcome| -> Vec<String> {
        outcome.stdout.lines().filter(|line| line.contains("names_frames_tool.so")).map(str::to_owned).collect()
    };
    let plain = job.clone().preload(&library).run();
    let expected = answers(&plain);
    if expected.len() != 10 {
        return Err(format!("LD_PRELOAD: not five answers about each of two addresses\n{}", plain.report()).into());
    }
    let [tool, counter] = [library, tool(mpi, "counter")].map(|path| path.display().to_string());
    for tools in [&[tool.as_str()][..], &[&tool, &counter], &[&counter, &tool]] {
        let outcome = job.clone().stack(tools).run();
        if answers(&outcome) != expected {
            return Err(format!("not {expected:#?}\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// What is listed to a library of the program that may rewrite what it is shown: tools in namespaces are not.
fn a_library_that_rewrites_objects(mpi: Mpi) -> Verdict {
    let tool = compile::companion(mpi, "names_frames_tool.c").display().to_string();
    let options = ["-DREWRITES"];
    let library = variant::build(mpi, "tests/programs/names_frames_part.c", "names_frames_rewrites.so", &options);
    let job = Job::alone(mpi, &program(mpi, "names_frames.c")).preload(&library).by_hand(&tool);
    Ok(job.run().expect(0, &["function: dl_iterate_phdr of a library nothing".to_owned()])?)
}

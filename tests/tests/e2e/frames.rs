//! What a tool sees when it looks at the stack: the application's frames, and between layers nothing of ours.

use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("every_layer_reaches_main", &Mpi::ALL, every_layer_reaches_main),
        ("layers_that_leave_frames", &Mpi::ALL, layers_that_leave_frames),
        ("glibc_sees_the_files_of_the_layers", &Mpi::ALL, glibc_sees_the_files_of_the_layers),
        ("return_addresses", &Mpi::ALL, return_addresses),
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

/// For twenty functions: the outermost tool is called by the executable, the next one by the outermost.
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
    let tool = compile::companion(mpi, "return_address.c").display().to_string();
    let ring = Job::new(mpi, 2, &program(mpi, "ring.c"));
    let early = Job::alone(mpi, &program(mpi, "early.c")).args(&["initialized".to_owned()]);
    for (job, name, functions) in [(ring, "ring", &OF_RING[..]), (early, "early", &OF_EARLY)] {
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

//! `qmpi demo`: a program and two tools, compiled by the MPI of this machine, and run in a stack of three layers.
//!
//! Each command is shown before it runs, as it would be typed in the directory.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use qmpi_launch::shell::quote_if_needed;
use qmpi_launch::{executable, launcher};
use qmpi_plan::Launcher;

use crate::Error;
use crate::args::DemoArgs;
use crate::report::listing::file_name;
use crate::terminal;

const CONFIG: &str = "\
[tool.outer]
env = { COUNTER = \"label=outer\" }
[tool.inner]
env = { COUNTER = \"label=inner\" }
";

const FILES: [(&str, &str); 4] = [
    ("app.c", include_str!("../../../../tests/programs/demo.c")),
    ("counter.c", include_str!("../../../../legacy-tools/counter.c")),
    ("tbcast.c", include_str!("../../../../legacy-tools/tbcast.c")),
    ("demo.toml", CONFIG),
];

const STACK: &str = "run -c demo.toml -t outer=./counter.so -t tbcast=./tbcast.so -t inner=./counter.so --";

pub(crate) fn demo(args: &DemoArgs) -> Result<(), Error> {
    let path = std::env::var_os("PATH");
    let mpicc = anywhere(&args.mpicc);
    let compiler = executable::find(&mpicc, path.as_deref()).ok_or_else(|| no_mpi(&args.mpicc))?;
    let launcher = match args.launcher.split_first() {
        None => mpiexec(&mpicc, &compiler, path.as_deref())?,
        Some((command, options)) => std::iter::once(anywhere(command)).chain(options.iter().cloned()).collect(),
    };
    let directory = DemoDirectory(&args.directory);
    directory.write()?;
    let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
    for line in
        ["-O2 app.c -o app", "-shared -fPIC -O2 counter.c -o counter.so", "-shared -fPIC -O2 tbcast.c -o tbcast.so"]
    {
        directory.run(&mpicc, &compiler, words(line))?;
    }
    let command = std::env::current_exe().map_err(|source| Error::not_executable("qmpi".as_ref(), source))?;
    let stack = words(STACK).into_iter().chain(launcher).chain(["./app".into()]).collect();
    directory.run(OsStr::new("qmpi"), &command, stack)?;
    terminal::answer(
        "\nThe program makes three broadcasts. `outer` counted them; `tbcast` made them out of messages, which `inner` counted: the same file as `outer`.\n\
         Now a tool and a program of your own:  qmpi run -t ./TOOL.so mpiexec -n 4 ./app\n",
    )
}

/// Where the files are, and where commands run.
struct DemoDirectory<'a>(&'a Path);

impl DemoDirectory<'_> {
    fn write(&self) -> Result<(), Error> {
        let error = |source: std::io::Error| failed(format!("{} cannot be written: {source}", self.0.display()));
        std::fs::create_dir_all(self.0).map_err(error)?;
        for (name, text) in FILES {
            // The first lines of a test's source are for the tests.
            let lines = text.split_inclusive('\n').filter(|line| !line.starts_with("//#"));
            std::fs::write(self.0.join(name), lines.collect::<String>()).map_err(error)?;
        }
        self.show(&["cd".into(), self.0.into()])
    }

    /// Shows a command, and runs it to its end.
    fn run(&self, name: &OsStr, program: &Path, args: Vec<OsString>) -> Result<(), Error> {
        let line: Vec<OsString> = std::iter::once(name.to_owned()).chain(args).collect();
        self.show(&line)?;
        let status = Command::new(program).args(&line[1..]).current_dir(self.0).status();
        let status = status.map_err(|source| Error::not_executable(name, source))?;
        if status.success() {
            return Ok(());
        }
        Err(failed(format!("{} failed ({status})", name.to_string_lossy())))
    }

    fn show(&self, line: &[OsString]) -> Result<(), Error> {
        let words: Vec<String> =
            line.iter().map(|word| quote_if_needed(&word.to_string_lossy()).into_owned()).collect();
        terminal::answer(&format!("{}\n", terminal::bold(&format!("$ {}", words.join(" ")))))
    }
}

/// `mpiexec` of the MPI that the compiler wrapper is of, for four ranks: `mpiexec.mpich` for `mpicc.mpich`, in the same directory. Where
/// that directory has none (ccache's), it is the first of that name in the PATH, or else of the name `mpiexec`.
fn mpiexec(name: &OsStr, compiler: &Path, path: Option<&OsStr>) -> Result<Vec<OsString>, Error> {
    let of_compiler = file_name(compiler);
    let same = of_compiler.replacen("mpicc", "mpiexec", 1);
    let beside = compiler.with_file_name(&same);
    let (name, file) = if same != of_compiler && executable::is_executable(&beside) {
        (Path::new(name).with_file_name(&same), beside)
    } else {
        let mut names = [same.as_str(), "mpiexec"].into_iter().filter(|name| *name != of_compiler);
        let found = names.find_map(|name| Some((PathBuf::from(name), executable::find(name.as_ref(), path)?)));
        found.ok_or_else(|| no_mpi("mpiexec".as_ref()))?
    };
    let mut words = vec![name.into_os_string()];
    if let Some((Launcher::Orte | Launcher::Prrte, _)) = launcher::identify(&file) {
        // A container's only user may be root, and its machine small.
        if rustix::process::geteuid().is_root() {
            words.push("--allow-run-as-root".into());
        }
        words.push("--oversubscribe".into());
    }
    words.extend(["-n".into(), "4".into()]);
    Ok(words)
}

/// A command as it is called from any directory: a path becomes an absolute one.
fn anywhere(command: &OsStr) -> OsString {
    let is_path = command.as_encoded_bytes().contains(&b'/');
    let absolute = is_path.then(|| std::path::absolute(command).ok()).flatten();
    absolute.map_or_else(|| command.to_owned(), PathBuf::into_os_string)
}

fn no_mpi(command: &OsStr) -> Error {
    Error::failed(
        format!(
            "{}: command not found, and `qmpi demo` needs an MPI with its compiler wrapper",
            command.to_string_lossy()
        ),
        "install an MPI for development (Debian: libopenmpi-dev, libmpich-dev), load its module, or name it: --mpicc COMMAND",
    )
}

fn failed(what: String) -> Error {
    Error::failed(what, "the lines above say why; `qmpi doctor` looks at this machine")
}

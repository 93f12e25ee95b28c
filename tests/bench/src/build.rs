//! Builds the tools and the programs, by the C compiler of each MPI.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::mpi::Mpi;
use crate::peers::PnMpi;
use crate::places::Places;
use crate::plan;
use crate::process::{self, Environment};

/// What is built for one MPI goes to a directory of its name.
pub(crate) struct Build<'a> {
    places: &'a Places,
    mpi: &'a Mpi,
    to: PathBuf,
}

/// MPICH 4.0 declares the profiling names of these four, but does not have them.
const EXCLUDED: [&str; 4] = ["MPI_Status_c2f08", "MPI_Status_f082c", "MPI_Status_f082f", "MPI_Status_f2f08"];

/// How a file is compiled.
type Options<'a> = &'a [&'a str];

const LIBRARY: Options<'_> = &["-fPIC", "-shared"];

impl<'a> Build<'a> {
    pub(crate) fn all(places: &'a Places, mpi: &'a Mpi, pnmpi: Option<&PnMpi>) -> Result<(), Failure> {
        let to = places.dir.join(&mpi.name);
        std::fs::create_dir_all(&to).map_err(|error| Failure::of(&to, &error))?;
        let build = Self { places, mpi, to };
        if mpi.is_null() {
            build.null_library()?;
        }
        let header = build.header()?;
        build.tools(&header)?;
        build.native_tools(&header)?;
        build.programs()?;
        pnmpi.map_or(Ok(()), |pnmpi| build.modules(pnmpi))
    }

    fn null_library(&self) -> Result<(), Failure> {
        // MPICH's name: a null MPI has no data symbols, and handles that are integers.
        self.compile("null_mpi.c", "libmpich.so.12", &[LIBRARY, &["-Wl,-soname,libmpich.so.12"]])?;
        let link = self.to.join("libmpich.so");
        symlink("libmpich.so.12", &link).map_err(|error| Failure::of(&link, &error))
    }

    fn header(&self) -> Result<PathBuf, Failure> {
        if self.mpi.is_null() {
            return Ok(self.places.sources.join("null/mpi.h"));
        }
        let source = self.to.join("header.c");
        std::fs::write(&source, "#include <mpi.h>\n").map_err(|error| Failure::of(&source, &error))?;
        let output = process::run(&self.mpi.compiler, &["-M", &text(&source)], &Environment::new())?;
        let header = output.stdout.split_whitespace().find(|word| word.ends_with("/mpi.h"));
        header.map(PathBuf::from).ok_or_else(|| Failure::new(format!("{} finds no mpi.h", self.mpi.compiler.display())))
    }

    /// PMPI tools, which are linked with the MPI library.
    fn tools(&self, header: &Path) -> Result<(), Failure> {
        let pass = self.generate("passthrough", header, "pass.c")?;
        let library = [LIBRARY, self.linked()];
        self.compile(&pass, "pass.so", &library)?;
        if self.mpi.is_null() {
            // A wrapper that does nothing after the call jumps; one that does something calls, like most tools.
            self.compile(&pass, "call.so", &[LIBRARY, self.linked(), &["-fno-optimize-sibling-calls"]])?;
            self.compile("pmpi_sink.c", "pmpi_sink.so", &library)
        } else {
            self.compile(&text(&self.places.root.join("legacy-tools/counter.c")), "counter.so", &library)
        }
    }

    /// QMPI tools, which are linked with nothing. Every library has to register a name of its own.
    fn native_tools(&self, header: &Path) -> Result<(), Failure> {
        let generated = self.generate("qmpi-passthrough", header, "qpass.c")?;
        self.compile(&generated, "qpass.so", &[LIBRARY])?;
        let variants: [(&str, Options<'_>); 5] = [
            ("table", &[]),
            ("lookup", &["-DLOOKUP"]),
            ("address", &["-DADDRESS"]),
            ("sink", &["-DSINK"]),
            ("keep", &["-DSINK", "-DIMPORTS"]),
        ];
        for (name, options) in variants {
            let define = format!("-DNAME=\"{name}\"");
            self.compile("qmpi_tool.c", &format!("{name}.so"), &[LIBRARY, &[define.as_str()], options])?;
        }
        self.compile("qmpi_interface.c", "interface.so", &[LIBRARY])?;
        self.compile("thesis_pass.c", "thesis.so", &[LIBRARY])
    }

    fn programs(&self) -> Result<(), Failure> {
        self.compile("calls.c", "calls", &[self.linked()])?;
        self.compile("setup.c", "setup", &[self.linked()])
    }

    /// The PMPI tool as modules of PnMPI, and a configuration for each number of them.
    fn modules(&self, pnmpi: &PnMpi) -> Result<(), Failure> {
        let to = self.to.join("pnmpi");
        std::fs::create_dir_all(&to).map_err(|error| Failure::of(&to, &error))?;
        // A library is opened once, however often it is named: each module is a file of its own.
        let pass = text(&self.to.join("pass.so"));
        for number in 1..=plan::MODULES {
            let module = to.join(format!("module{number}.so"));
            process::run(&pnmpi.patcher(), &[&pass, &text(&module)], &Environment::new())?;
        }
        for count in 0..=plan::MODULES {
            let lines: String = (1..=count).map(|number| format!("module module{number}\n")).collect();
            let file = to.join(format!("{count}.conf"));
            std::fs::write(&file, lines).map_err(|error| Failure::of(&file, &error))?;
        }
        Ok(())
    }

    /// A tool by shim-gen.
    fn generate(&self, kind: &str, header: &Path, name: &str) -> Result<String, Failure> {
        let (header, file) = (text(header), text(&self.to.join(name)));
        let mut arguments = vec![kind, "--header", &header, "--output", &file];
        arguments.extend(EXCLUDED.iter().flat_map(|function| ["--exclude", function]));
        process::run(&self.places.shim_gen(), &arguments, &Environment::new())?;
        Ok(file)
    }

    /// What links with the MPI library, which a compiler of an MPI does by itself.
    fn linked(&self) -> Options<'static> {
        if self.mpi.is_null() { &["-lmpich"] } else { &[] }
    }

    /// A source file of the benchmark, or another one by its whole path.
    fn compile(&self, source: &str, name: &str, options: &[Options<'_>]) -> Result<(), Failure> {
        let (source, output) = (text(&self.places.sources.join(source)), text(&self.to.join(name)));
        let include = format!("-I{}", self.places.root.join("bridge/include").display());
        let own = if self.mpi.is_null() {
            let null = self.places.sources.join("null");
            vec![format!("-I{}", null.display()), format!("-L{}", self.to.display())]
        } else if self.mpi.has_qmpi() {
            let prefix = self.mpi.compiler.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
            vec!["-w".to_owned(), format!("-Wl,-rpath,{}", prefix.join("lib").display())]
        } else {
            vec!["-w".to_owned()]
        };
        // The null MPI has a qmpi.h of its own, which comes first.
        let mut arguments: Vec<&str> = own.iter().map(String::as_str).collect();
        arguments.extend(["-O2", &include, &source, "-o", &output]);
        arguments.extend(options.iter().flat_map(|options| options.iter()));
        process::run(&self.mpi.compiler, &arguments, &Environment::new()).map(drop)
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

//! The generated tool compiles against every real header that it was made from.
//!
//! Needs `QMPI_TEST_HEADERS` (see `fresh.rs`) and a C compiler, `cc` or `$CC`.

mod headers;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn compiles(directory: &Path, names: &[&str], output: &str) {
    let read: Vec<_> = names.iter().map(|name| headers::read(&directory.join(name))).collect();
    let includes: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
    let code = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{output}.c"));
    let text = shim_gen::passthrough(&read, &includes, &BTreeSet::new());
    std::fs::write(&code, text).unwrap_or_else(|error| panic!("{error}"));
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let result = Command::new(compiler)
        .args(["-Wall", "-Werror", "-Wno-deprecated-declarations", "-fPIC", "-shared", "-I"])
        .arg(directory)
        .arg(&code)
        .arg("-o")
        .arg(code.with_extension("so"))
        .output()
        .unwrap_or_else(|error| panic!("no C compiler: {error}"));
    assert!(result.status.success(), "{output}: {}", String::from_utf8_lossy(&result.stderr));
}

#[test]
fn compiles_with_every_header() {
    let Some(directories) = headers::directories() else {
        return;
    };
    for (label, directory) in directories {
        compiles(&directory, &["mpi.h"], &label.name);
        for (name, with) in [("mpi-ext.h", &["mpi.h", "mpi-ext.h"][..]), ("mpi_abi.h", &["mpi_abi.h"])] {
            if directory.join(name).is_file() {
                compiles(&directory, with, &format!("{}-{name}", label.name));
            }
        }
    }
}

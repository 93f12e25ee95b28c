//! The table grows at its end, and refuses to change what it has.

use std::path::{Path, PathBuf};

use shim_gen::{FunctionList, Header, Label, Result, Standard, StandardVersion};

/// A header with this text, in a file of its own.
fn header(name: &str, text: &str) -> (Label, Header) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.h"));
    std::fs::write(&path, text).unwrap_or_else(|error| panic!("{error}"));
    let header = Header::read(&path).unwrap_or_else(|error| panic!("{error}"));
    (Label { name: name.to_owned(), version: StandardVersion(4, 0) }, header)
}

fn build(headers: &[(Label, Header)], existing: Option<&FunctionList>) -> Result<FunctionList> {
    FunctionList::build(headers, existing, &Standard::built_in()?)
}

fn names(table: &FunctionList) -> Vec<&str> {
    table.rows.iter().map(|row| row.name.as_str()).collect()
}

#[test]
fn numbers_stay() -> Result<()> {
    let old = header("mpich-grow1", "int MPI_Send(int a); int MPIX_Beta(void); int MPI_Wait(int a);");
    let new =
        header("openmpi-grow2", "int MPI_Abort(int a); int MPI_Send(int a); int MPIX_Alpha(void); int MPI_Zeta(void);");
    let first = build(&[old], None)?;
    assert_eq!(names(&first), ["MPI_Send", "MPI_Wait", "MPIX_Beta"], "standard functions first");
    let second = build(&[new], Some(&first))?;
    assert_eq!(
        names(&second),
        ["MPI_Send", "MPI_Wait", "MPIX_Beta", "MPIX_Alpha", "MPI_Abort", "MPI_Zeta"],
        "new ones after all old ones, also after those that this header lacks"
    );
    let since: Vec<_> = second.rows.iter().map(|row| row.since.to_string()).collect();
    assert_eq!(since, ["1.0", "1.0", "mpich", "openmpi", "1.0", "4.0"]);
    assert_eq!(FunctionList::parse(&second.to_tsv(), "x")?, second);
    Ok(())
}

#[test]
fn disagreement_names_both_headers() -> Result<()> {
    let headers = [header("mpich-odd1", "int MPI_Send(int a);"), header("mpich-odd2", "int MPI_Send(int a, int b);")];
    let message = build(&headers, None).map(|_| ()).map_err(|error| error.to_string());
    let expected = "MPI_Send has 1 argument and result int in mpich-odd1, but 2 arguments and result int in mpich-odd2";
    assert_eq!(message, Err(expected.to_owned()));

    let first = build(&headers[..1], None)?;
    let message = build(&headers[1..], Some(&first)).map(|_| ()).map_err(|error| error.to_string());
    assert!(message.is_err_and(|message| message.contains("the existing table")));
    Ok(())
}

#[test]
fn an_undated_function_is_refused() {
    let (mut label, header) = header("openmpi-undated", "int MPI_Unheard_of(int a);");
    label.version = StandardVersion(3, 1);
    let message = build(&[(label, header)], None).map(|_| ()).map_err(|error| error.to_string());
    assert!(message.is_err_and(|message| message.contains("MPI_Unheard_of of openmpi-undated")));
}

#[test]
fn damaged_tables_name_the_line() {
    let good = "0\tMPI_Send\t6\tint\tno\t1.0\tmpi_send";
    for (text, message) in [
        ("0\tMPI_Send".to_owned(), "x:1: 2 columns instead of 7"),
        (format!("# head\n{good}\n{good}"), "x:3: number 0 where 1 comes next"),
        (good.replace("int", "long"), "x:1: `long` is not a kind of result"),
        (good.replace('6', "many"), "x:1: `many` is not a number of arguments"),
        (good.replace("1.0", "lam"), "x:1: `lam` is not a version of the standard like 3.1"),
    ] {
        assert_eq!(
            FunctionList::parse(&text, "x").map(|_| ()).map_err(|error| error.to_string()),
            Err(message.to_owned())
        );
    }
    assert!(FunctionList::read(&PathBuf::from("no/such/file")).is_err());
}

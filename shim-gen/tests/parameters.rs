//! Rules about parameters: what they cover, and what they say where they do not.

use std::path::Path;

use shim_gen::{FunctionList, Header, Label, Parameters, Result, Rules, Standard, StandardVersion};

/// Headers with these texts, and what the rules say of them.
fn build(texts: &[(&str, &str)], rules: &str) -> Result<Parameters> {
    let headers: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(place, (name, text))| {
            // Tests run side by side.
            let file = format!("{name}-{:?}.h", std::thread::current().id());
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
            std::fs::write(&path, text).unwrap_or_else(|error| panic!("{error}"));
            let header = Header::read(&path).unwrap_or_else(|error| panic!("{error}"));
            let version = StandardVersion(4, u8::try_from(place).unwrap_or(0));
            (Label { name: (*name).to_owned(), version }, header)
        })
        .collect();
    let table = FunctionList::build(&headers, None, &Standard::built_in()?)?;
    Parameters::build(&headers, &table, &Rules::parse(rules, "rules")?)
}

fn message(result: Result<Parameters>) -> String {
    result.map_or_else(|error| error.to_string(), |parameters| panic!("no error:\n{}", parameters.to_tsv()))
}

/// The smallest page for `MPI_Send`.
const SEND: &str = "\
means buffer data
means count a number
means datatype a handle
means error_code a code
kind buffer void buf -
kind count int|MPI_Count count -
kind datatype MPI_Datatype - -
result error_code int - -
length count*datatype void buf -
";

#[test]
fn functions_of_a_later_standard_need_no_rules_of_their_own() -> Result<()> {
    let header = "int MPI_Send(const void *buf, int count, MPI_Datatype datatype);\n\
                  int MPI_Send_c(const void *buf, MPI_Count count, MPI_Datatype datatype);\n\
                  int MPI_Ysend(const void *buf, int count, MPI_Datatype datatype);";
    let text = build(&[("mpich-later", header)], SEND)?.to_tsv();
    for line in [
        "MPI_Send\t0\tbuf\tconst void *\tin\tbuffer\tcount*datatype\t-",
        "MPI_Send_c\t1\tcount\tMPI_Count\tin\tcount\t1\t-",
        "MPI_Ysend\t2\tdatatype\tMPI_Datatype\tin\tdatatype\t1\t-",
        "MPI_Ysend\t-\tresult\tint\tresult\terror_code\t1\t-",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
    Ok(())
}

#[test]
fn what_no_rule_covers_is_an_error() {
    let unknown = [("mpich-unknown", "int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int mood);")];
    assert_eq!(message(build(&unknown, SEND)), "MPI_Send: no rule says the kind of `int` mood");
    let written = [("mpich-written", "int MPI_Send(void *buf, int count, MPI_Datatype datatype);")];
    assert_eq!(message(build(&written, SEND)), "MPI_Send: no rule says the direction of `void *` buf");
    // The rule for the length is for functions that have a count.
    let endless = [("mpich-endless", "int MPI_Send(const void *buf, MPI_Datatype datatype);")];
    assert_eq!(message(build(&endless, SEND)), "MPI_Send: no rule says the length of `const void *` buf");
}

#[test]
fn a_rule_that_nothing_needs_is_an_error() {
    let header = [("mpich-unused", "int MPI_Send(const void *buf, int count, MPI_Datatype datatype);")];
    let rules = format!("{SEND}kind count int - -\n");
    assert_eq!(message(build(&header, &rules)), "rules:10: nothing is left for the rule that says `count`");
}

#[test]
fn headers_may_spell_types_in_other_ways_but_not_pass_others() {
    let newer = "int MPI_Send(const void *buf, int count, MPI_Datatype datatype);";
    let spelled =
        [("mpich-old", "int MPI_Send(void buf[], const int n, MPI_Datatype datatype);"), ("mpich-new", newer)];
    assert!(build(&spelled, SEND).is_ok());
    let other =
        [("mpich-old", "int MPI_Send(void *buf, MPI_Count count, MPI_Datatype datatype);"), ("mpich-new", newer)];
    assert_eq!(
        message(build(&other, SEND)),
        "MPI_Send has `int` for `count` in mpich-new, but `MPI_Count` for `count` in mpich-old"
    );
}

#[test]
fn damaged_pages_name_the_line() {
    for (rules, expected) in [
        ("kind count int -", "rules:1: 4 columns instead of 5"),
        ("kind count int - -", "rules:1: the page does not say what `count` means"),
        ("# head\n\ndirection up int - -", "rules:3: `up` is not a direction"),
        ("shape 1 int - -", "rules:1: `shape` is not a section"),
        ("length 1 int ( -", "rules:1: `(` is not a regular expression"),
    ] {
        assert_eq!(Rules::parse(rules, "rules").err().map(|error| error.to_string()), Some(expected.to_owned()));
    }
}

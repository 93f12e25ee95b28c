//! What a site's configuration does to the command.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod support;

use support::{Fixture, PMPI_TOOL};

/// Two tools in a directory of the site, one elsewhere, and the site's file.
fn site() -> Fixture {
    let fixture = Fixture::with_tools();
    std::fs::create_dir(fixture.path().join("centre")).unwrap();
    for name in ["centre/libmpiP.so", "centre/libdarshan.so"] {
        fixture.library(name, PMPI_TOOL, &[]);
    }
    let text = "stack = [\"mpiP\"]\ninnermost = [\"darshan\"]\nsearch = [\"centre\"]\n\
                [tool.mpiP]\npath = \"centre/libmpiP.so\"\nabout = \"time and calls by call site\"\nenv = { MPIP = \"-k 2\" }\n\
                [tool.darshan]\npath = \"centre/libdarshan.so\"\n";
    fixture.write("site.toml", text);
    fixture
}

/// The variables that `qmpi env` prints.
fn variables(fixture: &Fixture, arguments: &[&str], more: &[(&str, &str)]) -> Vec<(String, String)> {
    let arguments = [&["env", "--shell", "json"], arguments].concat();
    let site = [&[("QMPI_SITE_CONFIG", "site.toml")], more].concat();
    let text = fixture.qmpi_with(arguments, &site).success();
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    object.into_iter().map(|(name, value)| (name, value.as_str().unwrap().to_owned())).collect()
}

fn value(variables: &[(String, String)], name: &str) -> Option<String> {
    variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

#[test]
fn which_stack() {
    let fixture = site();
    let list =
        |arguments: &[&str], more: &[(&str, &str)]| value(&variables(&fixture, arguments, more), "QMPI_TOOL_LIST");
    let [darshan, mpip] = ["darshan", "mpiP"].map(|name| format!("{name}=$DIR/centre/lib{name}.so"));
    let with = |first: &str| Some(format!("{first},{darshan}"));
    assert_eq!(list(&[], &[]), with(&mpip), "the site's stack where nothing is said");
    assert_eq!(
        list(&["-t", "./libtool.so"], &[]),
        with("$DIR/libtool.so"),
        "the user's, above what the site wants innermost"
    );
    assert_eq!(list(&["-t", "mpiP"], &[]), with(&mpip), "a name of the site's");
    assert_eq!(list(&["-t", "darshan,mpiP"], &[]), Some(format!("{darshan},{mpip}")), "where the user put it");
    assert_eq!(list(&[], &[("QMPI_TOOL_LIST", "")]), Some(String::new()), "no tools are no tools");
    fixture.write(
        "own.toml",
        "stack = [\"native\", \"mpiP\"]\ninnermost = []\nsearch = [\".\"]\n[tool.mpiP]\npath = \"libtool.so\"\n",
    );
    assert_eq!(
        list(&["-c", "own.toml"], &[]).as_deref(),
        Some("native=$DIR/libnative.so,mpiP=$DIR/libtool.so"),
        "the user's section and wish win"
    );
}

#[test]
fn processes_read_it_where_a_layer_is_in_it() {
    let fixture = site();
    fixture.write("none.toml", "innermost = []");
    let of = |arguments: &[&str], more: &[(&str, &str)]| {
        let variables = variables(&fixture, arguments, more);
        (value(&variables, "QMPI_SITE_CONFIG"), value(&variables, "QMPI_CONFIG"))
    };
    assert_eq!(of(&["-t", "mpiP"], &[]), (Some("$DIR/site.toml".into()), None));
    assert_eq!(of(&["-t", "./libtool.so", "-c", "none.toml"], &[]), (None, Some("$DIR/none.toml".into())));
}

#[test]
fn files_of_the_user() {
    let fixture = site();
    std::fs::create_dir_all(fixture.path().join("home/.config/qmpi")).unwrap();
    fixture.write("home/.config/qmpi/config.toml", "search = [\"../../../centre\"]\n");
    let home = fixture.path().join("home");
    // Without the variable.
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_qmpi"));
    command.env_clear().env("HOME", &home).args(["tools", "--json"]);
    let tools: serde_json::Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"darshan") && names.contains(&"mpiP"), "{names:?}");
}

#[test]
fn only_what_is_allowed() {
    let fixture = site();
    let text = std::fs::read_to_string(fixture.path().join("site.toml")).unwrap();
    fixture.write("site.toml", format!("allowed = [\"centre\"]\n{text}"));
    let with = [("QMPI_SITE_CONFIG", "site.toml")];
    fixture.qmpi_with(["env", "-t", "mpiP"], &with).success();
    let refused = fixture.qmpi_with(["env", "-t", "./libtool.so"], &with);
    refused.failure(3, "tool `libtool.so`: $DIR/libtool.so is in none of the directories that `allowed` of the site's");
    // Neither a link nor a file of the user's leads around it.
    std::os::unix::fs::symlink("../libtool.so", fixture.path().join("centre/liblinked.so")).unwrap();
    assert_eq!(fixture.qmpi_with(["env", "-t", "linked"], &with).status, 3);
    fixture.write("own.toml", "allowed = [\"/\"]\n[tool.x]\npath = \"libtool.so\"\n");
    assert_eq!(fixture.qmpi_with(["env", "-c", "own.toml", "-t", "x"], &with).status, 3);
}

#[test]
fn tools_by_name() {
    let fixture = site();
    std::fs::remove_file(fixture.path().join("centre/libdarshan.so")).unwrap();
    std::fs::copy(fixture.path().join("libtool.so"), fixture.path().join("centre/libother.so.2")).unwrap();
    let text = fixture.qmpi_with(["tools"], &[("QMPI_SITE_CONFIG", "site.toml")]).success();
    let expected = "darshan  $DIR/centre/libdarshan.so  (missing)\n\
                    mpiP     time and calls by call site\n         $DIR/centre/libmpiP.so\n\
                    other    $DIR/centre/libother.so.2\n";
    assert_eq!(text, expected);
    assert!(fixture.qmpi(["tools"]).success().starts_with("no tool is known by name"));
    let broken = fixture.write("broken.toml", "stak = []");
    let refused = fixture.qmpi_with(["run", "true"], &[("QMPI_SITE_CONFIG", broken.to_str().unwrap())]);
    refused.failure(3, "$DIR/broken.toml:1: unknown key `stak`");
}

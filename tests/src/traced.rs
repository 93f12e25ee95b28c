//! A stack of one tool that notes every call of every rank in a file, and jobs under it: which ranks have the stack?

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;

use crate::{Outcome, product, wheel};

/// Like ssh, it takes nothing of the environment along. The host comes first; hydra puts an option of ssh before it.
const REMOTE_SHELL: &str = "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nshift\nexec env -i PATH=\"$PATH\" HOME=\"$HOME\" FAR=yes sh -c \"$*\"\n";

/// The stack, and a directory for what belongs to it.
#[derive(Debug)]
pub struct Traced {
    directory: tempfile::TempDir,
}

impl Traced {
    /// With `legacy-tools/order.c` as built for some MPI. Its settings are in the configuration file, so that they get wherever
    /// the stack gets.
    ///
    /// # Errors
    /// Files that cannot be written.
    pub fn new(order: &Path) -> Result<Traced, Failed> {
        let traced = Traced { directory: tempfile::tempdir()? };
        let text = format!(
            "stack = [\"order\"]\n[tool.order]\npath = {order:?}\nenv = {{ ORDER_FILE = {:?}, ORDER_RANK = \"all\" }}\n",
            traced.path("trace")
        );
        std::fs::write(traced.path("qmpi.toml"), text)?;
        traced.script("remote_shell", REMOTE_SHELL)?;
        Ok(traced)
    }

    /// A file of the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A file of the directory, as a word of a command line.
    pub fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Writes a program of the directory.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn script(&self, name: &str, text: &str) -> Result<String, Failed> {
        std::fs::write(self.path(name), text)?;
        std::fs::set_permissions(self.path(name), PermissionsExt::from_mode(0o755))?;
        Ok(self.text(name))
    }

    /// `qmpi COMMAND` with the stack.
    pub fn qmpi(&self, command: &str) -> Vec<String> {
        [product::command().display().to_string(), command.into(), "-c".into(), self.text("qmpi.toml")].to_vec()
    }

    /// `qmpi run` with the stack.
    pub fn qmpi_run(&self) -> Vec<String> {
        [self.qmpi("run"), vec!["--".into()]].concat()
    }

    /// Runs a command line that is made of these parts; fails unless the program ended well and so many ranks had the stack.
    ///
    /// # Errors
    /// What was seen instead, and all of the output.
    pub fn expect(&self, parts: &[&[String]], env: &[(&str, String)], with_stack: usize) -> Result<Outcome, Failed> {
        // What an earlier run left.
        let _ = std::fs::remove_file(self.path("trace"));
        let outcome = wheel::run(&parts.concat(), env);
        let trace = std::fs::read_to_string(self.path("trace")).unwrap_or_default();
        let ranks = trace.lines().filter(|line| *line == "enter order MPI_Init").count();
        if outcome.status == 0 && outcome.stdout.lines().any(|line| line == "done") && ranks == with_stack {
            return Ok(outcome);
        }
        Err(format!("{ranks} ranks with the stack, not {with_stack}\n{}", outcome.report()).into())
    }

    /// [`Traced::expect`], and not a word of ours.
    ///
    /// # Errors
    /// As there.
    pub fn expect_silent(&self, parts: &[&[String]], env: &[(&str, String)], with_stack: usize) -> Result<(), Failed> {
        let outcome = self.expect(parts, env, with_stack)?;
        if outcome.said().is_empty() { Ok(()) } else { Err(format!("not silent\n{}", outcome.report()).into()) }
    }
}

/// The words of a line.
pub fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

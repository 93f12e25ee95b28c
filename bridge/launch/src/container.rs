//! A container in COMMAND: `apptainer exec IMAGE ...`, `singularity exec`, `docker run`, `podman run`. Which paths of the host it has, by its
//! options, and what of a stack is not among them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use qmpi_plan::launcher::Line;
use qmpi_plan::variable;

use crate::launcher;
use crate::shell::quote_if_needed;
use crate::wrapper::{self, OptionsWithValue};

/// A container that COMMAND starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// The command: `apptainer`, `docker`.
    pub name: String,
    /// Directories and files of the host, and where each is in the container.
    binds: Vec<(PathBuf, PathBuf)>,
    /// The image, if that is a directory.
    directory: Option<PathBuf>,
    /// Variables that the command line passes by their names.
    variables: Vec<String>,
    /// Does it pass on all variables of its environment?
    passes_variables: bool,
    kind: &'static Engine,
}

#[derive(Debug, PartialEq, Eq)]
struct Engine {
    names: &'static [&'static str],
    /// Subcommands that start a container.
    starts: &'static [&'static str],
    /// Options with a value.
    options: OptionsWithValue,
    /// The option that makes a path of the host visible.
    bind: &'static str,
    /// The option that passes a variable on.
    variable: &'static str,
}

/// By `apptainer exec --help` (1.3) and `singularity exec --help` (3.8).
static APPTAINER: Engine = Engine {
    names: &["apptainer", "singularity"],
    starts: &["exec", "run", "shell", "test"],
    options: OptionsWithValue {
        letters: "BHSWo",
        long: "\
            add-caps app apply-cgroups authfile bind cpu-shares cpus cpuset-cpus cpuset-mems cwd dns docker-host \
            drop-caps env env-file fusemount home hostname memory memory-reservation memory-swap mount network \
            network-args no-mount oom-kill-disable overlay pem-path pids-limit pwd scratch security workdir",
    },
    bind: "--bind",
    variable: "--env",
};

/// By `docker run --help` and `podman run --help`.
static DOCKER: Engine = Engine {
    names: &["docker", "podman"],
    starts: &["run", "create"],
    options: OptionsWithValue {
        letters: "acehlmpuvw",
        long: "\
            add-host annotation attach cap-add cap-drop cgroup-parent cgroupns cidfile cpu-period cpu-quota \
            cpu-shares cpus cpuset-cpus cpuset-mems device dns dns-search entrypoint env env-file expose gpus \
            group-add hostname ip ipc label link log-driver log-opt mac-address memory memory-swap mount name net \
            network network-alias pid pids-limit platform publish pull restart runtime security-opt shm-size \
            stop-signal storage-opt sysctl tmpfs ulimit user userns uts volume volumes-from workdir",
    },
    bind: "-v",
    variable: "-e",
};

/// The container that COMMAND starts, in front of a launcher or behind one, if there is one.
pub fn find(command: &[OsString], get: &dyn Fn(&str) -> Option<OsString>) -> Option<Container> {
    let first = wrapper::commands(command).find_map(|index| Container::parse(&command[index..], get));
    first.or_else(|| {
        let found = launcher::find(command, get("PATH").as_deref())?;
        let args = found.args(command);
        let options = Line { launcher: found.launcher, args: &args, get: &|_| None }.options().next()?.len();
        find(command.get(found.index + 1 + options..)?, get)
    })
}

impl Container {
    fn parse(command: &[OsString], get: &dyn Fn(&str) -> Option<OsString>) -> Option<Container> {
        let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let name = Path::new(words.first()?).file_name()?.to_str()?.to_owned();
        let kind = [&APPTAINER, &DOCKER].into_iter().find(|kind| kind.names.contains(&name.as_str()))?;
        let start = words.iter().position(|word| kind.starts.contains(&word.as_str()))?;
        let mut container =
            Container { name, binds: Vec::new(), directory: None, variables: Vec::new(), passes_variables: true, kind };
        let mut is_contained = false;
        let mut has_home = true;
        let mut index = start + 1;
        while let Some(word) = words.get(index).filter(|word| word.starts_with('-') && word.len() > 1) {
            index += 1;
            let (option, mut value) = match word.split_once('=') {
                Some((option, value)) if word.starts_with("--") => (option, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            if value.is_none() && kind.options.takes_next(option) {
                value = words.get(index).cloned();
                index += 1;
            } else if let Some(joined) = kind.joined(option) {
                value = Some(joined.to_owned());
            }
            container.option(option, value.as_deref().unwrap_or_default());
            is_contained |= matches!(option, "--contain" | "--containall" | "-c" | "-C");
            has_home &= option != "--no-home";
        }
        if kind == &DOCKER {
            container.passes_variables = false;
            return Some(container);
        }
        let image = Path::new(words.get(index)?);
        container.directory = image.is_dir().then(|| image.to_owned());
        for variable in ["APPTAINER_BIND", "APPTAINER_BINDPATH", "SINGULARITY_BIND", "SINGULARITY_BINDPATH"] {
            container.bind_list(&get(variable).unwrap_or_default().to_string_lossy());
        }
        if !is_contained {
            let home = get("HOME").filter(|_| has_home).map(PathBuf::from);
            // The root directory is the image's.
            let here = std::env::current_dir().ok().filter(|path| path.parent().is_some());
            let all = [home, here, Some("/tmp".into()), Some("/var/tmp".into())].into_iter().flatten();
            container.binds.extend(all.map(|path| (path.clone(), path)));
        }
        Some(container)
    }

    fn option(&mut self, option: &str, value: &str) {
        let short = option.get(..2).unwrap_or(option);
        let is_apptainer = self.kind == &APPTAINER;
        match (is_apptainer, option, short) {
            (true, "--bind", _) | (true, _, "-B") => self.bind_list(value),
            (false, "--volume", _) | (false, _, "-v") => self.bind(value),
            (_, "--mount", _) => self.mount(value),
            (true, "--cleanenv" | "--containall" | "-e" | "-C", _) => self.passes_variables = false,
            (true, "--env", _) => {
                self.variables.extend(value.split(',').filter_map(|pair| pair.split('=').next()).map(str::to_owned));
            }
            (false, "--env", _) | (false, _, "-e") => {
                self.variables.extend(value.split('=').next().map(str::to_owned));
            }
            _ => {}
        }
    }

    /// `SOURCE[:TARGET[:OPTIONS]]`, several separated by `,`.
    fn bind_list(&mut self, value: &str) {
        value.split(',').for_each(|bind| self.bind(bind));
    }

    fn bind(&mut self, value: &str) {
        let mut parts = value.split(':');
        let Some(host) = parts.next().filter(|host| host.starts_with('/')) else { return };
        let guest = parts.next().filter(|guest| guest.starts_with('/')).unwrap_or(host);
        self.binds.push((host.into(), guest.into()));
    }

    /// `type=bind,source=SOURCE,target=TARGET`
    fn mount(&mut self, value: &str) {
        let field = |names: &[&str]| {
            let mut fields = value.split(',').filter_map(|field| field.split_once('='));
            fields.find(|(name, _)| names.contains(name)).map(|(_, value)| PathBuf::from(value))
        };
        let guest = field(&["target", "destination", "dst"]);
        self.binds.extend(field(&["source", "src"]).zip(guest));
    }

    /// Is the file of the host there, under the same path?
    pub fn has(&self, path: &Path) -> bool {
        let in_image = self.directory.as_ref().zip(path.strip_prefix("/").ok());
        let is_bound = |(host, guest): &(PathBuf, PathBuf)| {
            path.strip_prefix(guest).is_ok_and(|rest| host == guest || host.join(rest).exists())
        };
        // The last option that covers a path holds; an earlier one can only be hidden by it, which is rare enough.
        self.binds.iter().any(is_bound) || in_image.is_some_and(|(image, rest)| image.join(rest).exists())
    }

    /// The directories that have these files and are not there, none below another.
    pub fn lacks(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let missing = paths.iter().filter(|path| !self.has(path)).filter_map(|path| path.parent());
        let mut directories: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        directories.sort();
        directories.dedup();
        let all = directories.clone();
        directories.retain(|path| !all.iter().any(|other| other != path && path.starts_with(other)));
        directories
    }

    /// The options that make these directories visible.
    pub fn bind_options(&self, directories: &[PathBuf]) -> String {
        let option = |directory: &PathBuf| {
            let path = directory.display();
            let value = if self.kind == &DOCKER { format!("{path}:{path}") } else { path.to_string() };
            format!("{} {}", self.kind.bind, quote_if_needed(&value))
        };
        directories.iter().map(option).collect::<Vec<_>>().join(" ")
    }

    /// The options that pass these variables on. Some want the value: itself, as the shell that reads the option has no such variable yet, and
    /// without a comma, at which they are cut into several; tools may be separated by colons as well.
    pub fn variable_options(&self, variables: &[(&str, &str)]) -> String {
        let option = |(name, value): &(&str, &str)| {
            if self.kind == &DOCKER {
                format!("{} {name}", self.kind.variable)
            } else {
                let value = if *name == variable::TOOL_LIST { value.replace(',', ":") } else { (*value).to_owned() };
                format!("{} {}", self.kind.variable, quote_if_needed(&format!("{name}={value}")))
            }
        };
        variables.iter().map(option).collect::<Vec<_>>().join(" ")
    }

    /// Of these variables, those that do not get into the container.
    pub fn drops<'a>(&self, names: &[&'a str]) -> Vec<&'a str> {
        let is_dropped = |name: &&&str| !self.passes_variables && !self.variables.iter().any(|passed| passed == **name);
        names.iter().filter(is_dropped).copied().collect()
    }
}

impl Engine {
    /// The value behind the letter, in one word.
    fn joined<'a>(&self, option: &'a str) -> Option<&'a str> {
        let letters = option.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
        letters.strip_prefix(|letter| self.options.letters.contains(letter)).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str, environment: &[(&str, &str)]) -> Option<Container> {
        let command: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let get = |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        find(&command, &get)
    }

    fn lacks(line: &str, paths: &[&str]) -> Vec<String> {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let container = found(line, &[("HOME", "/home/me")]).unwrap();
        container.lacks(&paths).iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn what_is_bound() {
        let paths = ["/opt/qmpi/lib/libqmpi.so", "/opt/qmpi/lib/sub/x.so", "/home/me/tool.so", "/sw/t.so"];
        assert_eq!(lacks("apptainer exec i.sif ./app", &paths), ["/opt/qmpi/lib", "/sw"]);
        assert_eq!(lacks("apptainer exec --bind /opt/qmpi,/sw:/sw:ro i.sif ./app", &paths), [""; 0]);
        assert_eq!(lacks("apptainer -d exec -B /opt --contain i.sif ./app", &paths), ["/home/me", "/sw"]);
        assert_eq!(lacks("singularity exec --bind=/opt --no-home i.sif ./app", &paths), ["/home/me", "/sw"]);
        assert_eq!(lacks("apptainer exec --mount type=bind,src=/opt,dst=/opt --pwd /x i.sif ./app", &paths), ["/sw"]);
        assert_eq!(lacks("docker run --rm -it -v /opt:/opt -v/sw:/sw image ./app", &paths), ["/home/me"]);
        assert_eq!(
            lacks("podman run --mount type=bind,source=/sw,target=/sw image ./app", &paths),
            ["/home/me", "/opt/qmpi/lib"]
        );
        // The same directory elsewhere, where the file is not.
        assert_eq!(lacks("docker run -v /nowhere:/sw image ./app", &["/sw/t.so"]), ["/sw"]);
    }

    #[test]
    fn where_a_container_is_started() {
        assert!(found("nice -n 5 apptainer exec i.sif ./app", &[]).is_some());
        assert!(found("grep apptainer exec", &[]).is_none());
        assert!(found("apptainer --version", &[]).is_none());
        let bound = found("apptainer exec i.sif ./app --bind /opt", &[("APPTAINER_BIND", "/data,/a:/b")]).unwrap();
        assert!(bound.has(Path::new("/data/x")) && !bound.has(Path::new("/opt/x")));
    }

    #[test]
    fn variables() {
        let names = ["LD_PRELOAD", "QMPI_TOOL_LIST"];
        assert_eq!(found("apptainer exec i.sif ./app", &[]).unwrap().drops(&names), [""; 0]);
        assert_eq!(found("apptainer exec --cleanenv i.sif ./app", &[]).unwrap().drops(&names), names);
        let docker = found("docker run -e LD_PRELOAD --env=X=1 image", &[]).unwrap();
        assert_eq!(docker.drops(&names), ["QMPI_TOOL_LIST"]);
        assert_eq!(docker.variable_options(&[("A", "1"), ("B", "2")]), "-e A -e B");
        let clean = found("apptainer exec --cleanenv --env A=1,LD_PRELOAD=/q/l.so a.sif", &[]).unwrap();
        assert_eq!(clean.drops(&["LD_PRELOAD", "QMPI_TOOL_LIST"]), ["QMPI_TOOL_LIST"]);
        let options = clean.variable_options(&[("QMPI_TOOL_LIST", "a=/x,b=/y")]);
        assert_eq!(options, "--env QMPI_TOOL_LIST=a=/x:b=/y");
        assert_eq!(docker.bind_options(&["/a".into(), "/b c".into()]), "-v /a:/a -v '/b c:/b c'");
        assert_eq!(clean.bind_options(&["/a".into(), "/b c".into()]), "--bind /a --bind '/b c'");
    }
}

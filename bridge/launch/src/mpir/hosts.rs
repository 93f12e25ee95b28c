//! The hosts of a job, as far as the command line and the environment name them, and the addresses of this host that they reach it by.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};

use qmpi_plan::launcher::Line;

use crate::launcher;

/// Options of launchers, with one hyphen or two, that are followed by names of hosts.
const HOSTS: [&str; 5] = ["hosts", "host", "H", "w", "nodelist"];
/// Options that are followed by a file with a host in each line.
const FILES: [&str; 5] = ["f", "hostfile", "machinefile", "default-hostfile", "rankfile"];
/// Variables with names of hosts.
const LISTS: [&str; 3] = ["SLURM_JOB_NODELIST", "SLURM_NODELIST", "LSB_HOSTS"];
/// Variables with the name of a file of hosts.
const LISTED_IN: [&str; 4] = ["HYDRA_HOST_FILE", "PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "PE_HOSTFILE"];

/// The names of hosts that the job may run on; this one may be among them.
pub fn of_job(line: Option<&Line<'_>>, get: &dyn Fn(&str) -> Option<OsString>) -> BTreeSet<String> {
    let text = |name: &str| get(name).map(|value| value.to_string_lossy().into_owned());
    let mut hosts: BTreeSet<String> =
        LISTS.iter().filter_map(|name| text(name)).flat_map(|list| expand(&list)).collect();
    hosts.extend(LISTED_IN.iter().filter_map(|name| text(name)).flat_map(|file| of_file(&file)));
    if let Some(line) = line {
        hosts.extend(launcher::option_values(line, &HOSTS).into_iter().flat_map(expand));
        hosts.extend(launcher::option_values(line, &FILES).into_iter().flat_map(of_file));
    }
    hosts
}

/// The addresses of this host that those hosts reach it by; none if all of them are this host.
pub fn addresses(hosts: &BTreeSet<String>) -> Vec<IpAddr> {
    let routes = hosts.iter().filter_map(|host| route(host));
    // To itself, a host comes from the address that it goes to.
    let own = routes.filter(|(from, to)| from != to && !from.is_loopback()).map(|(from, _)| from);
    own.collect::<BTreeSet<IpAddr>>().into_iter().collect()
}

/// From which of this host's addresses to which one packets go to the host. Nothing is sent.
fn route(host: &str) -> Option<(IpAddr, IpAddr)> {
    let to = (host, 9).to_socket_addrs().ok()?.next()?;
    let any: IpAddr = if to.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(to).ok()?;
    Some((socket.local_addr().ok()?.ip(), to.ip()))
}

/// The first word of each line: hydra and Open MPI write `host:4` and `host slots=4`.
fn of_file(path: &str) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_whitespace().next()).flat_map(expand).collect()
}

/// A list of hosts: `a,b:2`, and as Slurm writes them, `n[1-3,07]`.
fn expand(list: &str) -> Vec<String> {
    let mut depth = 0;
    let elements = list.split(|letter: char| {
        depth += i32::from(letter == '[') - i32::from(letter == ']');
        depth <= 0 && (letter == ',' || letter.is_whitespace())
    });
    elements.flat_map(expand_brackets).filter(|host| !host.is_empty()).collect()
}

fn expand_brackets(element: &str) -> Vec<String> {
    let Some((before, rest)) = element.split_once('[') else {
        return vec![element.split(':').next().unwrap_or(element).to_owned()];
    };
    let Some((numbers, after)) = rest.split_once(']') else { return Vec::new() };
    let mut hosts = Vec::new();
    for range in numbers.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (Ok(from), Ok(to)) = (first.parse::<u32>(), last.parse::<u32>()) else { continue };
        // No list is as long.
        for number in from..=to.min(from.saturating_add(1 << 16)) {
            hosts.extend(expand_brackets(&format!("{before}{number:0width$}{after}", width = first.len())));
        }
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;
    use qmpi_plan::Launcher;

    #[test]
    fn lists_of_hosts() {
        assert_eq!(expand("a,b:2, c"), ["a", "b", "c"]);
        assert_eq!(expand("n[08-10,3]x,m"), ["n08x", "n09x", "n10x", "n3x", "m"]);
        assert_eq!(expand("r[1-2]n[1-2]"), ["r1n1", "r1n2", "r2n1", "r2n2"]);
        assert!(expand("n[").is_empty() && expand("").is_empty());
    }

    #[test]
    fn hosts_of_a_command_line() {
        let none = |_: &str| None;
        let of = |launcher, line: &str| {
            let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
            of_job(Some(&Line { launcher, args: &args, get: &none }), &none).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(of(Launcher::Hydra, "-hosts a,b -n 2 ./x -hosts c"), ["a", "b"]);
        assert_eq!(of(Launcher::Orte, "-H a:2 -n 1 ./x : --host b ./y"), ["a", "b"]);
        assert!(of(Launcher::Hydra, "-n 2 ./x").is_empty());
    }

    #[test]
    fn this_host_needs_no_network() {
        let hosts = ["localhost", "127.0.0.1"].map(str::to_owned).into_iter().collect();
        assert!(addresses(&hosts).is_empty());
        // An address that nothing has; without a route to it there is none either.
        let other = addresses(&["192.0.2.1".to_owned()].into_iter().collect());
        assert!(other.iter().all(|address| !address.is_loopback() && !address.is_unspecified()), "{other:?}");
    }
}

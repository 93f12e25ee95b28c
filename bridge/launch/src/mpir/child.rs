//! The launcher as this process's child: what happens to one of them happens to the other.
//!
//! Both are in one process group: what the terminal sends (^C, ^Z, its end) goes to both, and is not passed on. What another process
//! sends to this one alone is. When the launcher stops, this process stops, so that the shell sees the job stop; it ends as the launcher ends.
//! What a debugger leaves behind that is killed, or goes without cleaning up (a breakpoint, a single step), ends neither of them.
#![expect(unsafe_code, reason = "signals")]

use std::ffi::{OsString, c_int};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::OnceLock;

use libc::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_parent_process_death_signal, waitpid};

use crate::LaunchError;
use crate::environment::EnvironmentVariable;

/// What is passed on. SIGCHLD and what ends a process by an error are its own.
const PASSED_ON: [c_int; 8] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT];

/// Where the handler writes to.
static PIPE: OnceLock<OwnedFd> = OnceLock::new();

/// A byte for each signal: its number, with [`OF_TERMINAL`] if the kernel sent it to the whole group.
extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel hands a valid description to the handler.
    let code = unsafe { (*info).si_code };
    let of_terminal = if code == libc::SI_KERNEL { OF_TERMINAL } else { 0 };
    let byte = u8::try_from(signal).unwrap_or(0) | of_terminal;
    if let Some(pipe) = PIPE.get() {
        // rustix makes the system call itself, so `errno` stays as it is. A full pipe has enough to wake the reader up.
        let _ = rustix::io::write(pipe, &[byte]);
    }
}

const OF_TERMINAL: u8 = 0x80;

/// Signals of this process, to be read one after the other.
pub(super) struct Signals(pub(super) OwnedFd);

impl Signals {
    /// Handles signals from now on, but for those that this process was told to ignore (`nohup`). Of SIGTRAP a debugger has the first
    /// sight; what comes here is of one that is gone.
    ///
    /// # Errors
    /// Of `pipe`.
    pub(super) fn handle() -> io::Result<Signals> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        PIPE.get_or_init(|| writer);
        for signal in PASSED_ON.into_iter().chain([libc::SIGCHLD, libc::SIGTRAP]) {
            // SAFETY: `sigaction` consists of numbers, a set of bits and an optional pointer: all zeros are a value of it.
            let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
            // SAFETY: the call only writes the action of the signal to `action`.
            unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
            if action.sa_sigaction == libc::SIG_IGN && PASSED_ON.contains(&signal) {
                continue;
            }
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            // SAFETY: the handler has the type that SA_SIGINFO asks for, and does what a handler may.
            unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
        }
        Ok(Signals(reader))
    }

    /// Passes on what has come.
    pub(super) fn pass_on(&self, child: &Child) {
        let mut bytes = [0_u8; 64];
        while let Ok(count @ 1..) = rustix::io::read(&self.0, &mut bytes) {
            for byte in &bytes[..count] {
                let signal = i32::from(byte & !OF_TERMINAL);
                if byte & OF_TERMINAL == 0
                    && PASSED_ON.contains(&signal)
                    && let Some(signal) = Signal::from_named_raw(signal)
                {
                    // It may be gone.
                    let _ = kill_process(Pid::from_child(child), signal);
                }
            }
        }
    }
}

/// Starts the launcher, with this process's signals handled. It is told to end if this process is killed.
///
/// # Errors
/// Of the start; [`LaunchError::Mpir`].
pub(super) fn start(command: &[OsString], variables: &[EnvironmentVariable]) -> Result<(Signals, Child), LaunchError> {
    let Some((program, args)) = command.split_first() else {
        return Err(LaunchError::CommandNotFound(String::new()));
    };
    let signals = Signals::handle().map_err(LaunchError::Mpir)?;
    let own = rustix::process::getpid();
    let mut command = Command::new(program);
    command.args(args).envs(variables.iter().map(|variable| (variable.name, &variable.value)));
    let before_exec = move || {
        set_parent_process_death_signal(Some(Signal::TERM))?;
        // This process may be gone already.
        if rustix::process::getppid() != Some(own) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes two system calls, and touches no memory of others.
    unsafe { command.pre_exec(before_exec) };
    let child = command.spawn().map_err(|source| LaunchError::of_start(program, source))?;
    Ok((signals, child))
}

/// Runs a command to its end.
///
/// # Errors
/// One that cannot be started; [`LaunchError::Mpir`].
pub fn run(command: &[OsString], variables: &[EnvironmentVariable]) -> Result<ExitStatus, LaunchError> {
    let (signals, child) = start(command, variables)?;
    loop {
        if let Some(status) = look_at(&child) {
            return Ok(status);
        }
        // A signal interrupts it, or has left a byte.
        let _ = poll(&mut [PollFd::new(&signals.0, PollFlags::IN)], None);
        signals.pass_on(&child);
    }
}

/// What has become of the launcher: its status at its end. As long as it is stopped, so is this process.
pub(super) fn look_at(child: &Child) -> Option<ExitStatus> {
    while let Ok(Some((_, status))) = waitpid(Some(Pid::from_child(child)), WaitOptions::NOHANG | WaitOptions::UNTRACED)
    {
        if !status.stopped() {
            return Some(ExitStatus::from_raw(status.as_raw()));
        }
        // The shell sees its own child stop. It goes on with the whole group.
        let _ = kill_process(rustix::process::getpid(), Signal::STOP);
    }
    None
}

/// Ends as the launcher did.
pub fn end_as(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal() {
        let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
        // The launcher has left a core file, if there is to be one.
        let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
        // SAFETY: the default action takes the place of the handler, and runs no code of this process.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        // SAFETY: `raise` takes any number, and touches no memory.
        unsafe { libc::raise(signal) };
    }
    std::process::exit(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

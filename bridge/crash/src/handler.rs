//! The handler of all signals of a crash.
//!
//! | the process wants | what happens |
//! |---|---|
//! | a handler of its own | that is called. One that never comes back (`siglongjmp`) has dealt with the fault, and nothing is said |
//! | the same, and it returns | the thread goes on where the fault was; if it faults again, this handler runs again |
//! | the same, and it comes from `abort` | `abort` ends the process all the same: the report is made |
//! | the same, and it ends the process | the report is made then (`exits.rs`) |
//! | the same, and it faults itself | the report is made: a fault that is blocked ends the process |
//! | the default | the report is made, the kernel gets the default back, and the thread faults once more |
#![expect(unsafe_code, reason = "a signal handler")]

use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use libc::{SIG_DFL, SIG_IGN, siginfo_t, ucontext_t};
use qmpi_ring::arch::registers::{INSTRUCTION, STACK_POINTER};
use qmpi_ring::crash::{Condition, Crash};

use crate::blocked::Handler;
use crate::report::Outcome;
use crate::{actions, arch, blocked, line, report};

/// A fault in which a page of memory has turned out to be damaged, and that does not come back (asm-generic/siginfo.h).
const BUS_MCEERR_AO: c_int = 5;
/// As long as another thread may take for its report, in tenths of seconds.
const PATIENCE: u32 = 300;

/// What a handler of the process was called for.
static FAULT: Fault =
    Fault { signal: AtomicI32::new(0), code: AtomicI32::new(0), address: AtomicU64::new(0), place: AtomicU64::new(0) };
/// The thread that makes a report.
static REPORTING: AtomicI32 = AtomicI32::new(0);
/// There is one.
static DONE: AtomicBool = AtomicBool::new(false);

struct Fault {
    signal: AtomicI32,
    code: AtomicI32,
    address: AtomicU64,
    /// The instruction.
    place: AtomicU64,
}

type Function = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

pub(crate) extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let errno = Errno::keep();
    let action = actions::of(signal);
    let crash = describe(signal, info, context);
    let is_nested = blocked::is_in_handler(crash.thread, crash.registers[STACK_POINTER]);
    let is_blocked = is_nested && blocked::is_blocked(signal);
    if is_blocked && !comes_back(signal, crash.code) {
        return blocked::wait(signal, info);
    }
    let has_room = action.sa_flags & libc::SA_ONSTACK != 0 || has_room(&crash);
    if [SIG_DFL, SIG_IGN].contains(&action.sa_sigaction) || is_blocked || !has_room {
        report_once(&FAULT.meant_by(crash), Condition::Always);
        actions::give_back(signal);
        if !comes_back(signal, crash.code) {
            // SAFETY: the signal is sent to this thread once more, with what the kernel said of it.
            unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, crash.process, crash.thread, signal, info) };
        }
        return;
    }
    if action.sa_flags & libc::SA_RESETHAND != 0 {
        actions::reset(signal);
    }
    FAULT.keep(&crash);
    let called = Handler::begin(crash.thread, (&raw const crash).addr(), signal, &action, is_nested);
    errno.restore();
    // SAFETY: what the process has set; one without SA_SIGINFO takes the first argument.
    let handler = unsafe { transmute::<usize, Function>(action.sa_sigaction) };
    handler(signal, info, context);
    let errno = Errno::keep();
    called.end(crash.process, crash.thread);
    errno.restore();
    if signal == libc::SIGABRT && crash.code == libc::SI_TKILL {
        let errno = Errno::keep();
        report_once(&crash, Condition::InAbort);
        errno.restore();
    }
}

/// The process ends; if a handler does that, the crash is reported.
pub(crate) fn process_ends() {
    // SAFETY: no requirements.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
    if !blocked::may_be_in_handler(thread) || DONE.load(Ordering::Acquire) {
        return;
    }
    let mut crash = Crash { thread, ..FAULT.get() };
    crash.registers = arch::here();
    report_once(&crash, Condition::InHandler);
}

/// Will the thread fault again, where it goes on?
const fn comes_back(signal: c_int, code: c_int) -> bool {
    code > 0 && !(signal == libc::SIGBUS && code == BUS_MCEERR_AO)
}

/// Makes a report, unless one was made. Of several threads that crash at once the first has its report, and the others wait for it.
fn report_once(crash: &Crash, condition: Condition) {
    let others = REPORTING.compare_exchange(0, crash.thread, Ordering::AcqRel, Ordering::Acquire);
    if let Err(other) = others {
        if other != crash.thread {
            wait_for_report();
        }
        return;
    }
    if !DONE.load(Ordering::Acquire) {
        match report::make(&Crash { condition: condition as u32, ..*crash }) {
            Outcome::Made => DONE.store(true, Ordering::Release),
            Outcome::NotMeant => {}
            Outcome::Failed if condition != Condition::Always => {}
            Outcome::Failed => {
                line::write(crash);
                DONE.store(true, Ordering::Release);
            }
        }
    }
    REPORTING.store(0, Ordering::Release);
}

fn wait_for_report() {
    for _ in 0..PATIENCE {
        if REPORTING.load(Ordering::Acquire) == 0 {
            return;
        }
        let tenth = libc::timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        // SAFETY: a duration of this function's.
        unsafe { libc::nanosleep(&raw const tenth, core::ptr::null_mut()) };
    }
}

/// Does the kernel find room for a handler on the stack of the thread? If not, it ends the process instead of calling a handler that is
/// not meant for another stack (`signal.c` of the kernel).
fn has_room(crash: &Crash) -> bool {
    let place = crash.registers[STACK_POINTER].wrapping_sub(arch::FRAME) & !15;
    // A system call that writes a mask there, and changes nothing: it fails where that cannot be written.
    // SAFETY: below the red zone nobody keeps anything.
    let failed = unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, core::ptr::null::<c_void>(), place, size_of::<u64>())
    };
    failed == 0
}

fn describe(signal: c_int, info: *mut siginfo_t, context: *mut c_void) -> Crash {
    // SAFETY: no requirements.
    let process = unsafe { libc::getpid() };
    // SAFETY: as above.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
    // SAFETY: the kernel's, or what another handler was called with.
    let info = unsafe { info.as_ref() };
    let code = info.map_or(0, |info| info.si_code);
    let is_sent = code <= 0;
    // SAFETY: for these signals the address is there, or the sender in its place.
    let address = info.map_or(0, |info| unsafe { info.si_addr() }.addr() as u64);
    // SAFETY: as above.
    let sender = info.map_or(0, |info| unsafe { info.si_pid() });
    let mut crash = Crash {
        signal,
        code,
        process,
        thread,
        address: if is_sent { 0 } else { address },
        sender: if is_sent { sender } else { 0 },
        ..Crash::EMPTY
    };
    // SAFETY: as for `info`.
    if let Some(context) = unsafe { context.cast::<ucontext_t>().as_ref() } {
        crash.registers = arch::in_context(context);
    }
    crash
}

impl Fault {
    fn keep(&self, crash: &Crash) {
        self.signal.store(crash.signal, Ordering::Relaxed);
        self.code.store(crash.code, Ordering::Relaxed);
        self.address.store(crash.address, Ordering::Relaxed);
        self.place.store(crash.registers[INSTRUCTION], Ordering::Relaxed);
    }

    fn get(&self) -> Crash {
        Crash {
            signal: self.signal.load(Ordering::Relaxed),
            code: self.code.load(Ordering::Relaxed),
            address: self.address.load(Ordering::Relaxed),
            // SAFETY: no requirements.
            process: unsafe { libc::getpid() },
            ..Crash::EMPTY
        }
    }

    /// A handler may have dealt with a fault by sending the signal again, which arrives where the fault was.
    fn meant_by(&self, crash: Crash) -> Crash {
        let known = self.get();
        let is_sent = crash.code <= 0 && crash.sender == crash.process;
        let is_there = self.place.load(Ordering::Relaxed) == crash.registers[INSTRUCTION];
        if is_sent && is_there && known.signal == crash.signal && known.code > 0 {
            return Crash { code: known.code, address: known.address, ..crash };
        }
        crash
    }
}

/// `errno` of the thread, which system calls of this library change.
struct Errno(c_int);

impl Errno {
    fn keep() -> Errno {
        // SAFETY: the thread's variable.
        Errno(unsafe { Errno::place().read() })
    }

    fn restore(&self) {
        // SAFETY: the thread's variable.
        unsafe { Errno::place().write(self.0) };
    }

    fn place() -> *mut c_int {
        // SAFETY: no requirements.
        unsafe { libc::__errno_location() }
    }
}

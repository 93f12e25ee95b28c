//! The report: `qmpi` is started, asks for memory of this process, and writes what it finds to stderr.
//!
//! The process answers itself, so that no right is needed to look at it from outside: neither Yama's `ptrace_scope` nor the filters of a
//! container matter. `qmpi` is started as by `vfork`, on a stack of its own, and without a signal at its end that the process might see.
#![expect(unsafe_code, reason = "starts a process and sends memory to it")]

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering};

use qmpi_ring::crash::{Crash, DATA, END, Layers, PACKET, Request};

use crate::start;

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// There is one.
    Made,
    /// The condition does not hold.
    NotMeant,
    /// `qmpi` could not be started, or did not end.
    Failed,
}

/// The status by which `qmpi` says that the condition does not hold.
const NOT_MEANT: c_int = 4;
/// As long as a report may take, in milliseconds.
const PATIENCE: i64 = 30_000;

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// Memory that one thread uses at a time: the one that makes the report.
struct Room<T>(UnsafeCell<T>);

// SAFETY: `handler::report_once` lets one thread in.
unsafe impl<T> Sync for Room<T> {}

/// Aligned as a stack is.
#[repr(C, align(16))]
struct Stack([u8; 32 * 1024]);

static STACK: Room<Stack> = Room(UnsafeCell::new(Stack([0; 32 * 1024])));
static BUFFER: Room<[u8; PACKET]> = Room(UnsafeCell::new([0; PACKET]));
static CRASH: Room<Crash> = Room(UnsafeCell::new(Crash::EMPTY));

static LAYERS: AtomicPtr<Layers> = AtomicPtr::new(null_mut());

/// The core says which layers there are.
#[unsafe(no_mangle)]
pub extern "C" fn qmpi_crash_set_layers(layers: &'static Layers) {
    LAYERS.store(core::ptr::from_ref(layers).cast_mut(), Ordering::Release);
}

/// The layers, if the core has said which.
pub(crate) fn layers() -> Option<&'static Layers> {
    // SAFETY: null, or what the core has handed over for ever.
    unsafe { LAYERS.load(Ordering::Acquire).as_ref() }
}

/// Has a report made.
pub(crate) fn make(crash: &Crash) -> Outcome {
    let mut pair = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: room for two descriptors.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr()) } != 0 {
        return Outcome::Failed;
    }
    let [own, other] = pair;
    let child = spawn(other);
    close(other);
    if child <= 0 {
        close(own);
        return Outcome::Failed;
    }
    let is_in_time = serve(own, crash);
    close(own);
    if !is_in_time {
        // SAFETY: the child, which nobody has waited for.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
    let mut status = 0;
    // SAFETY: waits for the child alone; without a signal at its end it counts as a clone (wait(2)).
    let waited = unsafe { libc::waitpid(child, &raw mut status, libc::__WALL) };
    match libc::WEXITSTATUS(status) {
        _ if waited != child || !libc::WIFEXITED(status) || !is_in_time => Outcome::Failed,
        0 => Outcome::Made,
        NOT_MEANT => Outcome::NotMeant,
        _ => Outcome::Failed,
    }
}

fn close(descriptor: c_int) {
    // SAFETY: a descriptor of this file's.
    unsafe { libc::close(descriptor) };
}

/// Starts `qmpi` with this descriptor, and returns its number.
fn spawn(descriptor: c_int) -> c_int {
    // SAFETY: behind the last byte of the stack, which grows down.
    let top = unsafe { STACK.0.get().add(1) }.cast::<c_void>();
    let argument = core::ptr::without_provenance_mut(descriptor as usize);
    // Emulators (qemu, gVisor) may only know children whose end is told by SIGCHLD.
    for signal in [0, libc::SIGCHLD] {
        // SAFETY: the child has a stack of its own, and this thread waits until the child has become another program.
        let child = unsafe { libc::clone(become_command, top, libc::CLONE_VM | libc::CLONE_VFORK | signal, argument) };
        if child > 0 {
            return child;
        }
    }
    -1
}

/// In the child: shares the memory, but neither descriptors nor handlers.
extern "C" fn become_command(descriptor: *mut c_void) -> c_int {
    let descriptor = descriptor.addr() as c_int;
    // SAFETY: a descriptor of the child's.
    unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) };
    let none = 0_u64;
    let size = size_of::<u64>();
    // SAFETY: a mask of this function's.
    unsafe { libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const none, null_mut::<c_void>(), size) };
    let mut number = [0; 12];
    // Ten digits with zeros in front, and the byte that ends the text.
    let mut rest = descriptor.unsigned_abs();
    for digit in number.iter_mut().rev().skip(1) {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let arguments = [c"qmpi".as_ptr(), c"crashed".as_ptr(), number.as_ptr().cast(), null()];
    let variables: [*const c_char; 1] = [null()];
    // SAFETY: C strings, and lists that end with null.
    unsafe { libc::execve(start::command(), arguments.as_ptr(), variables.as_ptr()) };
    // SAFETY: ends the child alone.
    unsafe { libc::syscall(libc::SYS_exit, 127) };
    127
}

/// Answers what the command asks; `false`: it takes too long.
fn serve(socket: c_int, crash: &Crash) -> bool {
    let patience = libc::timeval { tv_sec: PATIENCE / 1000, tv_usec: 0 };
    let size = size_of::<libc::timeval>() as u32;
    // SAFETY: a value of the type that the option has.
    unsafe { libc::setsockopt(socket, libc::SOL_SOCKET, libc::SO_SNDTIMEO, (&raw const patience).cast(), size) };
    let place = CRASH.0.get();
    // SAFETY: this thread alone uses it.
    unsafe { place.write(*crash) };
    // SAFETY: as above.
    complete(unsafe { &mut *place });
    send(socket, None, place.addr() as u64, size_of::<Crash>());
    let deadline = now() + PATIENCE;
    loop {
        let mut request = Request { address: 0, length: 0 };
        let mut asks = libc::pollfd { fd: socket, events: libc::POLLIN, revents: 0 };
        let left = deadline - now();
        if left <= 0 {
            return false;
        }
        // SAFETY: one descriptor.
        if unsafe { libc::poll(&raw mut asks, 1, left as c_int) } <= 0 {
            continue;
        }
        // SAFETY: room for a request.
        let got = unsafe { libc::recv(socket, (&raw mut request).cast(), size_of::<Request>(), 0) };
        if got != size_of::<Request>() as isize {
            return true;
        }
        match request.length as usize {
            0 => send_maps(socket),
            length => {
                if !send(socket, Some(DATA), request.address, length.min(PACKET)) {
                    send(socket, Some(END), 0, 0);
                }
            }
        }
    }
}

/// Fills in what takes system calls.
fn complete(crash: &mut Crash) {
    crash.layers = LAYERS.load(Ordering::Acquire).addr() as u64;
    // SAFETY: the C library's variable.
    crash.environment = unsafe { environ }.addr() as u64;
    // SAFETY: room for the sixteen bytes of a name.
    unsafe { libc::prctl(libc::PR_GET_NAME, crash.thread_name.as_mut_ptr()) };
    let room = crash.program.len() - 1;
    // SAFETY: a C string, and room for as many bytes.
    unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), crash.program.as_mut_ptr().cast(), room) };
}

/// Milliseconds of a clock that goes on.
fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

/// Sends memory, which may not be there: the kernel looks. Returns whether it was sent.
fn send(socket: c_int, head: Option<u8>, address: u64, length: usize) -> bool {
    let mut byte = head.unwrap_or_default();
    let mut parts = [
        libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: head.iter().len() },
        libc::iovec { iov_base: core::ptr::with_exposed_provenance_mut(address as usize), iov_len: length },
    ];
    // SAFETY: no name, no flags.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len();
    // SAFETY: the kernel reads the memory, and says so if it cannot.
    let sent = unsafe { libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL) };
    sent == (length + head.iter().len()) as isize
}

/// Sends the list of mappings.
fn send_maps(socket: c_int) {
    // SAFETY: a C string.
    let maps = unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    let buffer = BUFFER.0.get();
    let mut is_open = maps >= 0;
    while is_open {
        // SAFETY: this thread alone uses the buffer.
        let got = unsafe { libc::read(maps, buffer.cast(), PACKET) };
        let count = usize::try_from(got).unwrap_or(0);
        is_open = count > 0 && send(socket, Some(DATA), buffer.addr() as u64, count);
    }
    close(maps);
    send(socket, Some(END), 0, 0);
}

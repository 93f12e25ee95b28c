//! What a tool reaches under the names of `dlopen` and of functions that register exit handlers or change the environment.
//!
//! Each of the latter passes the instance on, from its trampoline's payload, as the fourth argument of a function that has three at most.

use std::arch::naked_asm;

use crate::overrides::{self, environment, exit};

macro_rules! with_instance {
    ($(#[$doc:meta])* $name:ident, $to:path) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub(crate) extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "mov x3, x17",
                "b {to}",
                ".cfi_endproc",
                to = sym $to,
            )
        }
    };
}

with_instance!(
    /// `__cxa_atexit(function, argument, object)`.
    cxa_atexit,
    exit::at_exit
);
with_instance!(
    /// `on_exit(function, argument)`.
    on_exit,
    exit::on_exit
);
with_instance!(
    /// `__cxa_at_quick_exit(function, object)`.
    cxa_at_quick_exit,
    exit::at_quick_exit
);
with_instance!(
    /// `__cxa_thread_atexit_impl(function, argument, object)`.
    cxa_thread_atexit,
    exit::at_thread_exit
);
with_instance!(
    /// `__cxa_finalize(object)`.
    cxa_finalize,
    exit::finalize
);
with_instance!(
    /// `setenv(name, value, overwrite)`.
    setenv,
    environment::set
);
with_instance!(
    /// `putenv(text)`.
    putenv,
    environment::put
);
with_instance!(
    /// `unsetenv(name)`.
    unsetenv,
    environment::unset
);
with_instance!(
    /// `clearenv()`.
    clearenv,
    environment::clear
);

/// `dlopen(file, mode)` of a tool: [`overrides::dlopen::prepare`] returns both arguments anew, or the handle.
#[unsafe(naked)]
pub(crate) extern "C" fn dlopen() {
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, -16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        "mov x2, x17",
        "mov x3, x30",
        "bl {prepare}",
        "ldp x29, x30, [sp], 16",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "cmn x1, {is_handle}",
        "b.eq 2f",
        "adrp x16, :got:{real}",
        "ldr x16, [x16, :got_lo12:{real}]",
        "br x16",
        "2:",
        "ret",
        ".cfi_endproc",
        is_handle = const overrides::dlopen::IS_HANDLE.wrapping_neg(),
        prepare = sym overrides::dlopen::prepare,
        real = sym libc::dlopen,
    )
}

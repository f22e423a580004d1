/// A process that ends another one at a time, whatever becomes of the program that started both.
///
/// The guard is a child of the program, and the guarded program is the guard's child. The guard kills it with SIGKILL when
/// - a time has come that the program did not put off,
/// - or the program has ended: its end of a pipe is closed then.
/// If the guard itself is killed, the kernel kills the guarded program (PR_SET_PDEATHSIG).

#ifndef HOLDFAST_CLEASEGUARD_H
#define HOLDFAST_CLEASEGUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/// Starts a program under a guard.
/// - path: the program's file. arguments, environment: as for execve(2).
/// - deadline: nanoseconds of CLOCK_BOOTTIME at which it is killed. If that has passed, it is not started.
/// - control: gets the descriptor that the other calls need. Close it once the guard has ended.
/// Returns the guard's number, or -1 with errno.
pid_t holdfast_guard_start(
    const char *path, char *const arguments[], char *const environment[], int64_t deadline, int *control);

/// Puts off the time at which the program is killed. Returns false if the guard has ended.
bool holdfast_guard_extend(int control, int64_t deadline);

/// Has the guard send a signal to the program. Returns false if the guard has ended.
bool holdfast_guard_signal(int control, int signal);

/// Waits until the guard and its program have ended. Returns the program's exit code, 128 and more for a signal;
/// -1 with errno.
int holdfast_guard_wait(pid_t guard);

#endif

/// A process that kills another one at a deadline, even if the program that started both has ended.
///
/// The guard is a child of the program, and the guarded program is the guard's child. It has a process group of its own, which
/// includes what it starts, such as the commands of a script. The guard kills the group with SIGKILL
/// - at the deadline, unless the program has extended it,
/// - when the program has ended, which closes its end of a pipe,
/// - or when the guarded program has ended without a signal from the guard. After a signal, the rest of its group gets the time
///   until the deadline to end too.
/// If the guard itself is killed, the kernel kills the guarded program (PR_SET_PDEATHSIG), but not what that has started.

#ifndef HOLDFAST_CLEASEGUARD_H
#define HOLDFAST_CLEASEGUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/// Starts a program under a guard.
/// - path: the program's file. arguments, environment: as for execve(2).
/// - deadline: when the program is killed, in nanoseconds of CLOCK_BOOTTIME. If it has passed, the program is not started.
/// - control: receives the descriptor that the other calls need. Close it after the guard has ended.
/// Returns the guard's process number, or -1 with errno.
pid_t holdfast_guard_start(
    const char *path, char *const arguments[], char *const environment[], int64_t deadline, int *control);

/// Extends the deadline. Returns false if the guard has ended.
bool holdfast_guard_extend(int control, int64_t deadline);

/// Makes the guard send a signal to the program's group. Returns false if the guard has ended.
bool holdfast_guard_signal(int control, int signal);

/// Waits until the guard and the program's group have ended. Returns the program's exit code, 128 plus the number of a signal, or
/// -1 with errno.
int holdfast_guard_wait(pid_t guard);

#endif

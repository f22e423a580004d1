// Shifts the wall clock of one program. Preload it with LD_PRELOAD: the program's wall clock is then CLOCK_LAYER_AHEAD seconds
// ahead of the machine's, which may be negative. All other clocks, and so all timers, are unchanged. (libfaketime 0.9.10 also
// shifts timers of timerfd_settime(2), even when it is told to leave CLOCK_MONOTONIC alone.)
//
// Not covered: programs that are statically linked with libc, and time(2) and gettimeofday(2).

#define _GNU_SOURCE
#include "ClockLayer.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long ahead;

__attribute__((constructor)) static void read_settings(void) {
    const char *text = getenv("CLOCK_LAYER_AHEAD");
    if (text) ahead = atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += ahead;
    return result;
}

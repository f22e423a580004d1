// Sets the date of one program: LD_PRELOAD it, and its wall clock is ahead of the machine's by CLOCK_LAYER_AHEAD seconds, which may be
// negative. All other clocks, and so all timers, stay as they are. (libfaketime 0.9.10 moves timers of timerfd_settime(2) too,
// also where it was told to leave CLOCK_MONOTONIC alone.)
//
// What is not seen: programs that are linked with libc statically, and time(2) and gettimeofday(2).

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

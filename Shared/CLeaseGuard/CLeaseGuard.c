#define _GNU_SOURCE
#include "CLeaseGuard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/// A command to the guard. Writing one to a pipe is atomic (PIPE_BUF).
struct command {
    int64_t deadline;
    int32_t signal;
    int32_t padding;
};

enum { control_descriptor = 3, not_started = 127, deadline_passed = 124 };

/// The guard is a fork of a program with threads, so it calls only functions from signal-safety(7) and system calls.
static void set_timer(int timer, int64_t deadline) {
    // Zero would disarm the timer.
    if (deadline <= 0) deadline = 1;
    struct itimerspec time = {.it_value = {deadline / 1000000000, deadline % 1000000000}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL);
}

static void reset_signals(void) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) sigaction(number, &action, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static pid_t start(const char *path, char *const arguments[], char *const environment[]) {
    pid_t guard = getpid();
    pid_t program = fork();
    if (program > 0) setpgid(program, program);
    if (program != 0) return program;
    setpgid(0, 0);
    reset_signals();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The guard may have ended before the call of prctl.
    if (getppid() != guard) _exit(not_started);
    syscall(SYS_close_range, control_descriptor, ~0U, 0);
    execve(path, arguments, environment);
    _exit(not_started);
}

static int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

/// Returns a descriptor that is readable when a child has ended, or -1.
static int open_child_events(void) {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

/// Takes the exit statuses of all children that have ended, and notes that of the program.
static void reap(pid_t program, int *status, bool *has_ended) {
    for (;;) {
        int found = 0;
        pid_t process = waitpid(-1, &found, WNOHANG);
        if (process == program) {
            *status = found;
            *has_ended = true;
        }
        if (process <= 0 && (process == 0 || errno != EINTR)) return;
    }
}

static void guard(
    int control, const char *path, char *const arguments[], char *const environment[], int64_t deadline) {
    // Closes all other descriptors of the program, so that its listening addresses become free when it ends.
    if (control != control_descriptor) dup2(control, control_descriptor);
    fcntl(control_descriptor, F_SETFD, FD_CLOEXEC);
    syscall(SYS_close_range, control_descriptor + 1, ~0U, 0);
    // Ctrl-C at a terminal must reach only the program that controls the guard.
    setpgid(0, 0);
    reset_signals();
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);

    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    if (deadline <= (int64_t)now.tv_sec * 1000000000 + now.tv_nsec) _exit(deadline_passed);
    int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (timer < 0) _exit(not_started);
    set_timer(timer, deadline);
    int ends = open_child_events();
    if (ends < 0) _exit(not_started);
    // Processes whose parent has ended become children of the guard, which so learns of their end.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t program = start(path, arguments, environment);
    if (program < 0) _exit(not_started);
    int status = 0;
    bool has_ended = false, is_stopping = false;
    struct pollfd events[] = {
        {.fd = control_descriptor, .events = POLLIN}, {.fd = timer, .events = POLLIN}, {.fd = ends, .events = POLLIN}};
    for (;;) {
        if (poll(events, 3, -1) < 0 && errno != EINTR) kill(-program, SIGKILL);
        if (events[2].revents != 0) {
            struct signalfd_siginfo end;
            while (read(ends, &end, sizeof end) > 0) {}
            reap(program, &status, &has_ended);
            // A script ends at a signal at once, while its recorder still finishes.
            if (has_ended && !is_stopping) kill(-program, SIGKILL);
            if (has_ended && kill(-program, 0) != 0 && errno == ESRCH) _exit(exit_code(status));
        }
        if (events[1].revents != 0) {
            kill(-program, SIGKILL);
            // After the kill, only the end of the program's group remains to be awaited.
            events[1].fd = -1;
        }
        if (events[0].revents == 0) continue;
        struct command command;
        ssize_t count = read(control_descriptor, &command, sizeof command);
        if (count == sizeof command) {
            if (command.signal != 0) {
                is_stopping = true;
                kill(-program, command.signal);
            }
            if (command.deadline != 0 && events[1].fd >= 0) set_timer(timer, command.deadline);
        } else if (count == 0 || errno != EINTR) {
            kill(-program, SIGKILL);
            events[0].fd = -1;
        }
    }
}

pid_t holdfast_guard_start(
    const char *path, char *const arguments[], char *const environment[], int64_t deadline, int *control) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    // Signal handlers of the program must not run in the guard.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t process = fork();
    if (process == 0) {
        guard(ends[0], path, arguments, environment, deadline);
        _exit(not_started);
    }
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[0]);
    if (process < 0) {
        close(ends[1]);
        errno = error;
        return -1;
    }
    *control = ends[1];
    return process;
}

static bool send_command(int control, struct command command) {
    // If the guard has ended, this fails without a signal: the programs ignore SIGPIPE.
    ssize_t count;
    do count = write(control, &command, sizeof command);
    while (count < 0 && errno == EINTR);
    return count == sizeof command;
}

bool holdfast_guard_extend(int control, int64_t deadline) {
    return send_command(control, (struct command){.deadline = deadline});
}

bool holdfast_guard_signal(int control, int signal) {
    return send_command(control, (struct command){.signal = signal});
}

int holdfast_guard_wait(pid_t guard) {
    int status = 0;
    pid_t process;
    do process = waitpid(guard, &status, 0);
    while (process < 0 && errno == EINTR);
    return process < 0 ? -1 : exit_code(status);
}

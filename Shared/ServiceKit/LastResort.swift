import Glibc

/// Ends the process after a time, whatever its threads hang in: a disk that does not answer, a call that never returns.
///
/// The kernel keeps the time (alarm(2)), so that no thread of ours is needed. One per process.
enum LastResort {
    /// Ends the process in so many seconds; replaces an earlier time.
    static func arm(seconds: UInt32) {
        signal(SIGALRM) { _ in
            // Only what signal-safety(7) allows.
            let message: StaticString =
                "the program hangs while stopping, so it ends here; what was not yet on disk is lost\n"
            _ = write(STDERR_FILENO, message.utf8Start, message.utf8CodeUnitCount)
            _exit(ExitStatus.inputOutput.rawValue)
        }
        alarm(seconds)
    }

    /// All is well after all.
    static func disarm() {
        alarm(0)
    }
}

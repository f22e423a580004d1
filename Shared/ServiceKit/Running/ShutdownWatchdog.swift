import Glibc
import Logging
import Messages
import Synchronization

/// Ends the process after a time, even if its threads hang: in a disk that does not answer, or a call that never returns.
///
/// The kernel keeps the time (alarm(2)), so that no thread of the process is needed. One per process.
enum ShutdownWatchdog {
    private static let message = "the program hangs while stopping, so it ends here; data not yet on disk is lost"

    /// The line to print, prepared in advance: a signal handler may do only what signal-safety(7) allows. Never freed.
    private static let line = Atomic<UInt>(0)
    private static let lineLength = Atomic<Int>(0)

    /// Ends the process in `seconds`; replaces an earlier time.
    static func arm(seconds: UInt32, saying format: LogStyle, as program: Program) {
        let end = WallTime(nanosecondsSince1970: WallTime.now.nanosecondsSince1970 + Int64(seconds) * 1_000_000_000)
        let bytes =
            switch format {
            case .text: Array("\(message)\n".utf8)
            case .json: LogLine(at: end, level: .critical, program: program.rawValue, message: message).bytes
            }
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        _ = copy.initialize(from: bytes)
        lineLength.store(0, ordering: .sequentiallyConsistent)
        line.store(UInt(bitPattern: copy.baseAddress), ordering: .sequentiallyConsistent)
        lineLength.store(bytes.count, ordering: .sequentiallyConsistent)
        signal(SIGALRM) { _ in
            let length = ShutdownWatchdog.lineLength.load(ordering: .sequentiallyConsistent)
            let line = UnsafeRawPointer(bitPattern: ShutdownWatchdog.line.load(ordering: .sequentiallyConsistent))
            _ = write(STDERR_FILENO, line, length)
            _exit(ExitStatus.inputOutput.rawValue)
        }
        alarm(seconds)
    }

    static func disarm() {
        alarm(0)
    }
}

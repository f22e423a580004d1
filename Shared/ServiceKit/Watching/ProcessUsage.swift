import FoundationEssentials
import Glibc

/// This process's use of the machine.
enum ProcessUsage {
    /// Seconds of processor time, in user and kernel mode.
    static var processorSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Double(microseconds(usage.ru_utime) + microseconds(usage.ru_stime)) / 1e6
    }

    /// Resident memory (proc(5), statm); nil if /proc can't be read.
    static var residentBytes: Int? {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
        let fields = text.split(separator: " ")
        return fields.count > 1 ? Int(fields[1]).map { $0 * sysconf(Int32(_SC_PAGESIZE)) } : nil
    }

    /// The number of open file descriptors; nil if /proc can't be read.
    static var openFiles: Int? {
        // Reading the directory opens one more.
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")).map { $0.count - 1 }
    }

    /// The limit of open file descriptors; nil if there is none.
    static var maximumFiles: Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return Int(exactly: limit.rlim_cur)
    }

    private static func microseconds(_ time: timeval) -> Int { time.tv_sec * 1_000_000 + time.tv_usec }
}

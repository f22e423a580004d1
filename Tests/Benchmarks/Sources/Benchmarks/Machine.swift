import Glibc

/// The load of the whole machine, which shows how idle it was during a measurement.
enum Machine {
    /// CPU seconds that all processes have used since the machine started.
    static func busySeconds() throws -> Double {
        let line = try Child.text(of: "/proc/stat").split(separator: "\n").first ?? ""
        let fields = line.split(separator: " ").dropFirst().compactMap { Double($0) }
        guard fields.count > 6 else { throw Child.Failure(description: "/proc/stat can't be read") }
        // user, nice, system; then idle and iowait; then interrupts.
        return (fields[0] + fields[1] + fields[2] + fields[5] + fields[6]) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The load average of the last minute.
    static func loadAverage() throws -> Double {
        try Child.text(of: "/proc/loadavg").split(separator: " ").first.flatMap { Double($0) } ?? 0
    }
}

import Glibc

/// A process of a measurement: its output lines, and its cost once it has ended.
final class Child {
    /// A process's resource usage, as accounted by the kernel.
    struct Usage {
        var cpuSeconds: Double
        var peakMegabytes: Double
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let processIdentifier: pid_t
    private let input: Int32
    private let output: Int32
    private var pending: [UInt8] = []

    /// - Parameters:
    ///   - environment: variables in addition to this process's environment.
    ///   - log: a file for the standard error; nil for this process's own.
    init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], log: String? = nil
    ) throws {
        var toChild: [Int32] = [0, 0]
        var fromChild: [Int32] = [0, 0]
        guard pipe(&toChild) == 0, pipe(&fromChild) == 0 else { throw Failure(description: "pipe failed") }
        for descriptor in toChild + fromChild { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toChild[0], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, fromChild[1], STDOUT_FILENO)
        if let log {
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        }
        var argv: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for argument in argv { free(argument) } }
        var variables = Self.inherited()
        variables += environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for variable in variables { free(variable) } }
        var process = pid_t()
        guard posix_spawn(&process, program, &actions, nil, &argv, &variables) == 0 else {
            throw Failure(description: "\(program) can't be started")
        }
        close(toChild[0])
        close(fromChild[1])
        processIdentifier = process
        input = toChild[1]
        output = fromChild[0]
    }

    func line() throws -> String {
        while true {
            if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                defer { pending.removeSubrange(...end) }
                return String(decoding: pending[..<end], as: UTF8.self)
            }
            var bytes = [UInt8](repeating: 0, count: 4_096)
            let count = read(output, &bytes, bytes.count)
            guard count > 0 else { throw Failure(description: "a process ended before it said what it should") }
            pending += bytes.prefix(count)
        }
    }

    func rest() -> String {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(output, &bytes, bytes.count)
            guard count > 0 else { return String(decoding: pending, as: UTF8.self) }
            pending += bytes.prefix(count)
        }
    }

    /// Writes a line to the process's standard input.
    func type(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(input, bytes, bytes.count)
    }

    /// CPU seconds used so far, and the peak of resident memory.
    func usage() throws -> Usage {
        let statistics = try Self.text(of: "/proc/\(processIdentifier)/stat")
        let fields = statistics.split(separator: ")").last?.split(separator: " ") ?? []
        let status = try Self.text(of: "/proc/\(processIdentifier)/status")
        let peak =
            status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }?
            .split(whereSeparator: { !$0.isNumber }).first.flatMap { Double($0) } ?? 0
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
            throw Failure(description: "/proc can't be read")
        }
        return Usage(
            cpuSeconds: (user + system) / Double(sysconf(Int32(_SC_CLK_TCK))), peakMegabytes: peak * 1_024 / 1e6)
    }

    /// Ends the process, if it has not ended, and waits for it.
    /// - Returns: its total usage.
    @discardableResult
    func end(signal: Int32 = SIGTERM) -> Usage { wait(signal: signal).usage }

    /// Waits until the process ends.
    /// - Returns: its exit status, or -1 if a signal ended it.
    func status() -> Int32 { result().status }

    /// Waits until the process ends.
    /// - Returns: its exit status, or -1 if a signal ended it, and all that it used.
    func result() -> (status: Int32, usage: Usage) {
        let (status, usage) = wait(signal: 0)
        return (status & 0x7f == 0 ? status >> 8 & 0xff : -1, usage)
    }

    private func wait(signal: Int32) -> (status: Int32, usage: Usage) {
        close(input)
        close(output)
        if signal != 0 { kill(processIdentifier, signal) }
        var status: Int32 = 0
        var usage = rusage()
        while wait4(processIdentifier, &status, 0, &usage) < 0, errno == EINTR {}
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return (
            status,
            Usage(
                cpuSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
                peakMegabytes: Double(usage.ru_maxrss) * 1_024 / 1e6)
        )
    }

    /// The variables of this process, copied.
    private static func inherited() -> [UnsafeMutablePointer<CChar>?] {
        var variables: [UnsafeMutablePointer<CChar>?] = []
        var next = environ
        while let variable = next.pointee {
            variables.append(strdup(variable))
            next += 1
        }
        return variables
    }

    /// The beginning of a small file.
    static func text(of path: String) throws -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(description: "\(path) can't be read") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}

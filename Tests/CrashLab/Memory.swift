import FoundationEssentials
import TestSupport

/// A program's memory, read from the kernel.
enum Memory {
    /// The peak of resident memory, in bytes; 0 if the program has ended.
    static func peak(of program: ProgramUnderTest) throws -> Int {
        guard let process = program.processIdentifier,
            let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
        else { return 0 }
        guard
            let kilobytes = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap({
                Int($0)
            })
        else { throw Violation("the kernel does not say how much memory a program has: \(line)") }
        return kilobytes << 10
    }
}

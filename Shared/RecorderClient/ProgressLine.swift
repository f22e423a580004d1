import Glibc
import Messages
import ServiceKit

/// The progress of a session in one line: rewritten in place on a terminal, otherwise printed now and then.
final class ProgressLine {
    /// Whether the line overwrites itself.
    let isMoving = isatty(STDOUT_FILENO) == 1
    private var lastSamples = 0
    private var lastTime = Duration.zero

    /// - Parameter measures: the measures in the publisher's health, including how late it takes its samples.
    func show(
        _ state: RecordingState, after time: Duration, of duration: Duration?, publisher measures: [String: Double]
    ) {
        let samples = state.logs.reduce(0) { $0 + $1.samples }
        let bytes = state.logs.reduce(0) { $0 + $1.bytes }
        let gaps = state.logs.reduce(0) { $0 + $1.gaps }
        let span = (time - lastTime) / .seconds(1)
        let rate = span > 0 ? Double(samples - lastSamples) / span : 0
        lastSamples = samples
        lastTime = time
        let total = duration.map { " of \(Self.text($0 / .seconds(1), decimals: 0))" } ?? ""
        var line = "\(Self.text(time / .seconds(1), decimals: 1))\(total) s  \(state.step.isEmpty ? "-" : state.step)"
        line += "  \(samples) samples  \(Self.text(rate, decimals: 0))/s  \(ByteCount(bytes: bytes).rounded)"
        line += "  \(gaps) gaps"
        if let median = measures["latenessMedianSeconds"], let late = measures["lateness99PercentSeconds"] {
            line += "  late \(Self.text(median * 1e3, decimals: 2)) ms (99 %: \(Self.text(late * 1e3, decimals: 2)) ms)"
        }
        if state.paused { line += "  paused" }
        for stream in state.pausedStreams ?? [] { line += "  \(stream) paused" }
        // The escape sequence clears what a longer line left behind.
        StandardStream.output.print(isMoving ? "\r\(line)\u{1B}[K" : "\(line)\n")
    }

    private static func text(_ number: Double, decimals: Int) -> String {
        let scale = [1, 10, 100][decimals]
        let scaled = Int((abs(number) * Double(scale)).rounded())
        let sign = number < 0 && scaled > 0 ? "-" : ""
        return "\(sign)\(scaled / scale)" + (decimals > 0 ? ".\(String(scale + scaled % scale).dropFirst())" : "")
    }
}

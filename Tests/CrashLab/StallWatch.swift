import Synchronization
import ZeroMQ

/// Detects stalls of the machine: late actions of the programs are then not their fault.
final class StallWatch: Sendable {
    private static let beat = Duration.milliseconds(10)
    /// Shorter delays are normal for schedulers, and within the recorder's promise.
    private static let shortest: Int64 = 20_000_000

    private let stalls = Mutex<[Range<Int64>]>([])

    /// Watches until the task is cancelled.
    func run() async throws {
        while true {
            let start = MonotonicClock.now
            try await Task.sleep(for: Self.beat)
            let end = MonotonicClock.now
            if end - start > Self.shortest { stalls.withLock { $0.append(start..<end) } }
        }
    }

    /// How long the machine stalled within a time, in nanoseconds of `MonotonicClock`.
    /// - Parameter others: stalls detected by other means. Overlaps count once.
    func length(within time: Range<Int64>, and others: [Range<Int64>] = []) -> Int64 {
        let all = (stalls.withLock { $0 } + others).map { $0.clamped(to: time) }.sorted {
            $0.lowerBound < $1.lowerBound
        }
        var (length, end): (Int64, Int64) = (0, time.lowerBound)
        for stall in all where stall.upperBound > end {
            length += stall.upperBound - max(stall.lowerBound, end)
            end = stall.upperBound
        }
        return length
    }
}

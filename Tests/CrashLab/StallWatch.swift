import Synchronization
import ZeroMQ

/// Notices when the machine stands still: what the programs then do late is not their fault.
final class StallWatch: Sendable {
    private static let beat = Duration.milliseconds(10)
    /// Less is how schedulers are, and what the recorder's promise has room for.
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

    /// How long the machine stood still within a time, in nanoseconds of `MonotonicClock`.
    /// - Parameter others: when it stood still as others noticed it. What both noticed counts once.
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

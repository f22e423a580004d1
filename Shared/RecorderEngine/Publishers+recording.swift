import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// A recorder's requests to publishers, except for samples. Publishers that do not answer in time, or do not know a request, are
/// left out.
extension Publishers {
    /// Round trips of one comparison of clocks; the shortest one counts.
    private static let roundTrips = 8
    /// Time limit for all round trips of a comparison.
    private static let comparisonLimit = TimeSpan.seconds(1)

    /// Asks publishers for the positions of their streams that match some patterns. The answers may include other streams.
    func streams(
        _ patterns: [String], at endpoints: Set<String>, timeout: Duration
    ) async -> [StreamDescription] {
        await answers(of: endpoints) { client, _ in
            try await client.send(StreamsList(streams: patterns), timeout: timeout).streams
        }
    }

    /// Compares publishers' clocks with this machine's.
    func clocks(at endpoints: Set<String>, by own: @escaping @Sendable () -> Moment) async -> [ClockComparison] {
        await answers(of: endpoints) { client, endpoint in
            var comparisons: [ClockComparison] = []
            let deadline = own().monotonic + Self.comparisonLimit.nanoseconds
            for _ in 0..<Self.roundTrips where own().monotonic < deadline {
                let start = own()
                let clock = try await client.send(ServiceClock(), timeout: .milliseconds(500)).clock
                let roundTrip = own().monotonic - start.monotonic
                let middle = start.date.adding(roundTrip / 2)
                comparisons.append(
                    ClockComparison(endpoint: endpoint, date: middle, clock: clock, roundTrip: Double(roundTrip) / 1e9))
            }
            return comparisons.min { $0.roundTrip < $1.roundTrip }.map { [$0] } ?? []
        }
    }

    /// Asks all publishers at the same time.
    private func answers<Answer: Sendable>(
        of endpoints: Set<String>,
        _ question: @escaping @Sendable (RequestClient, _ endpoint: String) async throws -> [Answer]
    ) async -> [Answer] {
        await withTaskGroup(of: [Answer].self) { group in
            for endpoint in endpoints {
                group.addTask { (try? await ask(endpoint) { try await question($0, endpoint) }) ?? [] }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }
}

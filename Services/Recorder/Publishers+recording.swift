import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// What a recorder asks besides samples.
extension Publishers {
    /// Asks publishers how far their streams are. Those that do not answer in time are left out.
    func streams(at endpoints: Set<String>, timeout: Duration) async -> [StreamDescription] {
        await withTaskGroup(of: [StreamDescription].self) { group in
            for endpoint in endpoints {
                group.addTask {
                    (try? await self.ask(endpoint) { try await $0.send(StreamsList(), timeout: timeout).streams })
                        ?? []
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }

    /// How many round trips a comparison of clocks takes the shortest of.
    private static let roundTrips = 8
    /// How long all of them may take.
    private static let comparisonLimit = TimeSpan.seconds(1)

    /// Compares publishers' clocks with ours. Those that do not answer in time, or do not know how, are left out.
    func clocks(at endpoints: Set<String>) async -> [ClockComparison] {
        await withTaskGroup(of: ClockComparison?.self) { group in
            for endpoint in endpoints {
                group.addTask { try? await self.ask(endpoint) { try await Self.clock(of: $0, at: endpoint) } }
            }
            return await group.reduce(into: []) { comparisons, comparison in
                if let comparison { comparisons.append(comparison) }
            }
        }
    }

    private static func clock(
        of client: RequestClient, at endpoint: String
    ) async throws -> ClockComparison? {
        var best: ClockComparison?
        let deadline = MonotonicClock.now + comparisonLimit.nanoseconds
        for _ in 0..<roundTrips where MonotonicClock.now < deadline {
            let start = MonotonicClock.now
            let date = WallTime.now
            let clock = try await client.send(ServiceClock(), timeout: .milliseconds(500)).clock
            let roundTrip = MonotonicClock.now - start
            if Double(roundTrip) / 1e9 < best?.roundTrip ?? .infinity {
                let middle = WallTime(nanosecondsSince1970: date.nanosecondsSince1970 + roundTrip / 2)
                best = ClockComparison(
                    endpoint: endpoint, date: middle, clock: clock, roundTrip: Double(roundTrip) / 1e9)
            }
        }
        return best
    }
}

import MessageBus
import Messages
import Recording
import ServiceKit
import ZeroMQ

/// How far the publishers' clocks are from this one's.
extension RecordingEngine {
    /// The first time after which clocks are compared again; later ones come with the session's age, so that a long
    /// session has no more comparisons than can be looked at.
    private static let comparisonInterval = TimeSpan.seconds(30)
    /// Seconds; less is for the report alone.
    private static let largestOffset = 1.0

    /// Compares the clocks of the publishers of every session, now and then, until the task is cancelled.
    func compareClocksRegularly() async throws {
        while true {
            try await thread.sleep(until: MonotonicClock.now + 1_000_000_000)
            for session in Array(sessions.values) where session.status == .running {
                await compareClocks(of: session)
            }
            tellOfWrongClocks()
        }
    }

    /// Has health tell of a clock that is so wrong that its samples seem to be of another time than their session.
    private func tellOfWrongClocks() {
        let sources = sessions.values.filter { $0.status == .running }.map(\.publishers)
        wrongClocks = wrongClocks.filter { clock in sources.contains { $0.contains(clock.key) } }
        guard let (endpoint, seconds) = wrongClocks.min(by: { $0.key < $1.key }) else { return health.clear("clock") }
        health.reportClock(
            of: endpoint, ahead: seconds,
            ", and its samples are placed by it: set the clock, and start its publisher anew")
    }

    /// Compares the clocks of a session's publishers, those that it is time for.
    /// - Parameter isLast: all of them.
    func compareClocks(of session: Session, isLast: Bool = false) async {
        let now = MonotonicClock.now
        let age = WallTime.now.nanosecondsSince1970 - session.record.startDate.nanosecondsSince1970
        let interval = max(Self.comparisonInterval.nanoseconds, age / 50)
        let due = session.publishers.filter { endpoint in
            guard !isLast, let last = session.comparedAt[endpoint] else { return true }
            return now - last >= interval
        }
        for endpoint in due { session.comparedAt[endpoint] = now }
        for comparison in await publishers.clocks(at: due) where session.isRecording {
            session.note(comparison)
            let isWrong = abs(comparison.offset) > Self.largestOffset + comparison.roundTrip
            wrongClocks[comparison.endpoint] = isWrong ? comparison.offset : nil
        }
    }
}

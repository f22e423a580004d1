package import Messages

/// Measures how far an outlet's clock is ahead: the answer with the shortest round trip is the most accurate.
package struct LSLClock: Sendable {
    /// The questions in a round, and how many of them must be answered.
    package static let questions = 8
    private static let enough = 6

    private var wave: Int32 = 0
    private var answers = 0
    private var best: RemoteClock?

    package init() {}

    /// Begins a round.
    /// - Returns: the round's number.
    package mutating func begin() -> Int32 {
        wave = wave == .max ? 1 : wave + 1
        (answers, best) = (0, nil)
        return wave
    }

    /// Takes an answer, ` <wave> <t0> <t1> <t2>`: the times of sending, receiving and answering the question. Other rounds'
    /// answers are ignored.
    /// - Parameter received: the time of arrival on this machine's clock, in seconds.
    package mutating func take(_ answer: [UInt8], received: Double) {
        let words = String(decoding: answer.prefix(256), as: UTF8.self).split { $0.isWhitespace }
        guard words.count == 4, Int32(words[0]) == wave else { return }
        let times = words.dropFirst().compactMap { Double($0) }
        guard times.count == 3, times.allSatisfy(\.isFinite), answers < Self.questions else { return }
        let trip = (received - times[0]) - (times[2] - times[1])
        let offset = ((times[1] - times[0]) + (times[2] - received)) / 2
        answers += 1
        guard trip >= 0, Nanoseconds.from(seconds: offset) != nil, best.map({ trip < $0.roundTrip }) ?? true else {
            return
        }
        best = RemoteClock(offset: offset, roundTrip: trip, uptime: received)
    }

    /// The best measurement of the round; nil while there are too few answers.
    package var result: RemoteClock? { answers >= Self.enough ? best : nil }

    /// Whether all questions are answered.
    package var isComplete: Bool { answers == Self.questions }
}

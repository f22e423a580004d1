package import Messages

/// How far the clock of an outlet is ahead: of several questions the one with the shortest trip tells best.
package struct LSLClock: Sendable {
    /// Questions in a round, of which so many must be answered.
    package static let questions = 8
    private static let enough = 6

    private var wave: Int32 = 0
    private var answers = 0
    private var best: RemoteClock?

    package init() {}

    /// Begins a round.
    /// - Returns: its number.
    package mutating func begin() -> Int32 {
        wave = wave == .max ? 1 : wave + 1
        (answers, best) = (0, nil)
        return wave
    }

    /// Takes an answer, ` <wave> <t0> <t1> <t2>`: sent, received and answered at these times. One to another round is left out.
    /// - Parameter received: when it came, in seconds of this machine's clock.
    package mutating func take(_ answer: [UInt8], received: Double) {
        let words = String(decoding: answer.prefix(256), as: UTF8.self).split { $0.isWhitespace }
        guard words.count == 4, Int32(words[0]) == wave else { return }
        let times = words.dropFirst().compactMap { Double($0) }
        guard times.count == 3, times.allSatisfy(\.isFinite), answers < Self.questions else { return }
        let trip = (received - times[0]) - (times[2] - times[1])
        answers += 1
        guard trip >= 0, best.map({ trip < $0.roundTrip }) ?? true else { return }
        best = RemoteClock(
            offset: ((times[1] - times[0]) + (times[2] - received)) / 2, roundTrip: trip, uptime: received)
    }

    /// What the round found so far; nil if too little was answered.
    package var result: RemoteClock? { answers >= Self.enough ? best : nil }

    /// Whether there is nothing more to wait for.
    package var isComplete: Bool { answers == Self.questions }
}

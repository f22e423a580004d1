package import Logging
package import Messages

/// What a core of any program has to say to people and to other programs.
package enum Notice: Sendable {
    case publish(any Event)
    case log(Logger.Level, Logger.Message, Logger.Metadata)
    /// Report a problem to health under a key: until it is cleared, or as long as is said.
    case report(Health.Severity, String, for: String, lasting: Duration? = nil)
    /// Clear the problem that health has under a key.
    case clear(String)
    /// A message could not be read, and was dropped.
    case malformed(any Error)
    /// Samples or steps were lost in this run.
    case lost
}

/// An effect of a core: a notice, or work of its program.
package protocol CoreEffect {
    static func notice(_ notice: Notice) -> Self
}

extension CoreEffect {
    package static func publish(_ event: some Event) -> Self { .notice(.publish(event)) }

    package static func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata) -> Self {
        .notice(.log(level, message, metadata))
    }

    package static func report(
        _ severity: Health.Severity, _ sentence: String, for key: String, lasting span: Duration? = nil
    ) -> Self {
        .notice(.report(severity, sentence, for: key, lasting: span))
    }

    package static func degraded(_ sentence: String, for key: String) -> Self { .report(.degraded, sentence, for: key) }

    package static func failing(_ sentence: String, for key: String) -> Self { .report(.failing, sentence, for: key) }

    package static func clear(_ key: String) -> Self { .notice(.clear(key)) }

    /// Reports a warning, or clears it if there is none any more.
    package static func warn(_ sentence: String?, for key: String) -> Self {
        sentence.map { .degraded($0, for: key) } ?? .clear(key)
    }

    /// Reports under the key `clock` that somebody's clock is wrong.
    /// - Parameters:
    ///   - owner: whose it is: a device, an endpoint.
    ///   - seconds: how far it is ahead of this machine's; negative if it is behind.
    ///   - consequence: the rest of the sentence: what comes of it, and what to do.
    package static func wrongClock(of owner: String, ahead seconds: Double, _ consequence: String) -> Self {
        let direction = seconds > 0 ? "ahead of" : "behind"
        return .degraded(
            "the clock of \(owner) is \(Int(abs(seconds).rounded())) s \(direction) this machine's\(consequence)",
            for: "clock")
    }

    /// Reports that no publisher is heard, or that this is over.
    /// - Parameter publishers: where they are listened to.
    package static func silence(_ isSilent: Bool, at publishers: String) -> Self {
        .warn(
            isSilent
                ? "no publisher is heard at \(publishers): start sensor-publisher, or say with --subscribe where it is"
                : nil,
            for: "publishers")
    }

    package static func malformed(_ error: any Error) -> Self { .notice(.malformed(error)) }

    package static var lost: Self { .notice(.lost) }
}

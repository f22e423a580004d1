package import Logging
package import Messages

/// An effect of any program's core for people and for other programs.
package enum Notice: Sendable {
    case publish(any Event)
    case log(Logger.Level, Logger.Message, Logger.Metadata)
    /// Report a problem to health under a key, until it is cleared or for a duration.
    case report(Health.Severity, String, for: String, lasting: Duration? = nil)
    /// Clear the problem that health has under a key.
    case clear(String)
    /// A message could not be read, and was dropped.
    case malformed(any Error)
    /// Samples, steps or descriptions were lost in this run.
    case lost
}

/// An effect of a core: a notice, or a task of its program.
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

    /// Reports a warning, or clears it if the sentence is nil.
    package static func warn(_ sentence: String?, for key: String) -> Self {
        sentence.map { .degraded($0, for: key) } ?? .clear(key)
    }

    /// Reports a wrong clock under the key `clock`.
    /// - Parameters:
    ///   - owner: the clock's owner: a device, an endpoint.
    ///   - seconds: how far the clock is ahead of this machine's; negative if it is behind.
    ///   - consequence: the rest of the sentence: the consequence, and what to do.
    package static func wrongClock(of owner: String, ahead seconds: Double, _ consequence: String) -> Self {
        let direction = seconds > 0 ? "ahead of" : "behind"
        return .degraded(
            "the clock of \(owner) is \(Int(abs(seconds).rounded())) s \(direction) this machine's\(consequence)",
            for: "clock")
    }

    /// Reports that no publisher is heard, or clears that report.
    /// - Parameter publishers: the endpoints that are subscribed to.
    package static func silence(_ isSilent: Bool, at publishers: String) -> Self {
        .warn(
            isSilent
                ? "nothing is received from a publisher at \(publishers): start sensor-publisher, or give its address with --subscribe"
                : nil,
            for: "publishers")
    }

    package static func malformed(_ error: any Error) -> Self { .notice(.malformed(error)) }

    package static var lost: Self { .notice(.lost) }
}

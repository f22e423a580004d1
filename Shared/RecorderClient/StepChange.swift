import ArgumentParser
package import ServiceKit

/// A step and when to change to it, as typed: `10s=return`.
package struct StepChange: Hashable, Sendable {
    /// The time since the session's start.
    package let time: TimeSpan
    package let step: String
}

extension StepChange: ConfigurationValue, ExpressibleByArgument {
    package init(typed text: String) throws(InvalidValue) {
        guard let sign = text.firstIndex(of: "=") else {
            throw InvalidValue("'\(text)' is not a step change: write TIME=STEP, 10s=return")
        }
        time = try TimeSpan(typed: String(text[..<sign]))
        step = String(text[text.index(after: sign)...])
    }

    package var description: String { "\(time)=\(step)" }
}

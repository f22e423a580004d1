import ArgumentParser
package import Messages
package import ServiceKit

/// How long a local copy is kept after the receiver confirmed the upload: `always`, or a duration.
package enum KeepTime: Hashable, Sendable {
    case always
    case time(TimeSpan)

    /// When the copy may be removed; `nil` for never.
    package func deadline(after confirmation: WallTime) -> WallTime? {
        guard case .time(let time) = self else { return nil }
        let (sum, isTooLate) = confirmation.nanosecondsSince1970.addingReportingOverflow(time.nanoseconds)
        return isTooLate ? nil : WallTime(nanosecondsSince1970: sum)
    }
}

extension KeepTime: ConfigurationValue, ExpressibleByArgument {
    package init(typed text: String) throws(InvalidValue) {
        if text == "always" {
            self = .always
            return
        }
        do {
            self = .time(try TimeSpan(typed: text))
        } catch {
            throw InvalidValue("'\(text)' is not a duration: write always, 7d, or 0s for not at all")
        }
    }

    package var description: String {
        switch self {
        case .always: "always"
        case .time(let time): time.description
        }
    }
}

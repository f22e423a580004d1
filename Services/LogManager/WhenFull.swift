import ArgumentParser
import ServiceKit

/// What is removed by itself where the files have grown beyond a threshold.
enum WhenFull: String, CaseIterable, ConfigurationValue, ExpressibleByArgument {
    /// Nothing: somebody else decides.
    case nothing
    /// Uploaded files, oldest first.
    case uploadedOnly = "uploaded-only"
    /// Uploaded files, oldest first, then the oldest of the others.
    case oldest

    init(typed text: String) throws(InvalidValue) {
        guard let value = Self(rawValue: text) else {
            throw InvalidValue("'\(text)' is not one of \(Self.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self = value
    }

    init?(argument: String) {
        self.init(rawValue: argument)
    }

    var description: String { rawValue }

    /// Whose turn it is, in this order.
    var isUploaded: [Bool] {
        switch self {
        case .nothing: []
        case .uploadedOnly: [true]
        case .oldest: [true, false]
        }
    }
}

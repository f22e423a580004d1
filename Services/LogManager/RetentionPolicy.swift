import ArgumentParser
import ServiceKit

/// What is removed by itself where the files have grown beyond a threshold.
enum RetentionPolicy: String, CaseIterable, ConfigurationValue, ExpressibleByArgument {
    /// Nothing: somebody else decides.
    case nothing
    /// Uploaded files, oldest first.
    case uploadedOnly = "uploaded-only"
    /// Uploaded files, oldest first, then the oldest of the others.
    case oldest

    /// Whose turn it is, in this order.
    var isUploaded: [Bool] {
        switch self {
        case .nothing: []
        case .uploadedOnly: [true]
        case .oldest: [true, false]
        }
    }
}

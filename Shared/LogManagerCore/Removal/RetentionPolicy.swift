/// What is removed by itself when a threshold of all files, or of free space, is crossed.
package enum RetentionPolicy: String, CaseIterable, Sendable {
    /// Nothing.
    case nothing
    /// Uploaded files, oldest first.
    case uploadedOnly = "uploaded-only"
    /// Uploaded files, oldest first, then the oldest of the others.
    case oldest

    /// Whose turn it is, in this order.
    package var isUploaded: [Bool] {
        switch self {
        case .nothing: []
        case .uploadedOnly: [true]
        case .oldest: [true, false]
        }
    }
}

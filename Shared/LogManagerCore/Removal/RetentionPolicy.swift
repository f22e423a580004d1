/// What is removed automatically when the threshold of all files, or of free space, is crossed.
package enum RetentionPolicy: String, CaseIterable, Sendable {
    case nothing
    /// Uploaded files, oldest first.
    case uploadedOnly = "uploaded-only"
    /// Uploaded files, oldest first, then the oldest of the others.
    case oldest

    /// Which files are removed, in this order: true for uploaded ones, false for the others.
    package var isUploaded: [Bool] {
        switch self {
        case .nothing: []
        case .uploadedOnly: [true]
        case .oldest: [true, false]
        }
    }
}

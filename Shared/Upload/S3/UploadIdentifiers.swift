import Synchronization

/// Remembers the multipart uploads that were begun, by key, until they are completed. Any thread.
final class UploadIdentifiers: Sendable {
    private let identifiers = Mutex<[String: String]>([:])

    /// The upload that was begun for a key; `nil` forgets it.
    subscript(key: String) -> String? {
        get { identifiers.withLock { $0[key] } }
        set { identifiers.withLock { $0[key] = newValue } }
    }
}

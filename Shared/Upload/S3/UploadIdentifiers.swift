import Synchronization

/// Remembers unfinished multipart uploads by key. Safe on any thread.
final class UploadIdentifiers: Sendable {
    private let identifiers = Mutex<[String: String]>([:])

    /// The upload begun for a key; `nil` removes it.
    subscript(key: String) -> String? {
        get { identifiers.withLock { $0[key] } }
        set { identifiers.withLock { $0[key] = newValue } }
    }
}

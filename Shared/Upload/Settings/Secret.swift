/// A text that must not be shown: a key, a token, a signature in a URL. Its description is dots; only `reveal()` returns it.
struct Secret: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let text: String

    init(_ text: String) { self.text = text }

    /// The text itself, for sending or signing. Never store it, log it or put it into an error.
    func reveal() -> String { text }

    var description: String { "•••" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// A text that must not be seen: a key, a token, a signature in a URL. Prints as dots; only `reveal()` gives it away.
struct Secret: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let text: String

    init(_ text: String) { self.text = text }

    /// The text itself: to be sent or signed with, never to be stored, logged or put into an error.
    func reveal() -> String { text }

    var description: String { "•••" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}

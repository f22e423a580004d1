/// How many messages may wait in a socket per peer, by their number and by their bytes: libzmq counts messages only.
///
/// A pure value: it says what the mark is to be, from what was received last.
struct ReceiveMark: Sendable {
    /// What one peer may be ahead, whatever the size of its messages.
    private static let least = 4

    private let messages: Int
    private let bytes: Int
    private var current: Int

    init(messages: Int, bytes: Int) {
        self.messages = max(1, messages)
        self.bytes = bytes
        current = self.messages
    }

    /// What the mark is to be from now on; nil where it is near enough to what it is.
    mutating func change(afterMessages count: Int, bytes size: Int) -> Int? {
        guard count > 0, size > 0 else { return nil }
        let wanted = min(messages, max(Self.least, bytes / max(1, size / count)))
        guard wanted <= current / 2 || wanted >= 2 * current || wanted == messages && current != messages else {
            return nil
        }
        current = wanted
        return wanted
    }
}

import Glibc
import ServiceKit

/// How far a command is with a lot of bytes, in a line that moves on a terminal.
final class ByteProgress {
    private let isShown = isatty(STDERR_FILENO) == 1
    private let name: String
    private var shown = ""

    /// - Parameter name: what the bytes are of.
    init(_ name: String) { self.name = name }

    /// - Parameters:
    ///   - total: how many there are; nil if that is not known.
    ///   - verb: what is done with them, such as `checking`; empty if that is clear.
    func show(_ bytes: Int, of total: Int? = nil, doing verb: String = "") {
        guard isShown else { return }
        var text = verb.isEmpty ? "" : "\(verb) "
        if let total {
            text += "\(total > 0 ? min(99, bytes * 100 / total) : 0) % of \(ByteCount(bytes: total).rounded)"
        } else {
            text += ByteCount(bytes: bytes).rounded
        }
        guard text != shown else { return }
        shown = text
        StandardStream.error.print("\r\(name): \(text)\u{1B}[K")
    }

    func clear() {
        guard !shown.isEmpty else { return }
        shown = ""
        StandardStream.error.print("\r\u{1B}[K")
    }
}

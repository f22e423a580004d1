import Glibc
import ServiceKit

/// The progress of a command that processes many bytes, in a line that is rewritten on a terminal.
final class ByteProgress {
    private let isShown = isatty(STDERR_FILENO) == 1
    private let name: String
    private var shown = ""

    /// - Parameter name: the session or file to which the bytes belong.
    init(_ name: String) { self.name = name }

    /// - Parameters:
    ///   - total: the number of all bytes; nil if unknown.
    ///   - verb: what is done with the bytes, such as `checking`; empty if that is clear.
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

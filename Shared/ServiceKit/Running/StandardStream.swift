import Synchronization
import SystemPackage

/// Standard output or error, unbuffered.
///
/// The text of one call stays together, even if several threads print. If the reader is gone, the text is lost and the program
/// continues.
package struct StandardStream {
    /// For requested output.
    package static let output = StandardStream(descriptor: .standardOutput)
    /// For errors.
    package static let error = StandardStream(descriptor: .standardError)

    private static let turn = Mutex(())

    private let descriptor: FileDescriptor

    package func print(_ text: String) {
        print(Array(text.utf8))
    }

    func print(_ bytes: [UInt8]) {
        // A pipe accepts long texts in pieces.
        Self.turn.withLock { _ in _ = try? descriptor.writeAll(bytes) }
    }
}

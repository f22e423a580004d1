import Synchronization
import SystemPackage

/// Standard output or error, written at once and without a buffer.
///
/// What is printed at once stays together, whichever threads print. Where nobody reads any more, the text is lost and the
/// program continues.
package struct StandardStream {
    /// What a person or a program asked for.
    package static let output = StandardStream(descriptor: .standardOutput)
    /// What went wrong.
    package static let error = StandardStream(descriptor: .standardError)

    private static let turn = Mutex(())

    private let descriptor: FileDescriptor

    package func print(_ text: String) {
        print(Array(text.utf8))
    }

    func print(_ bytes: [UInt8]) {
        // A pipe takes long texts in pieces.
        Self.turn.withLock { _ in _ = try? descriptor.writeAll(bytes) }
    }
}

import SystemPackage

/// Standard output or error, written at once and without a buffer.
///
/// Where nobody reads any more, the text is lost and the program goes on.
package struct StandardStream {
    /// What a person or a program asked for.
    package static let output = StandardStream(descriptor: .standardOutput)
    /// What went wrong.
    package static let error = StandardStream(descriptor: .standardError)

    private let descriptor: FileDescriptor

    package func print(_ text: String) {
        print(Array(text.utf8))
    }

    func print(_ bytes: [UInt8]) {
        _ = try? descriptor.writeAll(bytes)
    }
}

@testable import Encryption

/// Keeps what is written to it.
final class MemorySink: ByteSink {
    private(set) var bytes: [UInt8] = []

    func write(_ bytes: UnsafeRawBufferPointer) { self.bytes += bytes }
    func finish() {}
}

@testable import Encryption

/// Collects the written bytes in memory.
final class MemorySink: ByteSink {
    private(set) var bytes: [UInt8] = []

    func write(_ bytes: UnsafeRawBufferPointer) { self.bytes += bytes }
    func finish() {}
}

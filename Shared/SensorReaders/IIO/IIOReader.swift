import PublisherCore
import SampleSources
import SystemPackage
package import ZeroMQ

/// Reads whole scans from a device of Linux IIO, as they arrive.
package actor IIOReader: DeviceReader {
    private static let chunkSize = 1 << 16
    /// After this silence, in nanoseconds, a read checks whether the device is still connected: unplugging does not wake a
    /// waiting reader (Linux, drivers/iio/industrialio-buffer.c, `iio_buffer_poll`), but makes reads fail.
    private static let silence: Int64 = 1_000_000_000

    private let thread: SocketThread
    private let device: IIODevice
    private let monotonic: @Sendable () -> Int64

    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// - Parameter monotonic: the clock of uptimes, in nanoseconds.
    package init(_ device: IIODevice, monotonic: @escaping @Sendable () -> Int64) throws(ZeroMQError) {
        self.device = device
        self.monotonic = monotonic
        thread = try SocketThread(name: "iio")
    }

    package func read(for stream: any DeviceStream) async throws {
        let opened = try device.open(now: monotonic)
        defer { device.close(opened) }
        try await stream.connect(opened.format)
        var chunk = [UInt8](repeating: 0, count: Self.chunkSize)
        // The beginning of an incomplete scan.
        var rest: [UInt8] = []
        while true {
            _ = try await thread.readable(descriptor: opened.file.rawValue, deadline: monotonic() + Self.silence)
            do {
                let count = try chunk.withUnsafeMutableBytes { try opened.file.read(into: $0) }
                guard count > 0 else { throw Errno.noSuchAddressOrDevice }
                rest += chunk[..<count]
            } catch let error as Errno where error == .resourceTemporarilyUnavailable || error == .interrupted {
                continue
            } catch {
                throw IIODevice.problem(opened.device, "can't be read", error)
            }
            await stream.take(
                opened.scan.rows(takingFrom: &rest, named: opened.format.fields), on: opened.clock,
                shiftedBy: 0)
        }
    }
}

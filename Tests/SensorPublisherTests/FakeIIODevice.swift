import FoundationEssentials
import Glibc
import SystemPackage
import TestSupport

/// The file tree that the kernel makes of an IIO device, with a FIFO as its buffer.
struct FakeIIODevice {
    let root: FilePath
    let directory: FilePath
    /// The end of the FIFO to which a driver would write.
    private let buffer: FileDescriptor

    /// An accelerometer with 12 bits in the upper part of 2 bytes, a trigger, and several available rates.
    /// - Parameter values: contents that replace those of files below the device's directory; nil removes a file.
    init(
        at root: FilePath, entry: String = "iio:device0", name: String = "bma180", values: [String: String?] = [:],
        triggers: [String] = ["bma180-dev0"]
    ) throws {
        self.root = root
        let devices = root.appending("sys/bus/iio/devices")
        directory = devices.appending(entry)
        var texts: [String: String?] = [
            "name": name, "in_accel_scale": "0.5", "in_accel_mount_matrix": "0, 1, 0; -1, 0, 0; 0, 0, 1",
            "sampling_frequency": "50", "sampling_frequency_available": "50 100 200.000000",
            "current_timestamp_clock": "realtime", "trigger/current_trigger": "", "buffer/enable": "0",
            "buffer/length": "2", "buffer/watermark": "1", "scan_elements/in_timestamp_en": "0",
            "scan_elements/in_timestamp_index": "3", "scan_elements/in_timestamp_type": "le:s64/64>>0",
        ]
        for (index, axis) in ["x", "y", "z"].enumerated() {
            texts["scan_elements/in_accel_\(axis)_en"] = "0"
            texts["scan_elements/in_accel_\(axis)_index"] = "\(index)"
            texts["scan_elements/in_accel_\(axis)_type"] = "be:s12/16>>4"
        }
        // A program that looks for a device must not find half of one.
        let unfinished = root.appending("unfinished").appending(entry)
        for (path, text) in texts.merging(values, uniquingKeysWith: { $1 }) {
            if let text { try Self.write(text, to: unfinished.appending(path)) }
        }
        for (number, trigger) in triggers.enumerated() {
            try Self.write(trigger, to: devices.appending("trigger\(number)/name"))
        }
        let fifo = root.appending("dev").appending(entry)
        try FileManager.default.createDirectory(
            atPath: fifo.removingLastComponent().string, withIntermediateDirectories: true)
        guard mkfifo(fifo.string, 0o600) == 0 else { throw Errno(rawValue: errno) }
        buffer = try FileDescriptor.open(fifo, .readWrite, options: [.nonBlocking, .closeOnExec])
        try FileManager.default.createDirectory(atPath: devices.string, withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: unfinished.string, toPath: directory.string)
    }

    private static func write(_ text: String, to path: FilePath) throws {
        try FileManager.default.createDirectory(
            atPath: path.removingLastComponent().string, withIntermediateDirectories: true)
        try Data("\(text)\n".utf8).write(to: URL(filePath: path.string))
    }

    /// The text of a file.
    func text(_ path: String) -> String? {
        (FileManager.default.contents(atPath: directory.appending(path).string)).map {
            String(decoding: $0, as: UTF8.self).replacing("\n", with: "")
        }
    }

    /// Waits until the program has started the device.
    func started() async throws {
        try await eventually("a device that is started") { text("buffer/enable") == "1" }
    }

    /// The bytes of a scan, with garbage between the axes and the time.
    func scan(_ axes: [Int], time: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        for axis in axes {
            let word = UInt16(truncatingIfNeeded: axis << 4) | 0xF
            bytes += [UInt8(word >> 8), UInt8(word & 0xFF)]
        }
        bytes += [0xDE, 0xAD]
        return bytes + (0..<8).map { UInt8(truncatingIfNeeded: time >> (8 * $0)) }
    }

    func sample(_ bytes: [UInt8]) throws { _ = try buffer.writeAll(bytes) }

    /// Whether the program has read all bytes.
    var isEmpty: Bool {
        get throws {
            var waiting: CInt = 0
            // FIONREAD of asm-generic/ioctls.h.
            guard ioctl(buffer.rawValue, 0x541B, &waiting) == 0 else { throw Errno(rawValue: errno) }
            return waiting == 0
        }
    }

    /// Removes the device with all its files.
    func unplug() throws {
        try FileManager.default.removeItem(atPath: directory.string)
        try FileManager.default.removeItem(
            atPath: root.appending("dev").appending(directory.lastComponent?.string ?? "").string)
        try buffer.close()
    }
}

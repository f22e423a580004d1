import Compression

/// A zip with uncompressed files.
struct StoredZip {
    private(set) var bytes: [UInt8] = []
    private var directory: [UInt8] = []
    private var count: UInt16 = 0

    init(_ files: [(String, [UInt8])]) {
        for (name, contents) in files { add(name, contents, bytesSaid: contents.count) }
        finish()
    }

    /// A zip with a single file, whose declared length exceeds its content.
    init(_ name: String, _ contents: [UInt8], bytesSaid: Int) {
        add(name, contents, bytesSaid: bytesSaid)
        finish()
    }

    private mutating func add(_ name: String, _ contents: [UInt8], bytesSaid: Int) {
        let checksum = contents.withUnsafeBytes { Checksum.crc32($0) }
        func fields(_ bytes: inout [UInt8]) {
            bytes.append(little: 20 as UInt16)
            bytes.append(little: 0 as UInt16)
            bytes.append(little: 0 as UInt16)
            bytes.append(little: 0x5B75_5000 as UInt32)
            bytes.append(little: checksum)
            bytes.append(little: UInt32(bytesSaid))
            bytes.append(little: UInt32(bytesSaid))
            bytes.append(little: UInt16(name.utf8.count))
            bytes.append(little: 0 as UInt16)
        }
        directory.append(little: 0x0201_4B50 as UInt32)
        directory.append(little: 20 as UInt16)
        fields(&directory)
        for _ in 0..<3 { directory.append(little: 0 as UInt16) }
        directory.append(little: 0x81A4_0000 as UInt32)
        directory.append(little: UInt32(bytes.count))
        directory += name.utf8
        bytes.append(little: 0x0403_4B50 as UInt32)
        fields(&bytes)
        bytes += name.utf8
        bytes += contents
        count += 1
    }

    private mutating func finish() {
        let start = bytes.count
        bytes += directory
        bytes.append(little: 0x0605_4B50 as UInt32)
        bytes.append(little: 0 as UInt32)
        bytes.append(little: count)
        bytes.append(little: count)
        bytes.append(little: UInt32(directory.count))
        bytes.append(little: UInt32(start))
        bytes.append(little: 0 as UInt16)
    }
}

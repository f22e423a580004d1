/// A gzip file (RFC 1952) whose content is stored uncompressed.
package func gzipStored(_ content: [UInt8]) -> [UInt8] {
    func littleEndian(_ value: UInt32, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) }
    }
    var bytes: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
    for start in stride(from: 0, to: max(1, content.count), by: 65535) {
        let block = content[start..<min(content.count, start + 65535)]
        let isLast = start + 65535 >= content.count
        bytes.append(isLast ? 1 : 0)
        bytes += littleEndian(UInt32(block.count), 2) + littleEndian(~UInt32(block.count), 2) + block
    }
    var checksum: UInt32 = ~0
    for byte in content {
        checksum ^= UInt32(byte)
        for _ in 0..<8 { checksum = checksum & 1 == 1 ? checksum >> 1 ^ 0xEDB8_8320 : checksum >> 1 }
    }
    return bytes + littleEndian(~checksum, 4) + littleEndian(UInt32(content.count), 4)
}

import SystemPackage

extension SessionFiles {
    /// The uptime of a log's last sample, found in the ends of its files: cheap enough for polling.
    func lastUptime(of log: String, format: String) throws -> Double? {
        for file in (logs[log] ?? []).reversed() {
            for line in try tail(of: file.name).split(separator: UInt8(ascii: "\n")).reversed() {
                if let uptime = Self.uptime(in: Substring(decoding: line, as: UTF8.self), format: format) {
                    return uptime
                }
            }
        }
        return nil
    }

    private func tail(of name: String, bytes: Int64 = 16_384) throws -> [UInt8] {
        let descriptor = try FileDescriptor.open(directory.appending(name), .readOnly)
        return try descriptor.closeAfter {
            let length = try descriptor.seek(offset: 0, from: .end)
            return try Array(unsafeUninitializedCapacity: Int(min(length, bytes))) { buffer, count in
                count = try descriptor.read(
                    fromAbsoluteOffset: max(0, length - bytes), into: UnsafeMutableRawBufferPointer(buffer))
            }
        }
    }

    /// The uptime of a line that is a whole sample.
    private static func uptime(in line: Substring, format: String) -> Double? {
        if format == "json" {
            guard line.contains("\"sensorType\":"), line.last == "," || line.last == "}",
                let value = line.firstRange(of: "{\"uptime\":")
            else { return nil }
            return Double(line[value.upperBound...].prefix { $0 != "," })
        }
        let columns = line.split(separator: format == "tsv" ? "\t" : ",", omittingEmptySubsequences: false)
        return columns.count > 4 && !columns[3].isEmpty ? Double(columns[0]) : nil
    }
}

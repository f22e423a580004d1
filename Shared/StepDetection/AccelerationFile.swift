import CZlib

/// A table of accelerations on disk, plain or compressed with gzip (zlib tells which), read from its beginning to its end.
///
/// Holds one chunk and one line, however long the file is.
package enum AccelerationFile {
    private static let chunkSize = 1 << 16
    private static let longestLine = 1 << 20

    /// Gives every sample, seconds and three axes, to `body`, in the file's order.
    ///
    /// - Returns: the number of rows that were no samples.
    /// - Throws: `unreadable` if the file cannot be opened or read, or was cut off; `invalidInput` if its columns are not known.
    package static func read(
        _ path: String, _ body: (SIMD4<Double>) -> Void
    ) throws(StepDetectionError) -> Int {
        guard let file = gzopen(path, "rb") else {
            throw StepDetectionError(.unreadable, "\(path): cannot be opened")
        }
        defer { gzclose(file) }
        var table = AccelerationTable()
        var leftOut = -1
        var line: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: chunkSize)

        func take() throws(StepDetectionError) {
            defer { line.removeAll(keepingCapacity: true) }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            if line.isEmpty { return }
            do throws(StepDetectionError) {
                if let sample = try table.sample(line.span) {
                    leftOut = max(0, leftOut)
                    body(sample)
                } else {
                    // A header is not a row.
                    leftOut += 1
                }
            } catch {
                throw StepDetectionError(error.code, "\(path): \(error.message)")
            }
        }

        while true {
            let count = Int(gzread(file, &chunk, UInt32(chunkSize)))
            // A compressed file that was cut off reads as a short one: only the error state tells (zlib.h, gzread).
            var code: Int32 = 0
            let problem = gzerror(file, &code).map { String(cString: $0) } ?? ""
            guard count >= 0, code == Z_OK || code == Z_STREAM_END else {
                let isCutOff = code == Z_BUF_ERROR
                throw StepDetectionError(
                    .unreadable,
                    "\(path): \(isCutOff ? "was cut off: it ends too early" : "cannot be read: \(problem)")")
            }
            if count == 0 { break }
            var start = 0
            for end in 0..<count where chunk[end] == UInt8(ascii: "\n") {
                line.append(contentsOf: chunk[start..<end])
                try take()
                start = end + 1
            }
            line.append(contentsOf: chunk[start..<count])
            guard line.count <= longestLine else {
                throw StepDetectionError(.invalidInput, "\(path): a line is longer than \(longestLine) bytes")
            }
        }
        try take()
        return max(0, leftOut)
    }
}

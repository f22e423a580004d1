package import FoundationEssentials
import CZlib
import SystemPackage

/// Reads a file from its beginning, plain or compressed with gzip, as zlib detects.
///
/// Not for concurrent use, since the file has one position.
package final class GzipFile<Failure: TextInputFailure> {
    /// Bytes read at once.
    private static var chunkSize: Int { 1 << 16 }

    private let path: String
    private let file: gzFile
    private var chunk = [UInt8](repeating: 0, count: chunkSize)

    /// - Throws: `unreadable` if the file cannot be opened.
    package init(path: String) throws(Failure) {
        let descriptor: FileDescriptor
        do {
            descriptor = try FileDescriptor.open(FilePath(path), .readOnly, options: .closeOnExec)
        } catch {
            throw Failure(TextInputError(.unreadable, "\(path): cannot be opened: \(error)"))
        }
        guard let file = gzdopen(descriptor.rawValue, "rb") else {
            try? descriptor.close()
            throw Failure(TextInputError(.unreadable, "\(path): cannot be opened: out of memory"))
        }
        self.path = path
        self.file = file
    }

    deinit {
        gzclose(file)
    }

    /// Passes the next chunk to `body`; at the end, returns false without calling `body`.
    ///
    /// - Throws: `unreadable` if reading fails or a compressed file is truncated.
    package func read(_ body: (Span<UInt8>) -> Void) throws(Failure) -> Bool {
        let count = Int(gzread(file, &chunk, UInt32(Self.chunkSize)))
        guard count >= 0 else { throw failure() }
        if count < Self.chunkSize {
            // A truncated compressed file reads like a shorter one; only the error state differs (zlib.h, gzread).
            var code: Int32 = 0
            gzerror(file, &code)
            guard code == Z_OK || code == Z_STREAM_END else { throw failure() }
        }
        guard count > 0 else { return false }
        let read = chunk
        body(read.span.extracting(0..<count))
        return true
    }

    /// Reads the rest of the file.
    package func readAll() throws(Failure) -> Data {
        var all = Data()
        while try read({ chunk in chunk.withUnsafeBufferPointer { all.append($0) } }) {}
        return all
    }

    package func rewind() throws(Failure) {
        guard gzrewind(file) == 0 else { throw failure() }
    }

    private func failure() -> Failure {
        var code: Int32 = 0
        let text = gzerror(file, &code).map { String(cString: $0) } ?? ""
        let problem =
            code == Z_BUF_ERROR ? "the compressed file is truncated: it ends too early" : "cannot be read: \(text)"
        return Failure(TextInputError(.unreadable, "\(path): \(problem)"))
    }
}

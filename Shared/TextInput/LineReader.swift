/// Reads a file, plain or compressed with gzip, line by line.
package final class LineReader<Failure: TextInputFailure> {
    private let path: String
    private let file: GzipFile<Failure>
    private var lines = LineSplitter()
    private var isAtEnd = false

    /// - Throws: `unreadable` if the file cannot be opened.
    package init(path: String) throws(Failure) {
        self.path = path
        file = try GzipFile(path: path)
    }

    /// Passes the next line, without its end (LF or CR LF), to `body`; at the end, returns false without calling `body`.
    ///
    /// - Throws: `unreadable` if reading fails; `invalidInput` if a line is too long, or the error of `body`, both prefixed with
    ///   file and line. The line is consumed even then.
    package func next(_ body: (Span<UInt8>) throws(Failure) -> Void) throws(Failure) -> Bool {
        while true {
            do throws(Failure) {
                if try lines.next(body) { return true }
            } catch {
                throw error.at("\(path), line \(lines.lineNumber)")
            }
            if isAtEnd { return false }
            if try !file.read({ lines.append($0) }) {
                isAtEnd = true
                lines.finish()
            }
        }
    }

    package func rewind() throws(Failure) {
        try file.rewind()
        lines = LineSplitter()
        isAtEnd = false
    }
}

/// Reads a file, plain or compressed with gzip, line by line.
final class LineReader {
    private let path: String
    private let file: GzipFile
    private var lines = LineSplitter()
    private var isAtEnd = false

    /// - Throws: `unreadable` if the file cannot be opened.
    init(path: String) throws(PublisherError) {
        self.path = path
        file = try GzipFile(path: path)
    }

    /// Lends the next line to `body`; nil at the end.
    ///
    /// - Throws: `unreadable` if reading fails; what `body` throws, with the file and line in front.
    func next<Result>(_ body: (Span<UInt8>) throws(PublisherError) -> Result) throws(PublisherError) -> Result? {
        while true {
            do throws(PublisherError) {
                if let result = try lines.next(body) { return result }
            } catch {
                throw error.at("\(path), line \(lines.lineNumber)")
            }
            if isAtEnd { return nil }
            if try !file.read({ lines.append($0) }) {
                isAtEnd = true
                lines.finish()
            }
        }
    }

    /// Goes back to the first line.
    func rewind() throws(PublisherError) {
        try file.rewind()
        lines = LineSplitter()
        isAtEnd = false
    }
}

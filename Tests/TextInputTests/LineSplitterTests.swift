import Testing
import TextInput

@Suite(.timeLimit(.minutes(5)))
struct LineSplitterTests {
    private func next(_ splitter: inout LineSplitter, _ lines: inout [String]) throws(TextInputError) -> Bool {
        try splitter.next { (line) throws(TextInputError) in
            lines.append(line.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
        }
    }

    /// All lines of a text that arrives in chunks of `size` bytes.
    private func lines(_ text: String, chunk size: Int) throws -> [String] {
        var splitter = LineSplitter()
        var lines: [String] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            splitter.append(bytes.span.extracting(start..<min(bytes.count, start + size)))
            while try next(&splitter, &lines) {}
        }
        splitter.finish()
        while try next(&splitter, &lines) {}
        #expect(splitter.lineNumber == lines.count)
        return lines
    }

    @Test(arguments: 1...20) func linesDoNotDependOnTheChunks(size: Int) throws {
        #expect(try lines("one\r\ntwo\n\nfour\n\r\nsix", chunk: size) == ["one", "two", "", "four", "", "six"])
        #expect(try lines("a\n", chunk: size) == ["a"])
        #expect(try lines("", chunk: size).isEmpty)
    }

    @Test(arguments: [1000, 1 << 16, 1 << 22]) func aLineThatIsTooLongIsSkippedAndCounted(size: Int) throws {
        var splitter = LineSplitter()
        let long = [UInt8](repeating: UInt8(ascii: "7"), count: 3 << 20)
        let bytes = Array("a\n".utf8) + long + Array("\nb\n".utf8)
        var found: [String] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            splitter.append(bytes.span.extracting(start..<min(bytes.count, start + size)))
            var isMore = true
            while isMore {
                do throws(TextInputError) {
                    isMore = try next(&splitter, &found)
                } catch {
                    found.append("line \(splitter.lineNumber): \(error.code.rawValue)")
                }
            }
        }
        #expect(found == ["a", "line 2: invalidInput", "b"])
        #expect(splitter.lineNumber == 3)
    }
}

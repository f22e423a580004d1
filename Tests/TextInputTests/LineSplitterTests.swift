import Testing
import TextInput

@Suite(.timeLimit(.minutes(1)))
struct LineSplitterTests {
    /// All lines of a text that comes in chunks of `size` bytes.
    private func lines(_ text: String, chunk size: Int) throws -> [String] {
        var splitter = LineSplitter<TextInputError>()
        var lines: [String] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            splitter.append(bytes.span.extracting(start..<min(bytes.count, start + size)))
            while let line = try splitter.next({ lineText($0) }) { lines.append(line) }
        }
        splitter.finish()
        while let line = try splitter.next({ lineText($0) }) { lines.append(line) }
        #expect(splitter.lineNumber == lines.count)
        return lines
    }

    @Test(arguments: 1...20) func linesDoNotDependOnTheChunks(size: Int) throws {
        #expect(try lines("one\r\ntwo\n\nfour\n\r\nsix", chunk: size) == ["one", "two", "", "four", "", "six"])
        #expect(try lines("a\n", chunk: size) == ["a"])
        #expect(try lines("", chunk: size).isEmpty)
    }

    @Test(arguments: [1000, 1 << 16, 1 << 22]) func aLineThatIsTooLongIsSkippedAndCounted(size: Int) throws {
        var splitter = LineSplitter<TextInputError>()
        let long = [UInt8](repeating: UInt8(ascii: "7"), count: 3 << 20)
        let bytes = Array("a\n".utf8) + long + Array("\nb\n".utf8)
        var found: [String] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            splitter.append(bytes.span.extracting(start..<min(bytes.count, start + size)))
            var isMore = true
            while isMore {
                do throws(TextInputError) {
                    if let line = try splitter.next({ lineText($0) }) {
                        found.append(line)
                    } else {
                        isMore = false
                    }
                } catch {
                    found.append("line \(splitter.lineNumber): \(error.code.rawValue)")
                }
            }
        }
        #expect(found == ["a", "line 2: invalidInput", "b"])
        #expect(splitter.lineNumber == 3)
    }
}

/// A line's bytes as text.
private func lineText(_ line: Span<UInt8>) -> String {
    line.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
}

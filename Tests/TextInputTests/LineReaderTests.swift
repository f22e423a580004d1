import TestSupport
import Testing
import TextInput

@Suite(.timeLimit(.minutes(5)))
struct LineReaderTests {
    /// An error that the reader's caller throws.
    private enum Mistake: TextInputFailure, Equatable {
        case text(TextInputError)
        case number(String)

        init(_ error: TextInputError) {
            self = .text(error)
        }

        func at(_ place: String) -> Self {
            switch self {
            case .text(let error): .text(error.at(place))
            case .number(let problem): .number("\(place): \(problem)")
            }
        }
    }

    private func next(_ reader: LineReader<Mistake>) throws(Mistake) -> Int? {
        var number: Int?
        _ = try reader.next { (line) throws(Mistake) in
            let text = line.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            number = Int(text)
            if number == nil { throw .number("\"\(text)\" is not a number") }
        }
        return number
    }

    @Test func whatTheReaderCannotUseIsItsOwnErrorWithThePlace() throws {
        try withFile("numbers", "1\r\ntwo\n3") { path in
            let reader = try LineReader<Mistake>(path: path)
            for _ in 1...2 {
                #expect(try next(reader) == 1)
                #expect(throws: Mistake.number("\(path), line 2: \"two\" is not a number")) { try next(reader) }
                #expect(try next(reader) == 3)
                #expect(try next(reader) == nil)
                try reader.rewind()
            }
        }
    }

    @Test func theTextsOwnFailureIsToldInTheSameType() throws {
        let missing = TextInputError(.unreadable, "no/such.csv: cannot be opened: No such file or directory")
        #expect(throws: Mistake.text(missing)) { try LineReader<Mistake>(path: "no/such.csv") }
    }

    @Test func aCompressedFileThatIsCutOffAnywhereIsUnreadable() throws {
        let whole = gzipStored(Array("1\n2\n".utf8))
        for length in 2..<whole.count {
            try withFile("numbers.gz", Array(whole[..<length])) { path in
                let error = #expect(throws: TextInputError.self) {
                    let reader = try LineReader<TextInputError>(path: path)
                    while try reader.next({ _ in }) {}
                }
                #expect(error?.code == .unreadable)
                #expect(error?.message == "\(path): the compressed file is truncated: it ends too early")
            }
        }
    }
}

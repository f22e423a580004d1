import Hashing
import Files
import Recording
import Testing

@testable import Archives

@Suite struct GeneratedSourceTests {
    private static let pieces: [[UInt8]] = [[], [1, 2, 3], [], [4], Array(repeating: 5, count: 1_000), []]

    @Test(arguments: [1, 2, 3, 4, 7, 1_003, 1_004, 5_000]) func itIsReadInAnyPieces(size: Int) {
        let whole = Self.pieces.flatMap { $0 }
        let source = GeneratedSource(Self.pieces)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
        defer { buffer.deallocate() }
        // The second pass starts over after a partial one.
        for isWhole in [false, true, true] {
            var read: [UInt8] = []
            while !source.isAtEnd, isWhole || read.count < 500 {
                read += buffer.prefix(source.read(into: buffer))
            }
            #expect(read == Array(whole.prefix(read.count)))
            #expect(source.count == whole.count)
            if isWhole {
                #expect(read.count == whole.count)
                #expect(source.sha256 == SHA256.hash(data: whole).hexDigits)
            }
            source.rewind()
        }
    }

    @Test func nothingIsAtItsEnd() {
        let source = GeneratedSource([UInt8]())
        #expect(source.isAtEnd && source.count == 0)
        #expect(GeneratedSource([[], []] as [[UInt8]]).isAtEnd)
    }
}

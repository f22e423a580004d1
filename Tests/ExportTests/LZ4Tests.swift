import Compression
import TestSupport
import Testing

/// LZ4 frames, read back by a reader that shares no code with the writer.
struct LZ4Tests {
    @Test func whateverIsCompressedIsReadBack() throws {
        var random = SplitMix(seed: 11)
        var lz4 = LZ4()
        for count in [0, 1, 4, 5, 12, 13, 14, 20, 100, 300, 5000, 70_000, 5 << 20] {
            // Several blocks: one long match, stored blocks, and a mixture.
            for kind in count > 4 << 20 ? 0..<3 : 0..<4 {
                let source = (0..<count).map { index -> UInt8 in
                    switch kind {
                    case 0: 0
                    case 1: UInt8.random(in: 0...255, using: &random)
                    case 2: UInt8(truncatingIfNeeded: index % 324 < 60 ? Int.random(in: 0...255, using: &random) : 0)
                    default: UInt8(truncatingIfNeeded: index % 7 &+ index / 1000)
                    }
                }
                let frame = [UInt8](unsafeUninitializedCapacity: LZ4.maximumSize(of: count)) { room, length in
                    length = source.withUnsafeBytes { lz4.compress($0, to: UnsafeMutableRawPointer(room.baseAddress!)) }
                    precondition(length <= room.count)
                }
                #expect(try Self.decoded(frame) == source, "\(count) bytes of kind \(kind)")
                if kind == 0, count > 1000 { #expect(frame.count < count / 50) }
                if kind == 2, count > 5000 { #expect(frame.count < count / 3) }
            }
        }
    }

    private static func decoded(_ frame: [UInt8]) throws -> [UInt8] {
        try #require(frame.starts(with: [0x04, 0x22, 0x4D, 0x18, 0x60, 0x70, 0x73]))
        func word(_ place: Int) -> Int {
            Int(frame[place]) | Int(frame[place + 1]) << 8 | Int(frame[place + 2]) << 16 | Int(frame[place + 3]) << 24
        }
        var result: [UInt8] = []
        var place = 7
        while word(place) != 0 {
            let size = word(place) & 0x7FFF_FFFF
            let isStored = word(place) >> 31 == 1
            place += 4
            let block = Array(frame[place..<(place + size)])
            result += isStored ? block : decodedBlock(block)
            place += size
        }
        try #require(place + 4 == frame.count)
        return result
    }

    private static func decodedBlock(_ block: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var place = 0
        func length(_ start: Int) -> Int {
            var length = start
            guard start == 15 else { return length }
            while true {
                length += Int(block[place])
                place += 1
                if block[place - 1] != 255 { return length }
            }
        }
        while place < block.count {
            let token = Int(block[place])
            place += 1
            let literals = length(token >> 4)
            result += block[place..<(place + literals)]
            place += literals
            guard place < block.count else { break }
            let distance = Int(block[place]) | Int(block[place + 1]) << 8
            place += 2
            let match = length(token & 15) + 4
            for _ in 0..<match { result.append(result[result.count - distance]) }
        }
        return result
    }
}

import Files
import Messages
import SystemPackage
import TestSupport
import Testing

@testable import Recording

@Suite(.timeLimit(.minutes(5)))
struct SegmentHashTests {
    private let log = LogFixture()

    /// A file of a few megabytes, so that some of its pages are dropped from memory between updates.
    @Test(arguments: [UInt64(3), UInt64.random(in: 0 ... .max)])
    func aHashTakenPieceByPieceIsThatOfTheWhole(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        try withTemporaryDirectory { directory in
            let file = try log.makeFile(in: directory, .json, .dictionary)
            var hash = SegmentHash()
            let batch = log.batches(.json)[1]
            while file.byteCount < 5 << 20 {
                let times = Int.random(in: 1...5000, using: &random)
                try log.append((String(repeating: batch.text, count: times), 2 * times), to: file)
                try file.handle.sync()
                try hash.update(
                    file.handle, upTo: file.stableByteCount, atMost: Int.random(in: 0...2 << 20, using: &random))
            }
            #expect(hash.count > 0 && hash.count <= file.stableByteCount)
            let sealed = try file.seal(at: .now, after: nil)
            let finished = try sealed.complete(hash: hash)
            let measured = try FinishedFile.measure(directory.path.appending(finished.name))
            #expect(finished.sha256 == measured.sha256, "seed \(seed)")
            #expect(finished.bytes == measured.bytes)
            #expect(try sealed.complete(hash: nil) == finished)
        }
    }

    /// A hash that has not seen the whole file reads the missing bytes itself.
    @Test func bytesCountOnlyIfTheyFollowOnWhatIsHashed() throws {
        try withTemporaryDirectory { directory in
            let file = try log.makeFile(in: directory)
            for batch in log.batches(.json) { try log.append(batch, to: file) }
            let end = file.stableByteCount
            let bytes = try file.handle.bytes(in: 0..<end)
            var hash = SegmentHash()
            bytes.withUnsafeBytes { bytes in
                hash.add(UnsafeRawBufferPointer(rebasing: bytes[..<10]), at: 0)
                hash.add(UnsafeRawBufferPointer(rebasing: bytes[20..<end]), at: 20)
            }
            #expect(hash.count == 10)
            try hash.update(file.handle, upTo: 20)
            bytes.withUnsafeBytes { hash.add(UnsafeRawBufferPointer(rebasing: $0[20..<end]), at: 20) }
            #expect(hash.count == end)
            var fresh = SegmentHash()
            try fresh.update(file.handle, upTo: end)
            #expect(hash.digits == fresh.digits)
        }
    }

    @Test func aFileThatBecameShorterIsNoticed() throws {
        try withTemporaryDirectory { directory in
            let file = try log.makeFile(in: directory)
            for batch in log.batches(.json) { try log.append(batch, to: file) }
            var hash = SegmentHash()
            try hash.update(file.handle, upTo: 20)
            let other = try FileDescriptor.open(file.path, .writeOnly)
            try other.closeAfter { try other.resize(to: 50) }
            #expect(throws: RecordingError.self) { try hash.update(file.handle, upTo: file.stableByteCount) }
            // Only hashed bytes are counted.
            #expect(hash.count == 20)
            var fresh = SegmentHash()
            for end in 1...50 { try fresh.update(file.handle, upTo: end) }
            #expect(fresh.digits == (try FinishedFile.measure(file.path).sha256))
        }
    }
}

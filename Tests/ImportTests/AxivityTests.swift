import Files
import Import
import Messages
import TestSupport
import Testing

/// `.cwa` files: each sample has its value and time; each missing or damaged block becomes a gap.
@Suite struct AxivityTests {
    private static let ten: Int64 = 1_795_255_200_000_000_000

    private static func bytes(_ blocks: [CWAFile.Block], header: [UInt8] = CWAFile.header()) -> [UInt8] {
        header + blocks.flatMap(\.bytes)
    }

    private static func decoded(_ bytes: [UInt8], zone: Int = 0) throws -> Collected {
        try Collected(AxivityDecoder(zone: zone), bytes)
    }

    private static func expect(_ block: CWAFile.Block, _ values: [[Double]]) throws {
        let found = try decoded(bytes([block]))
        #expect(found.samples.map(\.values) == values)
    }

    @Test func samplesOf16BitsAreReadWithTheirUnit() throws {
        var block = CWAFile.Block(samples: [[256, -512, 1], [32767, -32768, 0]])
        try Self.expect(block, [[1, -2, 0.00390625], [127.99609375, -128, 0]])
        block.scales = 3 << 13
        try Self.expect(block, [[0.125, -0.25, 0.00048828125], [15.99951171875, -16, 0]])
    }

    /// The first word of a published recording, example-610-steps.cwa.
    @Test func packedSamplesAreReadWithTheirExponent() throws {
        var block = CWAFile.Block(layout: 0x30, samples: [[-14, 8, -63]], exponents: [2])
        #expect(Array(block.bytes[30..<34]) == [0xF2, 0x23, 0x10, 0xBC])
        try Self.expect(block, [[-0.21875, 0.125, -0.984375]])
        block.exponents = [3]
        block.samples = [[511, -512, 1]]
        try Self.expect(block, [[15.96875, -16, 0.03125]])
    }

    @Test func anAX6HasTwoStreams() throws {
        let blocks = CWAFile.blocks(3, of: 40, layout: 0x62, columns: 6) { sample, column in
            Int16(sample * 6 + column)
        }.map { block in
            var block = block
            // ±1000 degrees a second.
            block.scales = 3 << 10
            return block
        }
        let found = try Self.decoded(Self.bytes(blocks, header: CWAFile.header(hardware: 0x64, device: 0x6_0001)))
        #expect(found.streams.map(\.name.description) == ["ax6-393217/accelerometer", "ax6-393217/gyroscope"])
        #expect(found.streams.map(\.unit) == ["g", "deg/s"])
        #expect(found.samples.count == 120)
        let acceleration: [Double] = [0.03515625, 0.0390625, 0.04296875]
        #expect(found.samples[1].values == acceleration)
        let rotation: [Double] = [6, 7, 8].map { (count: Double) -> Double in count * 1000 / 32768 }
        let rotations = found.samples(of: 1)
        #expect(rotations[1].values == rotation)
        #expect(found.samples.map(\.time) == rotations.map(\.time))
    }

    /// Nominally 100 Hz, actually 98 Hz.
    @Test func timesLieOnLinesBetweenTheDatesOfBlocks() throws {
        let found = try Self.decoded(Self.bytes(CWAFile.blocks(50) { sample, _ in Int16(sample) }))
        #expect(found.samples.count == 4000)
        #expect(found.start == found.samples[0].time)
        for (index, sample) in found.samples.enumerated() {
            let expected: Int64 = Self.ten + Int64(Double(index) / 98 * 1e9)
            // Offsets are whole samples.
            let difference: Int64 = abs(sample.time - expected)
            #expect(difference < 11_000_000, "sample \(index)")
            let value = Double(index) / 256
            #expect(sample.values == [value, value, value])
        }
        let times: [Int64] = found.samples.map(\.time)
        #expect(times == Array(Set(times)).sorted())
        #expect(found.failures.isEmpty)
    }

    /// The date applies to the sample that the block names, and the fraction is added to the date.
    @Test func fractionsMoveTheDateAndItsSample() throws {
        var blocks = CWAFile.blocks(2) { _, _ in 0 }
        blocks[0].fraction = nil
        blocks[0].offset = 50
        blocks[1].fraction = 16384
        // (16384 × 100) >> 15 is 50 samples, so the date is half a second later, and applies to sample 20.
        blocks[1].offset = -30
        blocks[1].date = [2026, 11, 21, 10, 0, 0]
        let found = try Self.decoded(Self.bytes(blocks))
        // 0.5 s for 50 samples.
        #expect(found.samples[50].time == Self.ten)
        #expect(found.samples[100].time == Self.ten + 500_000_000)
        #expect(found.samples[75].time == Self.ten + 250_000_000)
    }

    @Test func theZoneIsTakenAway() throws {
        let blocks = CWAFile.blocks(2) { _, _ in 0 }
        let utc = try Self.decoded(Self.bytes(blocks))
        let east = try Self.decoded(Self.bytes(blocks), zone: 3600)
        #expect(east.start == utc.start - 3_600_000_000_000)
    }

    @Test func aLostBlockIsAGap() throws {
        var blocks = CWAFile.blocks(10) { sample, _ in Int16(sample) }
        blocks.remove(at: 4)
        let found = try Self.decoded(Self.bytes(blocks))
        #expect(found.gaps == [["320", "80", "notInSource"]])
        #expect(found.samples.count == 720)
        #expect(found.samples[320].values[0] == 1.5625)
        // Times start over where the block numbers break: within one sample of the times without the loss.
        let whole = try Self.decoded(Self.bytes(CWAFile.blocks(10) { sample, _ in Int16(sample) }))
        let difference: Int64 = abs(found.samples[320].time - whole.samples[400].time)
        #expect(difference <= 11_000_000)
    }

    @Test func aBlockWithAWrongChecksumIsAGap() throws {
        var bytes = Self.bytes(CWAFile.blocks(10) { sample, _ in Int16(sample) })
        bytes[1024 + 3 * 512 + 100] ^= 1
        bytes[1024 + 9 * 512 + 100] ^= 1
        let found = try Self.decoded(bytes)
        #expect(found.gaps == [["240", "80", "malformed"], ["640", "80", "malformed"]])
        #expect(found.failures == ["2 blocks are damaged or not of this recording, the first at byte 2560"])
    }

    @Test func absentAndDamagedBlocksAreToldApart() throws {
        let blocks = CWAFile.blocks(10) { sample, _ in Int16(sample) }
        var bytes = Self.bytes([blocks[1], blocks[2], blocks[3], blocks[7]])
        bytes[1024 + 2 * 512] = 0
        let found = try Self.decoded(bytes)
        #expect(
            found.gaps == [["0", "80", "notInSource"], ["160", "80", "malformed"], ["160", "240", "notInSource"]])
    }

    @Test(arguments: [true, false])
    func aRestartOfTheDeviceIsAPause(numberedAnew isNumberedAnew: Bool) throws {
        let first = CWAFile.blocks(3) { sample, _ in Int16(sample) }
        var second = CWAFile.blocks(2) { sample, _ in Int16(-sample) }
        for index in second.indices {
            second[index].date[3] = 12
            if !isNumberedAnew { second[index].sequence += 3 }
        }
        second[0].events = 1
        let found = try Self.decoded(Self.bytes(first + second))
        #expect(found.gaps.isEmpty && found.failures.isEmpty)
        #expect(found.samples.count == 400)
        let pause: [Decoded] = [.pause(at: found.samples[239].time), .resume(at: found.samples[240].time)]
        let run: [Decoded] = isNumberedAnew ? [.run("ax3-39434-7-2")] : []
        #expect(found.others == pause + run)
        #expect(found.streams.first?.run == "ax3-39434-7-1")
        // No times are interpolated across the pause.
        let times: [Int64] = found.samples.map(\.time)
        #expect(times[240] > times[239] + 7_000_000_000_000)
        #expect(times[241] < times[240] + 12_000_000)
    }

    @Test func repeatedBlocksAreLeftOut() throws {
        let blocks = CWAFile.blocks(4) { sample, _ in Int16(sample) }
        let found = try Self.decoded(Self.bytes([blocks[0], blocks[1], blocks[2], blocks[1], blocks[3]]))
        #expect(found.samples.count == 320)
        #expect(found.others == [.duplicates(stream: 0, count: 80)])
        #expect(found.failures == ["1 blocks repeat earlier ones, and are left out"])
    }

    /// It has the previous block's date, which does not mean that the device restarted.
    @Test(arguments: [0, 1, 2, 3])
    func aBlockThatIsThereTwiceIsLeftOutOnce(index: Int) throws {
        var blocks = CWAFile.blocks(4) { sample, _ in Int16(sample) }
        blocks[0].events = 1
        let once = try Self.decoded(Self.bytes(blocks))
        blocks.insert(blocks[index], at: index)
        let found = try Self.decoded(Self.bytes(blocks))
        #expect(found.samples == once.samples)
        #expect(found.gaps.isEmpty)
        #expect(found.others == [.duplicates(stream: 0, count: 80)])
        #expect(found.failures == ["1 blocks repeat earlier ones, and are left out"])
    }

    @Test func memoryThatWasNeverWrittenIsNoDamage() throws {
        let bytes = Self.bytes(CWAFile.blocks(2) { _, _ in 0 })
        for filler in [UInt8(0), 0xFF] {
            let found = try Self.decoded(bytes + [UInt8](repeating: filler, count: 5 * 512))
            #expect(found.failures.isEmpty && found.gaps.isEmpty)
            #expect(found.samples.count == 160)
        }
    }

    @Test func piecesOfAnyLengthGiveTheSame() throws {
        var bytes = Self.bytes(CWAFile.blocks(6) { sample, column in Int16(sample + column) })
        bytes[2000] ^= 7
        let whole = try Self.decoded(bytes)
        for size in [1, 7, 511, 512, 1023, 4000] {
            #expect(try Collected(AxivityDecoder(zone: 0), bytes, inPiecesOf: size).all == whole.all, "\(size)")
        }
    }

    @Test func theHeaderSaysWhatWasEntered() throws {
        let header = CWAFile.header(annotation: "_c=Centre+A&_n=first%20week&empty=")
        var decoder = AxivityDecoder(zone: 0)
        try (header + CWAFile.Block(samples: [[0, 0, 0]]).bytes).withUnsafeBytes { bytes in
            try decoder.decode(bytes) { _ in }
        }
        #expect(decoder.header?.model == "AX3")
        #expect(decoder.header?.identifier == 39434)
        #expect(decoder.header?.annotation == ["_c": "Centre A", "_n": "first week"])
    }

    @Test func personalDetailsInTheHeaderAreNoKeys() {
        let details = "_sc=P07&_se=f&_h=170&_w=64&_ha=l&_sn=Jane+Doe"
        let header = CWAFile.header(annotation: details).withUnsafeBytes { AxivityHeader($0) }
        #expect(header?.keys["annotation"] == .object(["_sc": .string("P07")]))
    }

    @Test func aFileThatEndsEarlySaysSo() throws {
        let bytes = Self.bytes(CWAFile.blocks(3) { _, _ in 0 })
        let found = try Self.decoded(Array(bytes.dropLast(200)))
        #expect(found.samples.count == 160)
        #expect(found.failures == ["the file ends in the middle of a block, after 2360 bytes"])
    }

    @Test func hugeNumbersAreTakenAsTheyAre() throws {
        var blocks = CWAFile.blocks(3) { _, _ in 1 }
        blocks[1].sequence = .max
        blocks[2].count = .max
        blocks[2].sequence = 0
        blocks[2].session = 8
        let found = try Self.decoded(Self.bytes(blocks))
        #expect(found.samples.count == 240)
        let lost: Int = (Int(UInt32.max) - 1) * 80
        #expect(found.gaps == [["80", "\(lost)", "notInSource"]])
        #expect(found.failures == ["1 blocks say that they have more samples than fit"])
    }

    @Test func impossibleDatesAreDamage() throws {
        var blocks = CWAFile.blocks(3) { _, _ in 1 }
        blocks[1].date = [2026, 13, 41, 10, 0, 0]
        let found = try Self.decoded(Self.bytes(blocks))
        #expect(found.gaps == [["80", "80", "malformed"]])
    }

    @Test func whatIsNoRecordingIsRefused() {
        for bytes in [[], [UInt8](repeating: 0, count: 5000), Array("time,x\n1,2\n".utf8), CWAFile.header()] {
            #expect(throws: RecordingError.self) { try Self.decoded(bytes) }
        }
    }

    @Test func layoutsOfLaterDevicesAreRefused() {
        let block = CWAFile.Block(layout: 0x92, samples: [])
        #expect(throws: RecordingError.self) { try Self.decoded(Self.bytes([block])) }
    }

    @Test func aFirstBlockWithoutSamplesBeginsTheStreamsOnce() throws {
        var blocks = CWAFile.blocks(3) { sample, _ in Int16(sample) }
        blocks[0].samples = []
        blocks[0].session = 6
        try withTemporaryDirectory { directory in
            let imported = try Imported("a.cwa", Self.bytes(blocks), in: directory)
            #expect(try imported.rows().count == 160)
        }
    }
}

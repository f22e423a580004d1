import Files
import Import
import Messages
import Testing

/// `.gt3x` files: each sample has its value and time; damage becomes a gap, sleep a pause.
@Suite struct ActiGraphTests {
    private static let second: Int64 = 1_000_000_000

    private static func decoded(
        _ records: [[UInt8]], _ info: String = GT3XFile.info(), zone: Int = 0, inPiecesOf size: Int = 1 << 16
    ) throws -> Collected {
        try Collected(
            ActiGraphDecoder(ActiGraphInfo(info), zone: zone), records.flatMap { $0 }, inPiecesOf: size)
    }

    private static func inG(_ counts: [[Int]]) -> [[Double]] {
        counts.map { (row: [Int]) -> [Double] in row.map { (count: Int) -> Double in Double(count) / 256 } }
    }

    /// Seconds with samples.
    private static func seconds(_ numbers: [Int]) -> [[UInt8]] {
        numbers.map { (number: Int) -> [UInt8] in
            GT3XFile.words(GT3XFile.start + UInt32(number), GT3XFile.samples(number))
        }
    }

    private static func packedSeconds(_ count: Int) -> [[UInt8]] {
        (0..<count).map { (number: Int) -> [UInt8] in
            GT3XFile.packed(GT3XFile.start + UInt32(number), GT3XFile.samples(number))
        }
    }

    /// The example bytes in actigraph/GT3X-File-Format, LogRecords/Activity.md.
    @Test func theBytesOfTheDocumentationAreRead() throws {
        let record = GT3XFile.record(0, GT3XFile.start, [0x00, 0x60, 0x08, 0xEB, 0xD0, 0x07, 0x00, 0x9E, 0xBF])
        let found = try Self.decoded([record], GT3XFile.info(scale: "1.0"))
        let values: [[Double]] = [[8, 6, -323], [9, 7, -321]]
        #expect(found.samples.map(\.values) == values)
        #expect(GT3XFile.packed(GT3XFile.start, [[8, 6, -323], [9, 7, -321]]) == record)
    }

    @Test(arguments: [true, false])
    func samplesOf12And16BitsAreRead(packed isPacked: Bool) throws {
        let made = GT3XFile.samples(0)
        let record = isPacked ? GT3XFile.packedInOrder(GT3XFile.start, made) : GT3XFile.words(GT3XFile.start, made)
        let found = try Self.decoded([record])
        #expect(found.samples.map(\.values) == Self.inG(made))
        let start: Int64 = Int64(GT3XFile.start) * Self.second
        let times: [Int64] = (0..<30).map { (index: Int64) -> Int64 in start + (index * Self.second + 15) / 30 }
        #expect(found.samples.map(\.time) == times)
        let stream = ImportedStream(
            StreamName(device: "MOS2D16160581", stream: "accelerometer"), fields: ["x", "y", "z"], unit: "g", rate: 30,
            run: "gt3x-MOS2D16160581")
        #expect(found.streams == [stream])
    }

    @Test func anOddNumberOfSamplesIsRead() throws {
        for count in 1...9 {
            let made = Array(GT3XFile.samples(3).prefix(count))
            let found = try Self.decoded([GT3XFile.packed(GT3XFile.start, made)])
            #expect(found.samples.map(\.values) == Self.inG(made))
        }
    }

    @Test func theZoneOfTheDeviceIsTakenAway() throws {
        let info = ActiGraphInfo(GT3XFile.info())
        #expect(info.zone == -18000)
        #expect(ActiGraphInfo("TimeZone: 05:30:00").zone == 19800)
        #expect(ActiGraphInfo("TimeZone: somewhere").zone == nil)
        let found = try Self.decoded([GT3XFile.words(GT3XFile.start, GT3XFile.samples(0))], zone: -18000)
        let start: Int64 = (Int64(GT3XFile.start) + 18000) * Self.second
        #expect(found.start == start)
    }

    @Test func theScaleIsFoundWhereverItStands() throws {
        func first(_ info: String, _ records: [[UInt8]] = []) throws -> Double? {
            try Self.decoded(records + [GT3XFile.words(GT3XFile.start, [[512, 0, 0]])], info).samples.first?.values[0]
        }
        #expect(try first(GT3XFile.info(scale: "128.0")) == 4)
        let older: Double = 512.0 / 341
        #expect(try first(GT3XFile.info(serial: "NEO1", scale: nil)) == older)
        #expect(try first(GT3XFile.info(serial: "TAS1", scale: nil)) == 2)
        // 0.5 × 2⁹.
        let parameters = GT3XFile.record(21, GT3XFile.start, [0, 0, 55, 0, 0x00, 0x00, 0x40, 0x09])
        #expect(try first(GT3XFile.info(serial: "XYZ1", scale: nil), [parameters]) == 2)
        #expect(throws: RecordingError.self) { try first(GT3XFile.info(serial: "XYZ1", scale: nil)) }
    }

    @Test func axesOfTurnedDevicesAreTurnedBack() throws {
        let found = try Self.decoded(
            [GT3XFile.words(GT3XFile.start, [[256, 512, 0]])], GT3XFile.info(firmware: "1.6.0"))
        #expect(found.samples.first?.values == [2, -1, 0])
    }

    @Test func aSecondWithoutARecordIsAnEstimatedGap() throws {
        let found = try Self.decoded(Self.seconds([0, 1, 5]))
        #expect(found.gaps == [["60", "90", "estimated"]])
        let time: Int64 = (Int64(GT3XFile.start) + 5) * Self.second
        #expect(found.samples[60].time == time)
    }

    @Test func aSecondWithFewerSamplesIsAnEstimatedGap() throws {
        let found = try Self.decoded([
            GT3XFile.words(GT3XFile.start, Array(GT3XFile.samples(0).prefix(20))),
            GT3XFile.words(GT3XFile.start + 1, GT3XFile.samples(1)),
        ])
        #expect(found.gaps == [["20", "10", "estimated"]])
    }

    @Test func aRecordWithAWrongChecksumIsAGap() throws {
        var records = Self.packedSeconds(6)
        records[2][40] ^= 4
        let found = try Self.decoded(records)
        #expect(found.gaps == [["60", "30", "malformed"]])
        #expect(found.samples.count == 150)
        #expect(found.failures == ["1 records are damaged, the first at byte 288 of log.bin"])
    }

    /// If a header has a wrong length, the next records are still found.
    @Test func aDamagedLengthLosesOneRecord() throws {
        for length: [UInt8] in [[255, 255], [0, 0], [200, 0]] {
            var records = Self.packedSeconds(40)
            records[20].replaceSubrange(6..<8, with: length)
            let found = try Self.decoded(records)
            #expect(found.gaps == [["600", "30", "malformed"]], "\(length)")
            #expect(found.samples.count == 1170)
        }
    }

    @Test func sleepIsAPauseAndNothingIsMadeUp() throws {
        let found = try Self.decoded([
            GT3XFile.words(GT3XFile.start, GT3XFile.samples(0)),
            GT3XFile.asleep(GT3XFile.start + 1),
            GT3XFile.awake(GT3XFile.start + 500),
            GT3XFile.words(GT3XFile.start + 500, GT3XFile.samples(1)),
            GT3XFile.asleep(GT3XFile.start + 501),
            // The record that ends the sleep is missing.
            GT3XFile.words(GT3XFile.start + 600, GT3XFile.samples(2)),
        ])
        let start = Int64(GT3XFile.start)
        func time(_ second: Int64) -> Int64 { (start + second) * Self.second }
        let expected: [Decoded] = [
            .pause(at: time(1)), .resume(at: time(500)), .pause(at: time(501)), .resume(at: time(600)),
        ]
        #expect(found.others == expected)
        #expect(found.samples.count == 90)
        #expect(found.gaps.isEmpty && found.failures.isEmpty)
    }

    private static func second(_ number: UInt32) -> [UInt8] {
        GT3XFile.words(GT3XFile.start + number, GT3XFile.samples(Int(number)))
    }

    private static func sleep(_ from: UInt32, _ to: UInt32) -> [UInt8] {
        GT3XFile.asleep(GT3XFile.start + from) + GT3XFile.awake(GT3XFile.start + to)
    }

    /// A minute without records before or after a sleep is not part of the sleep.
    @Test func secondsLostWhileAwakeAreAGapAlsoIfTheDeviceSlept() throws {
        let behind = try Self.decoded([Self.second(0), Self.sleep(1, 500), Self.second(561)])
        #expect(behind.gaps == [["30", "\(60 * 30)", "estimated"]])
        let before = try Self.decoded([Self.second(0), Self.sleep(71, 500), Self.second(500)])
        #expect(before.gaps == [["30", "\(60 * 30)", "estimated"]])
        let between = try Self.decoded([Self.second(0), Self.sleep(1, 100), Self.sleep(171, 500), Self.second(500)])
        #expect(between.gaps == [["30", "\(60 * 30)", "estimated"]])
        let last = try Self.decoded([Self.second(0), GT3XFile.asleep(GT3XFile.start + 71)])
        #expect(last.gaps == [["30", "\(60 * 30)", "estimated"]])
        // The next samples end the effect of the sleep.
        let whole = [2, 3].map { Self.second(UInt32($0) + 560) }
        let more = try Self.decoded([Self.second(0), Self.sleep(1, 500), Self.second(561)] + whole)
        #expect(more.gaps == behind.gaps && more.samples.count == 120)
    }

    /// A device that fell asleep may omit all seconds without movement, and the one in which it woke.
    @Test func fallingAsleepAndWakingAreNoGap() throws {
        let short = GT3XFile.words(GT3XFile.start, Array(GT3XFile.samples(0).prefix(20)))
        let found = try Self.decoded([
            short, Self.sleep(1, 500), Self.second(501), Self.second(502), Self.sleep(513, 600), Self.second(600),
            // The record that ends the sleep comes after the first samples.
            GT3XFile.asleep(GT3XFile.start + 601), Self.second(700), GT3XFile.awake(GT3XFile.start + 701),
            Self.second(701),
        ])
        #expect(found.gaps.isEmpty && found.failures.isEmpty)
        #expect(found.samples.count == 170)
    }

    @Test func aSleepWithAWrongDateIsNoLossOfSecondsThatAreThere() throws {
        let found = try Self.decoded([Self.second(0), Self.sleep(9000, 9001), Self.second(1), Self.second(2)])
        #expect(found.gaps.isEmpty)
    }

    @Test func damageBesideASleepIsCountedOnce() throws {
        var damaged = Self.second(501)
        damaged[40] ^= 4
        let found = try Self.decoded([Self.second(0), Self.sleep(1, 500), damaged, Self.second(504)])
        #expect(found.gaps == [["30", "30", "malformed"], ["30", "60", "estimated"]])
    }

    @Test func repeatedSecondsAreLeftOut() throws {
        let found = try Self.decoded(Self.seconds([0, 1, 1, 0, 2]))
        #expect(found.samples.count == 90)
        let expected: [Decoded] = [.duplicates(stream: 0, count: 30), .duplicates(stream: 0, count: 30)]
        #expect(found.others == expected)
        #expect(found.failures == ["2 seconds are repeated or go back in time, and are left out"])
    }

    @Test func otherRecordsAndZerosBetweenAreSkipped() throws {
        let found = try Self.decoded([
            GT3XFile.record(6, GT3XFile.start, Array("{\"JSON\":true}".utf8)), [0, 0, 0],
            GT3XFile.record(0, GT3XFile.start, [1]), GT3XFile.record(2, GT3XFile.start, [1, 2]),
            GT3XFile.words(GT3XFile.start, GT3XFile.samples(0)), [0],
            GT3XFile.record(99, GT3XFile.start, [7, 7, 7]), GT3XFile.words(GT3XFile.start + 1, GT3XFile.samples(1)),
        ])
        #expect(found.samples.count == 60)
        #expect(found.gaps.isEmpty && found.failures.isEmpty)
    }

    @Test func piecesOfAnyLengthGiveTheSame() throws {
        var records = Self.packedSeconds(8)
        records[3][7] = 200
        records[5][30] ^= 1
        let whole = try Self.decoded(records)
        #expect(whole.failures.count == 1)
        for size in [1, 3, 100, 144] {
            #expect(try Self.decoded(records, inPiecesOf: size).all == whole.all, "\(size)")
        }
    }

    @Test func aFileThatEndsEarlyHasAGapOfUnknownSize() throws {
        let records = Self.seconds([0, 1, 2])
        var bytes = records.flatMap { $0 }
        bytes.removeLast(50)
        let found = try Self.decoded([bytes])
        #expect(found.samples.count == 60)
        #expect(found.gaps == [["60", "0", "malformed"]])
    }

    /// A second of 65,535 bytes in a file of separators: the time must be proportional to the file's size.
    @Test func garbageIsRefused() {
        for bytes in [[], [UInt8](repeating: 0x1E, count: 300_000), [UInt8](repeating: 0xFF, count: 5000)] {
            #expect(throws: RecordingError.self) { try Self.decoded([bytes]) }
        }
        #expect(throws: RecordingError.self) { try Self.decoded([], "Serial Number: MOS") }
    }

    @Test func whoWoreTheDeviceIsNotKept() {
        let keys = ActiGraphInfo(GT3XFile.info()).keys
        #expect(keys["Subject Name"] == nil)
        #expect(keys["Firmware"] == .string("1.9.2"))
        #expect(keys["Serial Number"] == .string("MOS2D16160581"))
    }
}

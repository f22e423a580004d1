import Messages
import SampleSources
import TestSupport
import Testing

/// The protocol between an LSL outlet and the publisher, byte by byte.
@Suite(.timeLimit(.minutes(1)))
struct LSLTests {
    private static func xml(
        format: String = "float32", channels: Int = 3, rate: String = "100.0000000", desc: String = "<desc />",
        more: String = "<v4data_port>16573</v4data_port><v4service_port>16574</v4service_port>"
    ) -> String {
        """
        <?xml version="1.0"?>
        <info>
        \t<name>Motion &amp; more</name>
        \t<type>MoCap</type>
        \t<channel_count>\(channels)</channel_count>
        \t<channel_format>\(format)</channel_format>
        \t<source_id>glove-7</source_id>
        \t<nominal_srate>\(rate)</nominal_srate>
        \t<version>1.1000000000000001</version>
        \t<uid>6f0e4b0c-1b1a-4c52-9f86-2a4f2a0e4d11</uid>
        \t<session_id>default</session_id>
        \t<hostname>lab-3</hostname>
        \t<v4address />
        \t\(more)
        \t\(desc)
        </info>
        """
    }

    private static func info(_ format: LSLFormat, channels: Int = 3, rate: String = "100") throws -> LSLInfo {
        try LSLInfo(xml: xml(format: format.rawValue, channels: channels, rate: rate))
    }

    // MARK: Descriptions

    @Test func anOutletsDescriptionIsReadAndItsDescIsKept() throws {
        let desc =
            "<desc><channels><channel><label>ax</label><unit>m/s2</unit></channel><channel><label>ay</label><unit>m/s2</unit></channel>"
            + "<channel><label>&#97;&#x7A;</label><unit>m/s2</unit></channel></channels><!-- > --><maker>A &amp; B</maker></desc>"
        let info = try LSLInfo(xml: Self.xml(desc: desc))
        #expect(info.name == "Motion & more")
        #expect(info.sourceID == "glove-7")
        #expect(info.rate == 100)
        #expect(info.dataPort == 16_573)
        #expect(info.servicePort == 16_574)
        #expect(info.fields == ["ax", "ay", "az"])
        #expect(info.unit == "m/s2")
        #expect(info.types == nil)
        #expect(info.desc == desc)
        #expect(info.description.hasSuffix(desc))
        #expect(info.description.contains("gaps are estimated"))
        #expect(info.samples(inSeconds: 360) == 36_000)
    }

    @Test func channelsWithoutLabelsAreCounted() throws {
        #expect(try LSLInfo(xml: Self.xml()).fields == ["ch1", "ch2", "ch3"])
        let twice =
            "<desc><channels><channel><label>a</label></channel><channel><label>a</label></channel></channels></desc>"
        #expect(try LSLInfo(xml: Self.xml(channels: 2, desc: twice)).fields == ["ch1", "ch2"])
        let long =
            "<desc><channels><channel><label>\(String(repeating: "a", count: 257))</label></channel></channels></desc>"
        #expect(try LSLInfo(xml: Self.xml(channels: 1, desc: long)).fields == ["value"])
        let markers = try LSLInfo(xml: Self.xml(format: "string", channels: 1, rate: "0.0"))
        #expect(markers.fields == ["value"])
        #expect(markers.types == [.text])
        #expect(markers.rate == nil)
        #expect(try Self.info(.int64).types == [.number, .number, .number])
        #expect(markers.desc == "")
    }

    @Test(
        arguments: [
            xml(format: "float16"), xml(channels: 0), xml(channels: 1_000_000), xml(rate: "-1"), xml(rate: "much"),
            xml(more: ""),
            "", "<info>", "<info></name></info>", "<info><a></info>", "no", "<info>&nothing;</info>",
            "<info><![CDATA[</info>",
            String(repeating: "<a>", count: 100_000), "<info a='", "<>", "<info/>more",
        ])
    func whatIsNoDescriptionIsRefused(text: String) {
        #expect(throws: PublisherError.self) { try LSLInfo(xml: text) }
    }

    @Test func aCutDescriptionIsRefusedWhereverItIsCut() {
        let whole = Self.xml(desc: "<desc><a b=\"c\">&lt;<![CDATA[<d>]]></a></desc>")
        for length in 0..<whole.utf8.count - 1 {
            #expect(throws: PublisherError.self) {
                try LSLInfo(xml: String(decoding: whole.utf8.prefix(length), as: UTF8.self))
            }
        }
    }

    // MARK: Questions and answers

    @Test func anOutletIsAskedForAndItsAnswerIsKnownByItsNumber() throws {
        let predicate = LSLText.predicate("type='MoCap'", sourceID: "glove-7")
        #expect(predicate == "session_id='default' and (type='MoCap') and source_id='glove-7'")
        #expect(
            LSLText.search(predicate, port: 40_000, identifier: "12")
                == Array("LSL:shortinfo\r\n\(predicate)\r\n40000 12\r\n".utf8))
        let answer = "12\r\n\(Self.xml())"
        #expect(LSLText.found(Array(answer.utf8), identifier: "12")?.name == "Motion & more")
        #expect(LSLText.found(Array(answer.utf8), identifier: "13") == nil)
        #expect(LSLText.found(Array("12\r\nno".utf8), identifier: "12") == nil)
    }

    @Test func samplesAreAskedForWithTheirNumberInStore() throws {
        let info = try Self.info(.float32)
        let text = String(decoding: LSLText.feed(of: info, buffer: 36_000), as: UTF8.self)
        #expect(text.hasPrefix("LSL:streamfeed/110 \(info.uid)\r\n"))
        #expect(text.contains("\r\nNative-Byte-Order: 1234\r\n"))
        #expect(text.contains("\r\nValue-Size: 4\r\n"))
        #expect(text.contains("\r\nMax-Buffer-Length: 36000\r\n"))
        #expect(text.hasSuffix("\r\n\r\n"))
        #expect(
            !String(decoding: LSLText.feed(of: try Self.info(.string), buffer: 1), as: UTF8.self).contains("Value-Size")
        )
    }

    @Test func theAnswerEndsAtItsBlankLine() throws {
        let text =
            "LSL/110 200 OK\r\nUID: a\r\nByte-Order: 4321\r\nSuppress-Subnormals: 0\r\nData-Protocol-Version: 110\r\n\r\n"
        for length in 0..<text.utf8.count {
            #expect(try LSLText.accepted(Array(text.utf8.prefix(length))) == nil)
        }
        let accepted = try #require(try LSLText.accepted(Array(text.utf8) + [2, 0]))
        #expect(accepted.isBigEndian)
        #expect(try LSLText.accepted(Array("LSL/110 40".utf8)) == nil)
        #expect(accepted.length == text.utf8.count)
        for refused in [
            "LSL/110 404 Not found", "LSL/110 505 Version not supported",
            text.replacing("110\r\n\r\n", with: "100\r\n\r\n"),
            "HTTP/1.1 200 OK\r\n\r\n", String(repeating: "x", count: 20_000),
        ] {
            #expect(throws: PublisherError.self) { try LSLText.accepted(Array(refused.utf8)) }
        }
    }

    @Test func theShortestTripOfARoundTellsTheClock() throws {
        var clock = LSLClock()
        let first = clock.begin()
        #expect(LSLText.clock(wave: first, sent: 1.5) == Array("LSL:timedata\r\n\(first) 1.5\r\n".utf8))
        // The outlet's clock is 100 s ahead. Each way takes 1 ms, except that one answer returns later.
        for question in 0..<LSLClock.questions {
            #expect(!clock.isComplete)
            let sent = Double(question)
            let back = question == 3 ? 0.001 : 0.5
            clock.take(
                Array(" \(first) \(sent) \(sent + 100.001) \(sent + 100.002)".utf8), received: sent + 0.002 + back)
            #expect((clock.result != nil) == (question >= 5))
        }
        let result = try #require(clock.result)
        #expect(abs(result.offset - 100) < 1e-9)
        #expect(abs(result.roundTrip - 0.002) < 1e-9)
        #expect(abs(result.uptime - 3.003) < 1e-9)
        let second = clock.begin()
        #expect(second != first)
        for _ in 0..<8 { clock.take(Array(" \(first) 0 100 100".utf8), received: 0.1) }
        clock.take(Array(" \(second) 0 nan 100".utf8), received: 0.1)
        clock.take(Array(" \(second) 0 100".utf8), received: 0.1)
        clock.take([0xFF, 0], received: 0.1)
        #expect(clock.result == nil)
        #expect(!clock.isComplete)
        for _ in 0..<LSLClock.questions {
            clock.take(Array(" \(second) -1e308 1e308 1e308".utf8), received: 0.1)
        }
        #expect(clock.isComplete)
        #expect(clock.result == nil, "an offset beyond all times is none")
    }

    // MARK: Samples

    /// Bytes as an outlet writes them.
    private struct Writer {
        let format: LSLFormat
        let isBigEndian: Bool
        var bytes: [UInt8] = []

        mutating func append(_ word: UInt64, size: Int) {
            let little = (0..<size).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
            bytes += isBigEndian ? little.reversed() : little
        }

        mutating func append(time: Double?) {
            bytes.append(time == nil ? 1 : 2)
            if let time { append(time.bitPattern, size: 8) }
        }

        mutating func append(_ value: Int64) {
            switch format {
            case .float32: append(UInt64(Float(value).bitPattern), size: 4)
            case .double64: append(Double(value).bitPattern, size: 8)
            case .int8, .int16, .int32, .int64: append(UInt64(bitPattern: value), size: format.size ?? 0)
            case .string: append("\(value)", sizeOfLength: 1)
            }
        }

        mutating func append(_ text: String, sizeOfLength size: Int) {
            bytes.append(UInt8(size))
            append(UInt64(text.utf8.count), size: size)
            bytes += text.utf8
        }

        /// The two samples of liblsl's test pattern, as specified by `FORMATS`.
        mutating func appendTests(channels: Int) {
            for pattern in [4, 2] {
                append(time: 123_456.789)
                for channel in 0..<channels {
                    let sum = Int64(channel + pattern)
                    let value: Int64 =
                        switch format {
                        case .float32: sum
                        case .double64: sum + 16_777_217
                        case .int8: (sum + 1) % 127
                        case .int16: (sum + 257) % 32_767
                        case .int32: (sum + 65_537) % 2_147_483_647
                        case .int64: sum + 2_147_483_649
                        case .string: Int64(channel + 10)
                        }
                    append(channel.isMultiple(of: 2) ? value : -value)
                }
            }
        }
    }

    @Test func theTestSampleIsLiblslsToTheByte() throws {
        var writer = Writer(format: .float32, isBigEndian: false)
        writer.appendTests(channels: 3)
        #expect(
            Array(writer.bytes.prefix(21)) == [
                0x02, 0xC9, 0x76, 0xBE, 0x9F, 0x0C, 0x24, 0xFE, 0x40, 0, 0, 0x80, 0x40, 0, 0, 0xA0, 0xC0, 0, 0, 0xC0,
                0x40,
            ])
    }

    /// Each format in both byte orders, cut at arbitrary places: the values read are those written.
    @Test(arguments: LSLFormat.allCases, [false, true])
    func samplesOfEachFormatAreReadWhereverTheyAreCut(format: LSLFormat, isBigEndian: Bool) throws {
        var random = SplitMix(seed: 110)
        for channels in [1, 3, 64] {
            var writer = Writer(format: format, isBigEndian: isBigEndian)
            writer.appendTests(channels: channels)
            var times: [Int64] = []
            var numbers: [Double] = []
            var records: [[UInt8]] = []
            for sample in 0..<50 {
                let hasTime = sample % 3 == 0
                writer.append(time: hasTime ? 5 + Double(sample) / 100 : nil)
                times.append(5_000_000_000 + Int64(sample) * 10_000_000)
                var texts: [String] = []
                for _ in 0..<channels {
                    let drawn = Int64(bitPattern: random.next())
                    let value =
                        switch format {
                        case .int8, .string: Int64(Int8(truncatingIfNeeded: drawn))
                        case .int16: Int64(Int16(truncatingIfNeeded: drawn))
                        case .int32: Int64(Int32(truncatingIfNeeded: drawn))
                        case .int64: drawn
                        case .float32: drawn >> 40
                        case .double64: drawn >> 11
                        }
                    writer.append(value)
                    if format.type == nil { numbers.append(Double(value)) }
                    texts.append(format == .string ? "\"\(value)\"" : "\(value)")
                }
                if format.type != nil { records.append(Array(texts.joined(separator: ",").utf8)) }
            }
            let info = try Self.info(format, channels: channels)
            for _ in 0..<5 {
                var samples = LSLSamples(of: info, isBigEndian: isBigEndian)
                var rest = writer.bytes[...]
                var read: (times: [Int64], numbers: [Double], records: [[UInt8]]) = ([], [], [])
                while !rest.isEmpty {
                    let piece = rest.prefix(1 + Int(random.next() % UInt64(channels * 20)))
                    rest.removeFirst(piece.count)
                    let rows = try samples.take(piece)
                    read.times += rows.times
                    read.numbers += rows.values
                    read.records += (0..<rows.records.count).map { rows.records.bytes(ofRow: $0) }
                }
                #expect(read.times == times)
                #expect(read.numbers == numbers)
                #expect(read.records == records)
            }
        }
    }

    @Test(arguments: [1, 2, 4, 8])
    func textsOfAnyLengthKeepTheirCharacters(size: Int) throws {
        var writer = Writer(format: .string, isBigEndian: false)
        writer.appendTests(channels: 1)
        writer.append(time: 1)
        let text = String(repeating: "ä\"\n", count: size == 1 ? 50 : 5_000)
        writer.append(text, sizeOfLength: size)
        var samples = LSLSamples(of: try Self.info(.string, channels: 1, rate: "0"), isBigEndian: false)
        let rows = try samples.take(writer.bytes)
        #expect(rows.count == 1)
        #expect(
            rows.records.bytes(ofRow: 0)
                == Array(("\"" + String(repeating: "ä\\\"\\n", count: size == 1 ? 50 : 5_000) + "\"").utf8))
    }

    @Test func withoutARateASampleWithoutATimeHasThatOfTheOneBefore() throws {
        var writer = Writer(format: .int8, isBigEndian: false)
        writer.appendTests(channels: 1)
        for time in [1, nil, nil, 2] as [Double?] {
            writer.append(time: time)
            writer.append(7)
        }
        var samples = LSLSamples(of: try Self.info(.int8, channels: 1, rate: "0"), isBigEndian: false)
        #expect(try samples.take(writer.bytes).times == [1_000_000_000, 1_000_000_000, 1_000_000_000, 2_000_000_000])
    }

    @Test func whatIsNoSampleIsRefused() throws {
        func refused(_ format: LSLFormat, _ write: (inout Writer) -> Void) throws -> Bool {
            var writer = Writer(format: format, isBigEndian: false)
            write(&writer)
            var samples = LSLSamples(of: try Self.info(format, channels: 1), isBigEndian: false)
            do throws(PublisherError) {
                _ = try samples.take(writer.bytes)
                return false
            } catch {
                return true
            }
        }
        #expect(try refused(.int8) { $0.bytes = [3] })
        #expect(try refused(.int8) { $0.bytes = [2] + [UInt8](repeating: 0, count: 9) }, "another test sample")
        // Bytes in an order that was not negotiated.
        #expect(
            try refused(.int16) {
                $0 = Writer(format: .int16, isBigEndian: true)
                $0.appendTests(channels: 1)
            })
        #expect(
            try refused(.double64) {
                $0.appendTests(channels: 1)
                $0.append(time: .nan)
                $0.append(1)
            })
        for length: [UInt8] in [
            [3, 0, 0, 0], [8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [4, 0xFF, 0xFF, 0xFF, 0xFF],
        ] {
            #expect(
                try refused(.string) {
                    $0.appendTests(channels: 1)
                    $0.append(time: 1)
                    $0.bytes += length
                })
        }
    }
}

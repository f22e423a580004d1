import FoundationEssentials
import Messages
import SampleSources
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ReplaySourceTests {
    private static let walk = "t,x,y,z\n0.0000,1.94,5.16,10.16\n0.0050,1.52,4.98,9.90\n0.0101,0.93,4.79,9.34\n"

    private func problem(name: String = "file.csv", _ text: String, _ options: ReplaySource.Options = .init()) throws
        -> String
    {
        try withFile(name, text) { path in
            let error = #expect(throws: PublisherError.self) {
                var source = try ReplaySource(path: path, options: options)
                _ = try source.samples(1000)
            }
            return error?.message.replacing(path, with: name) ?? ""
        }
    }

    @Test func valuesAreThoseOfTheFile() throws {
        try withFile("walk.csv", Self.walk) { path in
            var source = try ReplaySource(path: path, options: .init(unit: "m/s2"))
            #expect(source.fields == ["x", "y", "z"])
            #expect(source.unit == "m/s2")
            #expect(source.description == "replay:walk.csv")
            #expect(abs(try #require(source.rate) - 198) < 1)
            let samples = try source.samples()
            #expect(samples.map(\.time) == [0, 5_000_000, 10_100_000])
            #expect(samples.map(\.values) == [[1.94, 5.16, 10.16], [1.52, 4.98, 9.9], [0.93, 4.79, 9.34]])
            try source.rewind()
            #expect(try source.samples().count == 3)
            #expect(try source.validate() == ReplaySource.Contents(count: 3, first: 0, last: 0.0101))
        }
    }

    @Test func aCompressedFileIsTheSame() throws {
        // Long enough for several chunks of either kind.
        let text = "z,t,y,x\r\n" + (0..<20_000).map { "\($0),\(Double($0) / 128),-\($0).5,\"\($0)e-3\"\r\n" }.joined()
        let plain = try withFile("a.csv", text) { path in
            var source = try ReplaySource(path: path)
            return try source.samples()
        }
        let squeezed = try withFile("a.csv.gz", gzipStored(Array(text.utf8))) { path in
            var source = try ReplaySource(path: path)
            return try source.samples()
        }
        #expect(plain.count == 20_000)
        #expect(plain[129].time == 1_007_812_500)
        #expect(plain[129].values == [0.129, -129.5, 129])
        #expect(plain.map(\.time) == squeezed.map(\.time))
        #expect(plain.map(\.values) == squeezed.map(\.values))
    }

    @Test func squeezedBytesAreUnpacked() throws {
        let base64 =
            "H4sIAAAAAAACAx3IsRGAQAwDwfxr0Whk3gbUFwFQPX4uuGAv3HjwDlEdgk4UY0eo/3Mtrg1JnzCtpaGA6Nl6uHXm+ABJrRAgSwAAAA=="
        let bytes = try #require(Data(base64Encoded: base64))
        try withFile("walk.csv.gz", Array(bytes)) { path in
            var source = try ReplaySource(path: path)
            #expect(
                try source.samples().map(\.values) == [[1.94, 5.16, 10.16], [1.52, 4.98, 9.9], [0.93, 4.79, 9.34]])
        }
        try withFile("walk.csv.gz", Array(bytes.dropLast(12))) { path in
            let error = #expect(throws: PublisherError.self) { try ReplaySource(path: path) }
            #expect(error?.code == .unreadable)
            #expect(error?.message.contains("truncated") == true)
        }
    }

    @Test func aMalformedRowIsNamedByItsLine() throws {
        #expect(try problem("t,x\n0,1\n\n1,oops\n") == "file.csv, line 4: x: \"oops\" is not a number")
        #expect(try problem("t,x\r\n0,1\r\n1\r\n") == "file.csv, line 3: 1 cells, but the header names 2 columns")
        #expect(
            try problem("t;x\n0,01;1,5\n")
                == "file.csv, line 2: 3 cells, but the header names 1 columns: separate columns by commas, and write numbers with a decimal point"
        )
        #expect(try problem("t,x\nbad,1\n") == "file.csv, line 2: time: \"bad\" is not a number")
        #expect(
            try problem(name: "file.ndjson", "{\"t\":0,\"x\":1}\n{\"t\":1}\n")
                == "file.ndjson, line 2: no number for \"x\"")
        let late = "t,x\n" + (0..<500).map { "\($0),1\n" }.joined() + "500,-\n"
        #expect(try problem(late) == "file.csv, line 502: x: \"-\" is not a number")
    }

    @Test func aFullCheckFindsAMalformedRowAnywhere() throws {
        try withFile("file.csv", "t,x\n" + (0..<5000).map { "\($0),1\n" }.joined() + "5000\n") { path in
            let source = try ReplaySource(path: path)
            let error = #expect(throws: PublisherError.self) { try source.validate() }
            #expect(error?.message.contains("line 5002: 1 cells") == true)
        }
    }

    @Test func aFileThatCannotBePlayedIsRefused() throws {
        #expect(try problem("").contains("no samples"))
        #expect(try problem("t,x\n").contains("no samples"))
        #expect(try problem("x,y\n1,2\n").contains("line 2: there is no time"))
        #expect(try problem("t,x\n1700000000,2\n").contains("rebase"))
        #expect(try problem("t,x\n1700000000000,2\n").contains("1700000000000.0 is not a time in seconds"))
        #expect(try problem(Self.walk, .init(conversion: .g)).contains("state the file's unit as \"g\" or \"m/s2\""))
        #expect(try problem("t,x\n0,1\n", .init(isLooping: true)).contains("cannot be looped"))
        let far = "t,x\n0,1\n-4000000000,2\n4000000000,3\n"
        #expect(try problem(far, .init(isLooping: true)).contains("looped beyond"))
        let missing = #expect(throws: PublisherError.self) { try ReplaySource(path: "no/such.csv") }
        #expect(missing?.code == .unreadable)
        let directory = #expect(throws: PublisherError.self) {
            try ReplaySource(path: FileManager.default.temporaryDirectory.path)
        }
        #expect(directory?.code == .unreadable)
    }

    @Test func withoutTimesTheRateGivesThem() throws {
        try withFile("x.csv", "x\n1\n2\n3\n") { path in
            var source = try ReplaySource(path: path, options: .init(rate: 4, isLooping: true))
            #expect(source.rate == 4)
            #expect(try source.samples(7).map(\.time) == (0..<7).map { $0 * 250_000_000 })
        }
    }

    @Test(arguments: [false, true]) func aLoopGoesOnInTime(isRebased: Bool) throws {
        try withFile("x.csv", "t,x\n2,1\n2.5,2\n3.25,3\n") { path in
            var source = try ReplaySource(path: path, options: .init(isLooping: true, isRebased: isRebased))
            let samples = try source.samples(8)
            let origin: Int64 = isRebased ? 0 : 2000
            #expect(samples.map { $0.time / 1_000_000 - origin } == [0, 500, 1250, 2000, 2500, 3250, 4000, 4500])
            #expect(samples.map { $0.values[0] } == [1, 2, 3, 1, 2, 3, 1, 2])
            try source.rewind()
            #expect(try source.samples(1).first?.time == origin * 1_000_000)
        }
    }

    @Test func timesFromElsewhereCanStartAtZero() throws {
        try withFile("x.csv", "t,x\n1700000000.5,1\n1700000001.5,2\n") { path in
            var source = try ReplaySource(path: path, options: .init(isRebased: true))
            #expect(try source.samples().map(\.time) == [0, 1_000_000_000])
            #expect(source.rate == 1)
        }
    }

    @Test func accelerationsAreConvertedWhenAsked() throws {
        try withFile("x.csv", "t,heart,z,y,x\n0,60,9.80665,19.6133,0\n") { path in
            var source = try ReplaySource(path: path, options: .init(unit: "m/s2", conversion: .g))
            #expect(source.unit == "g")
            #expect(source.fields == ["x", "y", "z", "heart"])
            #expect(try source.samples().map(\.values) == [[0, 2, 1, 60]])
        }
    }

    @Test func rowsOutOfOrderKeepTheirPlace() throws {
        try withFile("x.csv", "t,x\n1,1\n0,2\n3,3\n") { path in
            var source = try ReplaySource(path: path)
            #expect(try source.samples().map(\.values) == [[1], [2], [3]])
        }
    }
}

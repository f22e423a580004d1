import StepDetection
import TestSupport
import Testing
import TextInput

@Suite(.timeLimit(.minutes(5)))
struct StepCountTests {
    /// Passes a temporary file, which is removed afterwards.
    private func withFile<Result>(
        _ text: String, compressed: Bool = false, cutTo length: Int? = nil, _ body: (String) throws -> Result
    ) throws -> Result {
        let bytes = compressed ? gzipStored(Array(text.utf8)) : Array(text.utf8)
        return try TestSupport.withFile("samples", Array(bytes.prefix(length ?? bytes.count)), body)
    }

    private func rows(_ walk: MadeWalk, perG: Double = 1, _ row: (SIMD4<Double>) -> String) -> String {
        walk.samples(rate: 25).map { row(SIMD4($0.x, $0.y * perG, $0.z * perG, $0.w * perG)) }.joined(separator: "\n")
    }

    private let walk = MadeWalk(bouts: 2)

    @Test func columnsMayComeInAnyOrder() throws {
        let plain = "t,x,y,z\n" + rows(walk) { "\($0.x),\($0.y),\($0.z),\($0.w)" } + "\n"
        let expected = try withFile(plain) { try StepCount(ofFile: $0) }
        #expect(abs(expected.steps.count - walk.steps.count) <= 2)
        #expect(expected.bouts.count == 2)
        #expect(expected.leftOut == 0)
        #expect(expected.samples == walk.samples(rate: 25).count)
        #expect(expected.cadence.map { abs($0 - walk.cadence) < 0.05 } ?? false)

        let others = [
            "Z,label,\"Y\",Time,X\r\n" + rows(walk) { "\($0.w),walk,\($0.z),\($0.x),\($0.y)\r" },
            "x\ty\tz\tt\n" + rows(walk) { "\($0.y)\t\($0.z)\t\($0.w)\t\($0.x)" },
            "timestamp; x; y; z\n" + rows(walk) { "\($0.x); \($0.y); \($0.z); \($0.w)" },
            rows(walk) { "\($0.x),\($0.y),\($0.z),\($0.w)" },
            "\u{FEFF}t,x,y,z\n\n" + rows(walk) { "\($0.x),\($0.y),\($0.z),\($0.w)\n" },
        ]
        for text in others {
            #expect(try withFile(text) { try StepCount(ofFile: $0) } == expected)
            #expect(try withFile(text, compressed: true) { try StepCount(ofFile: $0) } == expected)
        }
    }

    @Test func aTimeThatIsADayAheadCostsNoStepsButItsOwn() throws {
        let lines = rows(walk) { "\($0.x),\($0.y),\($0.z),\($0.w)" }.split(separator: "\n")
        let expected = try withFile("t,x,y,z\n" + lines.joined(separator: "\n")) { try StepCount(ofFile: $0) }
        // Before the walk begins.
        let wrong = lines.prefix(1) + ["86400,0,0,1"] + lines.dropFirst()
        let count = try withFile("t,x,y,z\n" + wrong.joined(separator: "\n")) { try StepCount(ofFile: $0) }
        #expect(abs(count.steps.count - expected.steps.count) <= 1)
        #expect(count.bouts.count == expected.bouts.count)
    }

    /// An accelerometer exported by Sensor Logger, with times from the start or from 1970.
    @Test func timesMayBeNanosecondsSince1970() throws {
        func time(_ seconds: Double) -> Int64 { 1_698_501_144_401_773_000 + Int64((seconds * 1e9).rounded()) }
        let export =
            "time,seconds_elapsed,z,y,x\n"
            + rows(walk) { "\(time($0.x)),\($0.x - 0.1),\($0.w),\($0.z),\($0.y)" }
        let objects = rows(walk) { "{\"timestamp\":\(time($0.x)),\"x\":\($0.y),\"y\":\($0.z),\"z\":\($0.w)}" }
        let texts = [export, export.replacing("seconds_elapsed", with: "other"), objects]
        let counts = try texts.map { text in try withFile(text) { try StepCount(ofFile: $0) } }
        for count in counts {
            #expect(abs(count.steps.count - walk.steps.count) <= 2)
            #expect(count.samples == walk.samples(rate: 25).count && count.gaps == 0 && count.leftOut == 0)
        }
        #expect(counts.map { $0.start.map { ($0 * 10).rounded() / 10 } } == [-0.1, 1_698_501_144.4, 1_698_501_144.4])
        // The digits are the file's: no step moves by 238 ns, the resolution of seconds since 1970 in a Double.
        let begin = 1_698_501_144.401773
        for count in counts.dropFirst() {
            #expect(count.steps.count == counts[0].steps.count)
            for (since1970, elapsed) in zip(count.steps, counts[0].steps) {
                #expect(abs(since1970.time - (begin + (elapsed.time + 0.1))) <= 2.4e-7)
                #expect(since1970.cadence == elapsed.cadence || abs(since1970.cadence - elapsed.cadence) < 1e-9)
            }
        }
    }

    @Test func whatIsMissingIsNotCovered() throws {
        let samples = walk.samples(rate: 25)
        var count = StepCount()
        var detector = StepDetector(StepDetectorSettings(perG: 1))
        #expect(count.coverage == nil)
        for sample in samples where !(20..<30).contains(sample.x) { count.add(sample, to: &detector) }
        let whole = try #require(samples.last).x
        let coverage = try #require(count.coverage)
        #expect(count.gaps == 1)
        #expect(abs(coverage - (1 - 10 / whole)) < 0.01)
    }

    @Test func aClockThatIsSetDoesNotHideWhatWasCounted() throws {
        // One wrong time, and a clock that is set ahead and later back.
        for ahead in [20..<20.01, 20..<40.0] {
            var count = StepCount()
            var detector = StepDetector(StepDetectorSettings(perG: 1))
            for sample in walk.samples(rate: 25) {
                let time = sample.x + (ahead.contains(sample.x) ? 3600 : 0)
                count.add(SIMD4(time, sample.y, sample.z, sample.w), to: &detector)
            }
            let coverage = try #require(count.coverage)
            #expect(coverage > 0.99 && coverage <= 1)
        }
    }

    @Test func theUnitIsToldByGravity() throws {
        let metric = "t,x,y,z\n" + rows(walk, perG: 9.80665) { "\($0.x),\($0.y),\($0.z),\($0.w)" }
        #expect(try withFile(metric) { abs(try StepCount(ofFile: $0).steps.count - walk.steps.count) <= 2 })
        // If the unit were taken for g, a hand's noise would be a walk: a given unit takes precedence.
        let said = try withFile(metric) { try StepCount(ofFile: $0, perG: 9.80665) }
        #expect(try withFile(metric) { try StepCount(ofFile: $0) } == said)
    }

    /// A publisher was restarted with another unit.
    @Test func eachMarkersUnitIsThatOfTheSamplesAfterIt() throws {
        let rows = walk.samples(rate: 25)
        func objects(_ rows: ArraySlice<SIMD4<Double>>, _ unit: String, _ perG: Double) -> String {
            #"{"marker":"position","unit":"\#(unit)"}"# + "\n"
                + rows.map { row in
                    "{\"t\":\(row.x),\"x\":\(row.y * perG),\"y\":\(row.z * perG),\"z\":\(row.w * perG)}\n"
                }.joined()
        }
        let text =
            objects(rows[..<100], "m/s2", 9.80665) + objects(rows[100..<500], "g", 1)
            + objects(rows[500...], "m/s2", 9.80665)
        let count = try withFile(text) { try StepCount(ofFile: $0) }
        #expect(count.samples == rows.count && count.leftOut == 0)
        #expect(abs(count.steps.count - walk.steps.count) <= 2)
    }

    @Test func rowsWithoutNumbersAreLeftOut() throws {
        let text = "t,x,y,z,label\n0,,,,start\n" + rows(walk) { "\($0.x),\($0.y),\($0.z),\($0.w)," } + "\n99,,,,stop\n"
        let count = try withFile(text) { try StepCount(ofFile: $0) }
        #expect(count.leftOut == 2)
        #expect(abs(count.steps.count - walk.steps.count) <= 2)
    }

    @Test func objectsOnLinesAreSamples() throws {
        let plain = "t,x,y,z\n" + rows(walk) { "\($0.x),\($0.y),\($0.z),\($0.w)" } + "\n"
        let expected = try withFile(plain) { try StepCount(ofFile: $0) }
        let others = [
            rows(walk) { "{\"t\":\($0.x),\"x\":\($0.y),\"y\":\($0.z),\"z\":\($0.w)}" },
            // The uptime belongs to another clock, and the label is not a unit.
            "["
                + rows(walk) {
                    "{ \"z\" : \($0.w), \"uptime\": \(7 - $0.x), \"unit\": \"mg\", \"timestamp\": \($0.x), \"x\": \($0.y), \"y\": \($0.z) },"
                } + "\n]",
        ]
        for text in others {
            #expect(try withFile(text) { try StepCount(ofFile: $0) } == expected)
            #expect(try withFile(text, compressed: true) { try StepCount(ofFile: $0) } == expected)
        }
    }

    @Test func theMagnitudeWillDo() throws {
        let table = "t,magnitude\n" + rows(walk) { "\($0.x),\(SIMD3($0.y, $0.z, $0.w).length)" }
        let objects = rows(walk) { "{\"t\":\($0.x),\"magnitude\":\(SIMD3($0.y, $0.z, $0.w).length)}" }
        for text in [table, objects] {
            let count = try withFile(text) { try StepCount(ofFile: $0) }
            #expect(abs(count.steps.count - walk.steps.count) <= 2)
        }
    }

    @Test(arguments: ["label", "\"label, \"\"raw\"\"\""])
    func aSeparatorInQuotesIsNone(label: String) throws {
        let text =
            "t,\(label),x,y,z,temperature\n"
            + rows(walk) { "\($0.x),\"a, \"\"b\"\",c\",\($0.y),\($0.z),\($0.w),25" }
        let count = try withFile(text) { try StepCount(ofFile: $0) }
        #expect(count.leftOut == 0)
        #expect(abs(count.steps.count - walk.steps.count) <= 2)
    }

    @Test func objectsThatAreNoSamplesAreLeftOut() throws {
        let text =
            rows(walk) { "{\"t\":\($0.x),\"x\":\($0.y),\"y\":\($0.z),\"z\":\($0.w)}" }
            + "\n" + #"{"t":1}"# + "\n" + #"{"t":99,"x":null,"y":1,"z":1}"# + "\n" + #"{"t":99,"x":1,"y":1,"z":"# + "\n"
            + #"{"t":99,"marker":"stop"}"# + "\n"
        #expect(try withFile(text) { try StepCount(ofFile: $0).leftOut } == 3)
    }

    @Test func recordsThatAreNotOnLinesOfTheirOwnAreRefused() {
        let records = walk.samples(rate: 25).prefix(50).map { sample in
            ["\"t\":\(sample.x)", "\"x\":\(sample.y)", "\"y\":\(sample.z)", "\"z\":\(sample.w)"]
        }
        let objects = records.map { "{" + $0.joined(separator: ",") + "}" }
        let line = "[" + objects.joined(separator: ",") + "]"
        let spread = "[\n" + records.map { "{\n" + $0.joined(separator: ",\n") + "\n}" }.joined(separator: ",\n")
        let several = "the line has several records"
        let files = [(line, several), (objects.joined(separator: " "), several), (spread, "no row is a sample")]
        for (text, message) in files {
            #expect { try withFile(text) { try StepCount(ofFile: $0) } } throws: {
                ($0 as? TextInputError)?.message.contains(message) ?? false
            }
        }
    }

    @Test func rowsWithoutASingleSampleAreRefused() {
        let table = "t,x,y,z\n" + rows(walk) { "\($0.x),-,-,-" }
        let objects = rows(walk) { "{\"t\":\($0.x),\"alpha\":\($0.y)}" }
        for text in [table, objects] {
            #expect { try withFile(text) { try StepCount(ofFile: $0) } } throws: {
                ($0 as? TextInputError)?.message.contains("no row is a sample") ?? false
            }
        }
    }

    @Test func aTimeThatIsNotInSecondsIsSaid() {
        for unit in [1000.0, 1e9] {
            let text = "t,x,y,z\n" + rows(walk) { "\($0.x * unit),\($0.y),\($0.z),\($0.w)" }
            #expect { try withFile(text) { try StepCount(ofFile: $0) } } throws: {
                ($0 as? TextInputError)?.message.contains("times must be in seconds") ?? false
            }
        }
    }

    @Test func anEmptyFileHasNoSteps() throws {
        for text in ["", "[]", "{\n\"startDate\" : \"\",\n\"items\"     : [\n]\n}", "t,x,y,z\n", "t,x,y,z\n0,0,0,1\n"] {
            let count = try withFile(text) { try StepCount(ofFile: $0) }
            #expect(count.steps.isEmpty && count.bouts.isEmpty && count.cadence == nil)
        }
    }

    @Test func whatCannotBeReadIsSaid() throws {
        #expect { try StepCount(ofFile: "/nowhere/at/all.csv") } throws: {
            ($0 as? TextInputError)?.code == .unreadable
        }
        #expect { try withFile("a,b,c\n1,2,3\n") { try StepCount(ofFile: $0) } } throws: {
            ($0 as? TextInputError)?.code == .invalidInput
        }
        let text = "t,x,y,z\n" + rows(walk) { "\($0.x),\($0.y),\($0.z),\($0.w)" }
        #expect { try withFile(text, compressed: true, cutTo: 20_000) { try StepCount(ofFile: $0) } } throws: {
            ($0 as? TextInputError)?.code == .unreadable
        }
    }
}

extension SIMD3<Double> {
    fileprivate var length: Double { (self * self).sum().squareRoot() }
}

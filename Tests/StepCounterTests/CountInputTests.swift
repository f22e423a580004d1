import Files
import FoundationEssentials
import Messages
import Recording
import StepDetection
import StepRecordings
import SystemPackage
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct CountInputTests {
    @Test func rotatedFilesAreOneRecordingInTheirOrder() {
        let inputs = CountInput.recordings(inFiles: [
            "d/phone_accelerometer-20261120235301-10.json", "d/phone_accelerometer-20261120235301-9.json",
            "d/phone_accelerometer.json",
            "d/phone_accelerometer-20261120235301-09.json", "d/phone_accelerometer-20261120235301.json.gz",
        ])
        // "-9" is not a count that the recorder writes.
        #expect(
            inputs == [
                CountInput(
                    name: "d/phone_accelerometer",
                    files: [
                        "d/phone_accelerometer-20261120235301.json.gz", "d/phone_accelerometer-20261120235301-09.json",
                        "d/phone_accelerometer-20261120235301-10.json", "d/phone_accelerometer.json",
                    ]),
                CountInput(
                    name: "d/phone_accelerometer-20261120235301-9.json",
                    files: ["d/phone_accelerometer-20261120235301-9.json"]),
            ])
    }

    @Test func otherFilesAreRecordingsByThemselves() {
        let paths = [
            "walk.csv", "walk.csv.gz", "walk.json", "other/walk.csv", "a-20261120235301.csv",
            "other/a-20261120235302.csv",
            "a-20261120235301.json", "no-stamp-2026.csv", "a", "..",
        ]
        let inputs = CountInput.recordings(inFiles: paths)
        #expect(inputs == paths.map { CountInput(name: $0, files: [$0]) })
    }

    @Test func aSessionHasItsAccelerometersFiles() throws {
        try withTemporaryDirectory { data in
            let session = try WalkSession(in: data, format: .csv)
            let inputs = try CountInput.recordings(inSession: session.directory, streams: ["accelerometer"])
            #expect(inputs.map(\.stream?.description) == ["phone/accelerometer"])
            #expect(inputs.map(\.files) == [session.files])
            #expect(inputs.map(\.losses) == [[]])
            let error = #expect(throws: RecordingError.self) {
                try CountInput.recordings(inSession: session.directory, streams: ["accelerometer2"])
            }
            #expect(error?.description.contains("phone/gyro, phone/accelerometer") == true)
            #expect(throws: RecordingError.self) { try CountInput.recordings(inSession: data, streams: []) }
        }
    }

    @Test func whatIsMissingIsSaid() throws {
        try withTemporaryDirectory { data in
            let session = try WalkSession(in: data, format: .json, lost: 7)
            try FileManager.default.removeItem(atPath: session.files[1])
            let input = try #require(
                try CountInput.recordings(inSession: session.directory, streams: ["accelerometer"]).first)
            #expect(input.files == [0, 2, 3].map { session.files[$0] })
            #expect(input.losses.count == 2)
            #expect(input.losses.first?.contains("250 samples are not counted") == true)
            #expect(input.losses.last?.contains("7 samples were lost") == true)
        }
    }

    @Test func aStreamWithoutItsFilesHasNoSamples() throws {
        try withTemporaryDirectory { data in
            let session = try WalkSession(in: data, format: .json)
            for file in session.files { try FileManager.default.removeItem(atPath: file) }
            let input = try #require(
                try CountInput.recordings(inSession: session.directory, streams: ["accelerometer"]).first)
            #expect(input.files.isEmpty)
            #expect(input.losses.count == 4)
            #expect(input.losses.last == "phone_accelerometer.json is missing: its samples are not counted")
            let count = try StepCount(input)
            #expect(count.samples == 0 && count.steps.isEmpty)
        }
    }

    @Test(arguments: [0, 7])
    func aLossOfUnknownSizeIsSaid(lost: Int) throws {
        try withTemporaryDirectory { data in
            let session = try WalkSession(in: data, format: .json, lost: lost)
            let directory = try SessionDirectory(at: session.directory)
            var record = try directory.record()
            let log = try #require(record.logs.indices.last)
            record.logs[log].gaps.append(Gap(epoch: "e", from: 20, count: 0, reason: .epochEnded))
            try directory.write(record)
            let input = try #require(
                try CountInput.recordings(inSession: session.directory, streams: ["accelerometer"]).first)
            let known = lost == 0 ? [] : ["7 samples were lost when it was recorded"]
            #expect(input.losses == known + ["an unknown number of samples was lost when it was recorded"])
        }
    }

    @Test func aFailureOfTheSessionIsSaid() throws {
        try withTemporaryDirectory { data in
            let session = try WalkSession(in: data, format: .json)
            let directory = try SessionDirectory(at: session.directory)
            var record = try directory.record()
            record.note(failures: ["the sensor failed"])
            try directory.write(record)
            let input = try #require(
                try CountInput.recordings(inSession: session.directory, streams: ["accelerometer"]).first)
            #expect(input.losses == ["the session has a failure: the sensor failed"])
        }
    }

    @Test func copiesOfAFileAreOne() {
        let first = "d/phone_accelerometer-20261120235301.json.gz"
        let second = "d/phone_accelerometer-20261120235301-01.json"
        let copy = "d/phone_accelerometer-20261120235301.json"
        #expect(
            CountInput.recordings(inFiles: [first, second, copy, second])
                == [CountInput(name: "d/phone_accelerometer", files: [first, second])])
        #expect(CountInput.recordings(inFiles: [copy, first]) == [CountInput(name: copy, files: [copy])])
    }

    /// A publisher was restarted with another unit before the walk.
    @Test(arguments: LogFormat.allCases)
    func theUnitOfEachRunCounts(format: LogFormat) throws {
        try withTemporaryDirectory { data in
            let name = "phone/accelerometer"
            let made = try MadeSession(in: data)
            try made.add(name, unit: "m/s2", rate: 25, format: format)
            for (index, sample) in Walk().samples.enumerated() {
                if index == 100 { try made.beginEpoch(name, "E2", unit: "g", at: sample.x) }
                if index == 500 { try made.rotate(name, at: sample.x) }
                let perG = index < 100 ? 9.80665 : 1
                try made.sample(name, sample.x, "\(sample.y * perG),\(sample.z * perG),\(sample.w * perG)")
            }
            try made.finish(at: 41)
            let input = try #require(
                try CountInput.recordings(inSession: made.path, streams: ["accelerometer"]).first)
            for count in [try StepCount(input), try StepCount(ofFiles: input.files)] {
                #expect(count.samples == Walk().samples.count && count.leftOut == 0)
                #expect(abs(count.steps.count - Walk().steps) <= 2)
            }
        }
    }

    /// A walk in a stream with one field.
    private static func magnitudes(
        _ field: String, _ format: LogFormat = .json, in data: FilePath
    ) throws -> MadeSession {
        let made = try MadeSession(in: data)
        try made.add("phone/accelerometer", fields: [field], rate: 25, format: format)
        for sample in Walk().samples {
            let square = sample.y * sample.y + sample.z * sample.z + sample.w * sample.w
            try made.sample("phone/accelerometer", sample.x, "\(square.squareRoot())")
        }
        try made.finish(at: 41)
        return made
    }

    @Test(arguments: ["value", "y"], LogFormat.allCases)
    func theOnlyFieldIsTheMagnitude(field: String, format: LogFormat) throws {
        try withTemporaryDirectory { data in
            let made = try Self.magnitudes(field, format, in: data)
            let input = try #require(
                try CountInput.recordings(inSession: made.path, streams: ["accelerometer"]).first)
            let count = try StepCount(input)
            #expect(count.samples == Walk().samples.count && count.leftOut == 0)
            #expect(abs(count.steps.count - Walk().steps) <= 2)
        }
    }

    @Test(arguments: ["t", "seconds_elapsed"], LogFormat.allCases)
    func aFieldOfTheStreamIsNotTheTime(field: String, format: LogFormat) throws {
        try withTemporaryDirectory { data in
            let made = try MadeSession(in: data)
            try made.add("phone/accelerometer", fields: ["x", "y", "z", field], rate: 25, format: format)
            for sample in Walk().samples {
                try made.sample("phone/accelerometer", sample.x, "\(sample.y),\(sample.z),\(sample.w),25")
            }
            try made.finish(at: 41)
            let input = try #require(
                try CountInput.recordings(inSession: made.path, streams: ["accelerometer"]).first)
            let count = try StepCount(input)
            #expect(count.start == 0)
            #expect(abs(count.steps.count - Walk().steps) <= 2)
        }
    }

    @Test(arguments: ["magnitude", "x", "length"])
    func aFilledStreamMayHaveTheMagnitudeAlone(field: String) throws {
        try withTemporaryDirectory { data in
            let made = try Self.magnitudes(field, in: data)
            var record = try made.directory.record()
            // A fill without samples: the stream is read as a filled one.
            record.logs[0].fills = [
                SessionRecord.FilledFile(fill: 1, name: "fill", bytes: 0, samples: 0, sha256: "", gaps: [])
            ]
            try made.directory.write(record)
            let input = try #require(
                try CountInput.recordings(inSession: made.path, streams: ["accelerometer"]).first)
            let count = try StepCount(input)
            #expect(count.samples == Walk().samples.count && count.leftOut == 0)
            #expect(abs(count.steps.count - Walk().steps) <= 2)
        }
    }
}

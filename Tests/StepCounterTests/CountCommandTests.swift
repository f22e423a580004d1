import FoundationEssentials
import Messages
import Recording
import StepDetection
import SystemPackage
import TestSupport
import Testing

/// `step-counter count`, as a person uses it.
@Suite(.timeLimit(.minutes(2)))
struct CountCommandTests {
    /// The output of a run, and how it ended.
    private struct Outcome {
        let output: String
        let errors: String
        let end: ProgramEnd

        /// The recordings of a JSON output.
        func recordings() throws -> [Counted] {
            try WireCoding.decode([String: [Counted]].self, from: output.utf8)["recordings"] ?? []
        }
    }

    /// The checked fields of a recording.
    private struct Counted: Decodable {
        let recording: String
        let stream: StreamName?
        let numberOfSteps: Int
        let cadence: Double?
        let samples: Int
        let leftOut: Int
        let coverage: Double?
        let expectedError: StepError
        let gait: GaitMeasures
        let bouts: [StepCount.Bout]
        let steps: [Step]
    }

    private func count(_ arguments: [String]) async throws -> Outcome {
        try await ProgramUnderTest.run("step-counter", arguments: ["count"] + arguments) { program in
            let end = try await program.end(within: .seconds(60))
            return Outcome(output: program.standardOutput, errors: program.standardError, end: end)
        }
    }

    @Test func aTableIsCounted() async throws {
        try await withFile("walk.csv", Walk().csv) { path in
            let expected = try StepCount(ofFile: path)
            #expect(abs(expected.steps.count - Walk().steps) <= 2)

            let text = try await count([path])
            #expect(text.end == .exited(0))
            let lines = text.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
            #expect(
                lines == [
                    ["recording", "stream", "seconds", "steps", "steps/s", "bouts"],
                    [path, "40", "\(expected.steps.count)", "1.8", "1"],
                ])

            let csv = try await count(["--format", "csv", path, path])
            #expect(csv.output.split(separator: "\n").count == 3)
            #expect(
                csv.output.hasPrefix(
                    "recording,stream,start,end,steps,cadence,bouts,samples,leftOut,gaps,walkingTime,"))
            #expect(csv.output.split(separator: "\n")[1].hasPrefix("\(path),,0.0,39.96,"))
            let steps = try await count(["--format", "csv", "--rows", "steps", path])
            #expect(steps.output.split(separator: "\n").count == expected.steps.count + 1)
            let bouts = try await count(["--format", "csv", "--rows", "bouts", path])
            #expect(bouts.output.split(separator: "\n").count == 2)

            let json = try await count(["--format", "json", "--unit", "g", path]).recordings()
            #expect(json.map(\.recording) == [path])
            #expect(json.map { $0.steps.map(\.time) } == [expected.steps.map(\.time)])
            #expect(json.map { $0.steps.map(\.confidence) } == [expected.steps.map(\.confidence)])
            #expect(json.map(\.bouts) == [expected.bouts])
            #expect(json.map(\.coverage) == [1])
            #expect(json.map(\.gait.steps) == [expected.steps.count])
            let notSteps = expected.bouts.reduce(0) { $0 + Double($1.steps) * (1 - $1.confidence) }
            #expect(
                json.allSatisfy {
                    abs($0.expectedError.falseSteps - notSteps) < 1e-9 && $0.expectedError.missedSteps > 0
                })
        }
    }

    @Test(arguments: LogFormat.allCases, JSONRoot.allCases)
    func aSessionIsCountedAsItsSamples(format: LogFormat, root: JSONRoot) async throws {
        let expected = try withFile("walk.csv", Walk().csv) { try StepCount(ofFile: $0) }
        try await withTemporaryDirectory { data in
            let session = try WalkSession(in: data, format: format, root: root)
            for paths in [[session.directory.string], session.files.reversed()] {
                let outcome = try await count(["--format", "json"] + paths)
                #expect(outcome.end == .exited(0), "\(outcome.errors)")
                let recordings = try outcome.recordings()
                let recording = try #require(recordings.first)
                #expect(recordings.count == 1)
                #expect(recording.numberOfSteps == expected.steps.count)
                #expect(recording.samples == expected.samples)
                #expect(recording.leftOut == (format == .json ? 1 : 0))
                for (one, other) in zip(recording.steps, expected.steps) { #expect(abs(one.time - other.time) < 1e-3) }
            }
        }
    }

    @Test func whatIsMissingMakesAnotherExitCode() async throws {
        try await withTemporaryDirectory { data in
            let session = try WalkSession(in: data, format: .tsv, lost: 7)
            let outcome = try await count([session.directory.string])
            #expect(outcome.end == .exited(3))
            #expect(outcome.errors.contains("phone/accelerometer: 7 samples were lost"))
            #expect(outcome.output.contains("phone/accelerometer"))
        }
    }

    @Test func aSessionWithoutFilesHasNoSteps() async throws {
        try await withTemporaryDirectory { data in
            let session = try WalkSession(in: data, format: .csv)
            for file in session.files { try FileManager.default.removeItem(atPath: file) }
            let outcome = try await count(["--format", "json", session.directory.string])
            #expect(outcome.end == .exited(3))
            #expect(outcome.errors.contains("250 samples are not counted"))
            #expect(try outcome.recordings().map(\.samples) == [0])
        }
    }

    @Test func stepsAreCountedInWhatSomebodyLabelled() async throws {
        try await withTemporaryDirectory { data in
            let session = try WalkSession(in: data, format: .csv)
            let directory = try SessionDirectory(at: session.directory)
            let start = try directory.record().startDate
            func time(_ seconds: Double) -> WallTime {
                WallTime(nanosecondsSince1970: start.nanosecondsSince1970 + Int64(seconds * 1e9))
            }
            let all = try await count(["--format", "json", session.directory.string])
            let steps = try #require(try all.recordings().first).steps
            let middle = steps[steps.count / 2].time
            for note in [
                Annotation(number: 1, label: "first half", from: time(0), to: time(middle), date: time(9)),
                Annotation(number: 2, label: "turn", from: time(middle), note: "left", date: time(9)),
                Annotation(
                    number: 3, label: "other", from: time(0), stream: StreamName("phone/gyro"), date: time(9)),
            ] {
                try directory.add(note)
            }
            let csv = try await count(["--format", "csv", "--rows", "annotations", session.directory.string])
            #expect(csv.end == .exited(0))
            let rows = csv.output.split(separator: "\n").map {
                $0.split(separator: ",", omittingEmptySubsequences: false)
            }
            #expect(rows.map { $0[2] } == ["label", "first half", "turn"])
            #expect(rows.map { $0[5] } == ["steps", "\(steps.count / 2)", ""])
            #expect(rows.map { $0[6] } == ["note", "", "left"])
        }
    }

    @Test func whatCannotBeCountedIsSaidAndTheRestIsCounted() async throws {
        try await withTemporaryDirectory { data in
            let session = try WalkSession(in: data, format: .csv)
            let walk = data.appending("walk.csv").string
            try Data(Walk().csv.utf8).write(to: URL(filePath: walk))
            let slow = data.appending("milliseconds.csv").string
            try Data(("t,x,y,z\n" + (0..<50).map { "\($0 * 20),0,0,1\n" }.joined()).utf8).write(to: URL(filePath: slow))
            let gyro = session.directory.appending("phone_gyro.csv").string
            let outcome = try await count(["/nowhere.csv", slow, walk, gyro, data.string])
            #expect(outcome.end == .exited(74))
            #expect(outcome.output.split(separator: "\n").count == 2)
            #expect(outcome.output.contains(walk))
            for text in [
                "/nowhere.csv: cannot be opened: No such file",
                "milliseconds.csv: most samples are more than 1 s apart",
                "phone_gyro.csv: the unit is rad/s", "session.json",
            ] {
                #expect(outcome.errors.contains(text), "\(outcome.errors)")
            }
        }
    }

    @Test(arguments: [[], ["--format", "xml", "a.csv"], ["--placement", "ear", "a.csv"], ["--unit", "mg", "a.csv"]])
    func mistakesOnTheCommandLineAreUsage(arguments: [String]) async throws {
        let outcome = try await count(arguments)
        #expect(outcome.end == .exited(64))
    }
}

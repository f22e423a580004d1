import Files
import FoundationEssentials
import Messages
import Recording
import StepRecordings
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
        // "-9" is not a count of the recorder's.
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
}

import Export
import Foundation
import Recording
import SystemPackage
import TestSupport
import Testing

/// The names that exports give to a pause of one stream.
@Suite(.timeLimit(.minutes(1)))
struct StreamPauseTests {
    private func exported(in directory: FilePath, _ format: SessionExport.Format) throws -> Exported {
        let session = try MadeSession(in: directory)
        for name in ["phone/accelerometer", "wrist/accelerometer"] {
            try session.add(name)
            try session.samples(name, from: 0.5, count: 3) { "\($0),0,1" }
        }
        try session.pause("wrist/accelerometer", from: 0.6, to: 0.7)
        for name in ["phone/accelerometer", "wrist/accelerometer"] { try session.sample(name, 0.8, "1,2,3") }
        try session.finish(at: 2)
        return try Exported(session.directory, to: directory.appending("out"), format) {
            if format != .bids { $0.clock = .recorder }
        }
    }

    @Test func theTableOfEventsHasItsStream() throws {
        try withTemporaryDirectory { directory in
            let text = try exported(in: directory, .csv).text("s1/events.tsv")
            #expect(
                text == """
                    time\tevent\tstep\tstream
                    0\tstart\tWalk/out\t
                    0.6\tpause\t\twrist/accelerometer
                    0.7\tresume\t\twrist/accelerometer
                    2\tstop\t\t

                    """)
        }
    }

    @Test func onlyItsOwnEventsOfABIDSDataSetHaveIt() throws {
        try withTemporaryDirectory { directory in
            let exported = try exported(in: directory, .bids)
            for name in try exported.files.keys where name.hasSuffix("_events.tsv") {
                #expect(try exported.text(name).contains("\tpause\t") == name.contains("wrist"))
            }
        }
    }

    @Test func aMarkerOfXDFNamesIt() throws {
        try withTemporaryDirectory { directory in
            let needle = Array("pause wrist/accelerometer".utf8)
            let files = try exported(in: directory, .xdf).files
            #expect(files.values.contains { Array($0).contains(needle) })
        }
    }
}

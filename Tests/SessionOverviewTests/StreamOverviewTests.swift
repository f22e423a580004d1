import Files
import Recording
import SessionOverview
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct StreamOverviewTests {
    @Test func timesWithoutSamplesAreNoTimesBetweenSamples() throws {
        try withTemporaryDirectory { data in
            let session = try MadeSession(in: data)
            let name = "phone/gyro"
            try session.add(name)
            try session.samples(name, from: 0, count: 100) { _ in "0,0,0" }
            try session.pause(from: 1, to: 60, leavingOut: [name: 5_900])
            try session.samples(name, from: 60.5, count: 100) { _ in "0,0,0" }
            try session.beginEpoch(name, "E2", at: 100)
            try session.samples(name, from: 100, count: 100) { _ in "0,0,0" }
            try session.gap(name, count: 1_000, at: 101)
            try session.samples(name, from: 111, count: 50) { _ in "0,0,0" }
            // A file that is rotated interrupts nothing.
            try session.rotate(name, at: 111.5)
            try session.samples(name, from: 111.5, count: 50) { _ in "0,0,0" }
            try session.finish(at: 112)
            let record = try session.directory.record()
            let overview = try StreamOverview(record.logs[0], of: record, in: session.directory)
            #expect(overview.samples == 400)
            #expect(overview.damage == [])
            let bins = overview.intervals.bins
            #expect(bins.reduce(0) { $0 + $1.count } == 4 * 99)
            #expect(bins.allSatisfy { $0.to < 0.02 }, "\(bins)")
            // Only lost samples are a gap.
            #expect(overview.gaps.count == 1)
        }
    }
}

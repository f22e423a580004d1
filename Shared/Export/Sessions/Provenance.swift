import Files
import Messages
import Recording

/// How an export came about: what was read, what was done with it, what was written. The contents of its provenance file.
struct Provenance: Codable, Hashable, Sendable {
    struct Options: Codable, Hashable, Sendable {
        var format: String
        var clock: String
        /// Samples per second, if the streams were resampled.
        var rate: Double?
        /// The streams that were asked for; absent for all.
        var streams: [String]?
        var subject: String?
        var run: Int?
        var allowDamaged: Bool?
        /// The streams in which steps were counted, and where their devices were worn.
        var countSteps: [String]?
        var placement: String?
    }

    struct Stream: Codable, Hashable, Sendable {
        var stream: String
        var files: [String]
        var columns: [String]
        /// What the values of the columns are; absent if all are numbers.
        var types: [String]?
        var unit: String?
        var rate: Double?
        /// Whether its data were measured, replayed or simulated, if that is known.
        var origin: DataOrigin?
        /// Samples that were written.
        var samples: Int
        /// Dates of the first and the last sample, on the clock of the export.
        var start: WallTime?
        var end: WallTime?
        var absent: [Absence]
        /// Samples that were filled in after the session; absent if none were.
        var filled: [Filled]?
    }

    struct Filled: Codable, Hashable, Sendable {
        var epoch: String?
        var from: Int
        var samples: Int
        /// Seconds since the session's start.
        var first: Double?
        var last: Double?
    }

    struct Absence: Codable, Hashable, Sendable {
        var reason: String
        var epoch: String?
        var from: Int?
        /// 0 if it is unknown.
        var count: Int
        /// Seconds since the session's start of the samples before and behind.
        var after: Double?
        var before: Double?
        var date: WallTime?
    }

    /// How a publisher's clock was placed on the recorder's.
    struct Clock: Codable, Hashable, Sendable {
        struct Comparison: Codable, Hashable, Sendable {
            /// Seconds since the session's start on the publisher's clock.
            var time: Double
            /// Seconds by which the publisher's clock was ahead of the recorder's.
            var offset: Double
            /// How much that may be wrong, in seconds.
            var uncertainty: Double
        }

        var endpoint: String
        var epochs: [String]
        var comparisons: [Comparison]
        /// Seconds per second by which it gained from the first to the last comparison.
        var drift: Double?
        /// The largest of the comparisons; absent if the clocks were never compared: then nothing was corrected.
        var uncertainty: Double?
    }

    var schema = "export.v1"
    var program = "recorder"
    var version: String
    var session: String
    var task: String?
    var status: String
    var startDate: WallTime
    var endDate: WallTime?
    var options: Options
    /// whole, loss or damaged, as `recorder verify` finds it.
    var verdict: String
    var findings: [String]
    var clocks: [Clock]
    var streams: [Stream]
    /// What samples were filled in from; absent if none were.
    var fills: [SessionReport.Fill]?
    var inputs: [Input]
    var outputs: [OutputFile.Written]

    struct Input: Codable, Hashable, Sendable {
        var name: String
        var sha256: String
    }
}

extension Provenance.Clock {
    /// One for each run of a publisher's machine.
    static func clocks(
        of record: SessionRecord, streams: [SessionRecord.Log], _ alignments: [String: ClockAlignment]
    ) -> [Provenance.Clock] {
        var clocks: [Provenance.Clock] = []
        for epoch in streams.flatMap(\.epochs) {
            let points = alignments[epoch.epoch]?.points ?? []
            var clock = Provenance.Clock(
                endpoint: epoch.replay, epochs: [epoch.epoch],
                comparisons: points.map {
                    Comparison(
                        time: Double($0.time) / 1e9, offset: Double($0.offset) / 1e9, uncertainty: $0.uncertainty)
                }, uncertainty: points.map(\.uncertainty).max())
            if let first = points.first, let last = points.last, first.time < last.time {
                clock.drift = Double(last.offset - first.offset) / Double(last.time - first.time)
            }
            if let index = clocks.firstIndex(where: {
                $0.endpoint == clock.endpoint && $0.comparisons == clock.comparisons
            }) {
                if !clocks[index].epochs.contains(epoch.epoch) { clocks[index].epochs.append(epoch.epoch) }
            } else {
                clocks.append(clock)
            }
        }
        return clocks
    }
}

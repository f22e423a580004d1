import Files
import Messages
import Recording

/// The contents of an export's provenance file: what was read, how it was processed, and what was written.
struct Provenance: Codable, Hashable, Sendable {
    struct Options: Codable, Hashable, Sendable {
        var format: String
        var clock: String
        /// Samples per second, if the streams were resampled.
        var rate: Double?
        /// The requested streams; absent for all.
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
        /// The types of the columns' values; absent if all are numbers.
        var types: [String]?
        /// Absent if the unit changes.
        var unit: String?
        /// The unit at the beginning and each change of it; absent if it does not change.
        var units: [SessionRecord.Log.UnitChange]?
        /// Absent if the rate changes, unless the stream was resampled.
        var rate: Double?
        /// Whether the data were measured, replayed or simulated; absent if unknown.
        var origin: DataOrigin?
        /// How many samples were written.
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
        /// 0 if unknown.
        var count: Int
        /// Times of the samples before and after, in seconds since the session's start.
        var after: Double?
        var before: Double?
        var date: WallTime?
    }

    /// How a publisher's clock was aligned with the recorder's.
    struct Clock: Codable, Hashable, Sendable {
        struct Comparison: Codable, Hashable, Sendable {
            /// Seconds since the session's start on the publisher's clock.
            var time: Double
            /// Seconds by which the publisher's clock was ahead of the recorder's.
            var offset: Double
            /// Uncertainty of the offset, in seconds.
            var uncertainty: Double
        }

        var endpoint: String
        var epochs: [String]
        var comparisons: [Comparison]
        /// Seconds per second that the clock gained from the first to the last comparison.
        var drift: Double?
        /// The largest uncertainty of the comparisons; absent if the publisher's clock was never compared, and so nothing was
        /// corrected.
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
    /// `whole`, `loss` or `damaged`, as `recorder verify` reports.
    var verdict: String
    var findings: [String]
    var clocks: [Clock]
    var streams: [Stream]
    /// The sources of filled-in samples; absent if none were filled in.
    var fills: [SessionReport.Fill]?
    var inputs: [Input]
    var outputs: [OutputFile.Written]

    struct Input: Codable, Hashable, Sendable {
        var name: String
        var sha256: String
    }
}

extension Provenance.Clock {
    /// One entry for each run of a publisher's machine.
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

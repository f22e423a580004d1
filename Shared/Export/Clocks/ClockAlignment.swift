import Messages
package import Recording

/// Converts times of a publisher's clock to the recorder's, based on comparisons of both during the session: linear between two
/// comparisons, constant before the first and after the last.
package struct ClockAlignment: Hashable, Sendable {
    package struct Point: Hashable, Sendable {
        /// Nanoseconds since the session's start on the publisher's clock.
        package var time: Int64
        /// Nanoseconds by which the publisher's clock was ahead of the recorder's.
        package var offset: Int64
        /// Uncertainty of the offset, in seconds.
        package var uncertainty: Double

        package init(time: Int64, offset: Int64, uncertainty: Double) {
            self.time = time
            self.offset = offset
            self.uncertainty = uncertainty
        }
    }

    /// In order of time, without duplicates.
    package let points: [Point]
    /// The point at or before the last requested time.
    private var index = 0

    package init(_ points: [Point]) {
        var ordered: [Point] = []
        for point in points.sorted(by: { $0.time < $1.time }) where ordered.last.map({ $0.time < point.time }) ?? true {
            ordered.append(point)
        }
        self.points = ordered
    }

    /// The alignment of an epoch's clock.
    ///
    /// Comparisons belong to the same run of the machine as long as uptimes rise from one to the next, and do not show
    /// a later start. An epoch belongs to the last run that began before the epoch was last heard. Without comparisons
    /// in its run, it has no alignment.
    ///
    /// A relay answers with the clock of its own machine: none of its comparisons is the publisher's.
    /// - Parameter former: the epoch before this one in a stream, at the same endpoint.
    package init(
        of epoch: SessionRecord.Epoch, after former: SessionRecord.Epoch? = nil, in record: SessionRecord
    ) {
        if epoch.isRelayed == true {
            self.init([])
            return
        }
        // `heard` is on the wall clock, comparisons are not: see `clockSet`.
        let heard = epoch.heard.subtracting(record.clockAhead)
        let heardBefore = former?.heard.subtracting(record.clockAhead)
        var runs: [[ClockComparison]] = []
        for comparison in record.clocks where comparison.endpoint == epoch.replay {
            if let last = runs.last?.last, Self.isOneRun(last, comparison, of: epoch, heard, heardBefore) {
                runs[runs.count - 1].append(comparison)
            } else {
                runs.append([comparison])
            }
        }
        let run = runs.last { $0.first.map { Self.start(of: $0) <= heard } ?? false } ?? []
        // An uptime that was greater before this epoch is from before a restart of the machine.
        let isFromBeforeARestart = run.contains { comparison in
            comparison.clock.uptime > epoch.clock.uptime && heardBefore.map { comparison.date <= $0 } ?? false
        }
        self.init(
            (isFromBeforeARestart ? [] : run).map { comparison in
                let own = epoch.time(of: comparison.clock.uptime, startDate: record.startDate)
                let recorder = comparison.date.nanosecondsSince1970 - record.startDate.nanosecondsSince1970
                return Point(time: own, offset: own &- recorder, uncertainty: comparison.roundTrip / 2)
            })
    }

    /// Whether a publisher's machine was not restarted between two comparisons, as far as an epoch shows.
    /// - Parameters:
    ///   - heard: when the epoch was last heard, on the clock of the comparisons.
    ///   - heardBefore: when the epoch before it was last heard, on the same clock.
    private static func isOneRun(
        _ one: ClockComparison, _ other: ClockComparison, of epoch: SessionRecord.Epoch, _ heard: WallTime,
        _ heardBefore: WallTime?
    ) -> Bool {
        guard one.clock.uptime <= other.clock.uptime else { return false }
        let start = start(of: other)
        if start <= one.date { return true }
        // The start also seems later after a sleep, and if the recorder's clock was set while no recorder ran. No epoch
        // outlasts a restart. Its own date may be wrong, but it began after the epoch before it was last heard.
        return epoch.clock.date <= one.clock.date && heard >= start && (heardBefore.map { one.date > $0 } ?? true)
    }

    /// When the machine was started, on the recorder's clock, if it has not slept since.
    private static func start(of comparison: ClockComparison) -> WallTime {
        comparison.date.subtracting(Int64(nanosecondsIn: comparison.clock.uptime))
    }

    /// The time on the recorder's clock. Fastest if times are requested in order.
    @inline(__always)
    package mutating func recorderTime(of time: Int64) -> Int64 {
        time &- offset(at: time)
    }

    /// The time on the publisher's clock at a time on the recorder's.
    mutating func publisherTime(of time: Int64) -> Int64 {
        // One correction is enough, because clocks drift slowly.
        time &+ offset(at: time &+ offset(at: time))
    }

    /// Nanoseconds by which the publisher's clock is ahead.
    package mutating func offset(at time: Int64) -> Int64 {
        guard points.count > 1 else { return points.first?.offset ?? 0 }
        while index > 0, time < points[index].time { index -= 1 }
        while index + 2 < points.count, time >= points[index + 1].time { index += 1 }
        let (from, to) = (points[index], points[index + 1])
        if time <= from.time { return from.offset }
        if time >= to.time { return to.offset }
        let part = Double(time - from.time) / Double(to.time - from.time)
        return from.offset + Int64((part * Double(to.offset - from.offset)).rounded())
    }
}

extension SessionRecord.Log {
    /// The alignment of the epoch that was current at a time in nanoseconds since the session's start, as far as known.
    package func alignment(
        at time: Int64, _ record: SessionRecord, _ alignments: [String: ClockAlignment]
    ) -> ClockAlignment {
        // An epoch was last heard at its end, on the wall clock.
        let date = record.startDate.nanosecondsSince1970 &+ record.clockAhead &+ time
        let epoch = epochs.first { $0.heard.nanosecondsSince1970 >= date } ?? epochs.last
        return epoch.flatMap { alignments[$0.epoch] } ?? ClockAlignment([])
    }
}

extension SessionRecord.Epoch {
    /// Converts an uptime in seconds to nanoseconds since the session's start, as in the stream's files.
    func time(of uptime: Double, startDate: WallTime) -> Int64 {
        let sinceStart = clock.date.nanosecondsSince1970 &- startDate.nanosecondsSince1970
        let start = (Nanoseconds.from(seconds: clock.uptime) ?? 0) &- sinceStart
        let uptime = Nanoseconds.from(seconds: uptime) ?? 0
        return uptime &- (sleeps?.origin(at: uptime, start: start) ?? start)
    }
}

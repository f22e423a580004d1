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
    /// Comparisons belong to the same run of the machine as long as uptimes rise from one to the next. Of several runs, the one
    /// closest to the time at which the epoch was first seen is used.
    ///
    /// A relay answers with the clock of its own machine: none of its comparisons is the publisher's.
    package init(of epoch: SessionRecord.Epoch, in record: SessionRecord) {
        if epoch.isRelayed == true {
            self.init([])
            return
        }
        var runs: [[ClockComparison]] = []
        for comparison in record.clocks where comparison.endpoint == epoch.replay {
            if let last = runs.last?.last, last.clock.uptime <= comparison.clock.uptime {
                runs[runs.count - 1].append(comparison)
            } else {
                runs.append([comparison])
            }
        }
        // `heard` is on the wall clock, comparisons are not: see `clockSet`.
        let heard = epoch.heard.subtracting(record.clockAhead).nanosecondsSince1970
        func distance(_ run: [ClockComparison]) -> Int64 {
            run.map { abs($0.date.nanosecondsSince1970 - heard) }.min() ?? .max
        }
        let run = runs.min { distance($0) < distance($1) } ?? []
        self.init(
            run.map { comparison in
                let own = epoch.time(of: comparison.clock.uptime, startDate: record.startDate)
                let recorder = comparison.date.nanosecondsSince1970 - record.startDate.nanosecondsSince1970
                return Point(time: own, offset: own &- recorder, uncertainty: comparison.roundTrip / 2)
            })
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

/// Every sample of one stream that is known to have left its publisher, by epoch and sequence.
struct StreamHistory: Sendable {
    let device: String
    let stream: String
    private(set) var epochs: [Epoch] = []

    var name: String { "\(device)/\(stream)" }

    /// One run of the publisher.
    struct Epoch: Sendable {
        let epoch: String
        /// The columns of a row, `uptime` first.
        let columns: Int
        /// Seconds to add to an uptime to get wall time, by the first clock reading.
        let dateOffset: Double
        /// The rows from sequence 0 on. A row that the laboratory missed has NaN as its uptime.
        private(set) var rows: [Double] = []
        /// The publisher's progress: `next` is one past the last sample that had left by `at` (nanoseconds of `MonotonicClock`).
        private(set) var arrivals: [(next: Int, at: Int64)] = []

        init(epoch: String, columns: Int, dateOffset: Double) {
            self.epoch = epoch
            self.columns = columns
            self.dateOffset = dateOffset
        }

        /// One past the last sample known.
        var next: Int { rows.count / columns }

        func uptime(_ sequence: Int) -> Double { rows[sequence * columns] }

        /// A sample's columns after `uptime`.
        func values(_ sequence: Int) -> ArraySlice<Double> {
            rows[sequence * columns + 1..<(sequence + 1) * columns]
        }

        func isKnown(_ sequence: Int) -> Bool { sequence < next && !uptime(sequence).isNaN }

        /// When a sample was taken, in seconds since 1970.
        func date(_ sequence: Int) -> Double { uptime(sequence) + dateOffset }

        /// One past the last sample that had left by an instant.
        func next(at time: Int64) -> Int {
            var range = 0..<arrivals.count
            while !range.isEmpty {
                let middle = range.lowerBound + range.count / 2
                if arrivals[middle].at <= time {
                    range = middle + 1..<range.upperBound
                } else {
                    range = range.lowerBound..<middle
                }
            }
            return range.lowerBound == 0 ? 0 : arrivals[range.lowerBound - 1].next
        }

        /// The latest time at which a sample had left.
        func arrival(of sequence: Int) -> Int64? { arrivals.first { $0.next > sequence }?.at }

        /// The runs of samples that the laboratory missed.
        var holes: [Range<Int>] {
            var holes: [Range<Int>] = []
            for sequence in 0..<next where !isKnown(sequence) {
                if let last = holes.last, last.upperBound == sequence {
                    holes[holes.count - 1] = last.lowerBound..<sequence + 1
                } else {
                    holes.append(sequence..<sequence + 1)
                }
            }
            return holes
        }

        /// The sequence of the sample that was taken at an uptime.
        func sequence(at uptime: Double) -> Int? {
            var range = 0..<next
            while !range.isEmpty {
                let middle = range.lowerBound + range.count / 2
                // The right neighbour of a hole determines on which side of it to search.
                var probe = middle
                while probe < range.upperBound, !isKnown(probe) { probe += 1 }
                if probe == range.upperBound {
                    range = range.lowerBound..<middle
                } else if self.uptime(probe) == uptime {
                    return probe
                } else if self.uptime(probe) < uptime {
                    range = probe + 1..<range.upperBound
                } else {
                    range = range.lowerBound..<middle
                }
            }
            return nil
        }

        /// Adds rows, or fills a hole with them.
        fileprivate mutating func add(_ values: [Double], from sequence: Int, at time: Int64?) {
            let count = values.count / columns
            if sequence > next {
                rows += Array(repeating: .nan, count: (sequence - next) * columns)
            }
            for row in 0..<count {
                let place = (sequence + row) * columns
                let row = values[row * columns..<(row + 1) * columns]
                if place < rows.count {
                    rows.replaceSubrange(place..<place + columns, with: row)
                } else {
                    rows += row
                }
            }
            guard let time, sequence + count > arrivals.last?.next ?? 0 else { return }
            arrivals.append((sequence + count, time))
        }
    }

    init(device: String, stream: String) {
        self.device = device
        self.stream = stream
    }

    /// Adds a batch.
    /// - Parameter time: its arrival on `MonotonicClock`; nil for a replayed batch.
    mutating func add(_ batch: HeardBatch, at time: Int64?) {
        var index = epochs.firstIndex { $0.epoch == batch.epoch }
        if index == nil {
            epochs.append(Epoch(epoch: batch.epoch, columns: batch.columns, dateOffset: batch.dateOffset))
            index = epochs.count - 1
        }
        if let index { epochs[index].add(batch.values, from: batch.sequence, at: time) }
    }
}

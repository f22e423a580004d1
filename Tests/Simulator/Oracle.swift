import Files
import Messages
import Recording
import SystemPackage

/// Knows every sample that was published, and what a recording of it must have.
struct Oracle {
    /// One run of a publisher.
    struct Epoch {
        let name: String
        /// The publisher's uptime of sample 0, in seconds, and samples per second.
        let start: Double
        let rate: Double
        /// When each batch was published, in virtual nanoseconds, and the end of its samples.
        var batches: [(time: Int64, end: Int)] = []
        /// When the publisher ended; nil while it runs.
        var end: Int64?

        var published: Int { batches.last?.end ?? 0 }

        func uptime(of sequence: Int) -> Double { start + Double(sequence) / rate }

        /// Whether the recorder has no way to know of a sample: the publisher was killed before it described its stream again.
        func mayEndUnheard(_ sequence: Int) -> Bool {
            guard let end, let time = time(of: sequence) else { return false }
            return end - time < 2_100_000_000
        }

        /// When a sample was published; nil if it never was.
        func time(of sequence: Int) -> Int64? {
            // The first batch that ends behind it.
            var range = 0..<batches.count
            while !range.isEmpty {
                let middle = range.lowerBound + range.count / 2
                if batches[middle].end > sequence {
                    range = range.lowerBound..<middle
                } else {
                    range = (middle + 1)..<range.upperBound
                }
            }
            return range.lowerBound < batches.count ? batches[range.lowerBound].time : nil
        }
    }

    /// A run of a stream's publisher, as its place in `epochs`, and the sample that comes next in it.
    typealias Place = (epoch: Int, sequence: Int)

    /// By stream, in the order in which they began. A sample's second and third value are its epoch's place here, and its
    /// own number.
    private(set) var epochs: [StreamName: [Epoch]] = [:]

    /// Where streams stand that were just described.
    func places(of descriptions: [StreamDescription]) -> [StreamName: Place] {
        var places: [StreamName: Place] = [:]
        for description in descriptions {
            places[description.name] = ((epochs[description.name]?.count ?? 1) - 1, description.nextSequence)
        }
        return places
    }

    mutating func begin(_ stream: StreamName, _ epoch: Epoch) { epochs[stream, default: []].append(epoch) }

    mutating func note(_ stream: StreamName, upTo end: Int, at time: Int64) {
        guard let last = epochs[stream]?.indices.last else { return }
        epochs[stream]?[last].batches.append((time, end))
    }

    mutating func end(_ stream: StreamName, at time: Int64) {
        guard let last = epochs[stream]?.indices.last else { return }
        epochs[stream]?[last].end = time
    }

    // MARK: Judging

    /// What is wrong with what was recorded of a stream.
    struct Judgement {
        var samples = 0
        var lost = 0
        var violations: [String] = []
    }

    /// Judges what a finished session has of a stream.
    /// - Parameters:
    ///   - first: the epoch and sample with which the session begins.
    ///   - last: the epoch and the end of the samples with which it ends; nil if that was not known when it was stopped.
    ///   - mayLose: whether a sample of an epoch may be lost.
    func judge(
        _ log: SessionRecord.Log, of record: SessionRecord, in directory: SessionDirectory,
        first: Place, last: Place?, isPaused: (Double) -> Bool?,
        mayLose: (Epoch, Int) -> Bool
    ) throws -> Judgement {
        let name = StreamName(device: log.device, stream: log.stream)
        var judgement = Judgement()
        guard let epochs = epochs[name] else { return judgement }
        var gaps: [String: [Range<Int>]] = [:]
        for gap in log.gaps { gaps[gap.epoch, default: []].append(gap.from..<(gap.from + gap.count)) }
        for (epoch, ranges) in gaps {
            let sorted = ranges.filter { !$0.isEmpty }.sorted { $0.lowerBound < $1.lowerBound }
            for (gap, next) in zip(sorted, sorted.dropFirst()) where next.lowerBound < gap.upperBound {
                judgement.violations.append("\(name): the gaps \(gap) and \(next) of epoch \(epoch) overlap")
            }
        }
        var expected = first
        let heard = Set(log.epochs.map(\.epoch))
        /// Whether the recorder received nothing of a run. The run before it must then end in a gap of unknown length.
        func isUnheard(_ epoch: Int) -> Bool {
            guard !heard.contains(epochs[epoch].name),
                let before = epochs[..<epoch].last(where: { heard.contains($0.name) })
            else { return false }
            return gaps[before.name]?.contains(where: \.isEmpty) ?? false
        }
        /// Passes over samples that are not there, up to one that is.
        func pass(to epoch: Int, _ sequence: Int) {
            while (expected.epoch, expected.sequence) < (epoch, sequence) {
                let present = epochs[expected.epoch]
                let end =
                    expected.epoch == epoch
                    ? sequence : expected.epoch == last?.epoch ? last?.sequence ?? 0 : present.published
                while expected.sequence < end {
                    let sequence = expected.sequence
                    expected.sequence += 1
                    if isPaused(present.uptime(of: sequence)) != false { continue }
                    judgement.lost += 1
                    let isKnown = gaps[present.name]?.contains {
                        $0.contains(sequence) || $0.isEmpty && $0.lowerBound <= sequence
                    }
                    if isKnown != true {
                        if present.mayEndUnheard(sequence) || isUnheard(expected.epoch) { continue }
                        judgement.violations.append("\(name): sample \(sequence) of epoch \(expected.epoch) is missing")
                    } else if !mayLose(present, sequence) {
                        judgement.violations.append(
                            "\(name): sample \(sequence) of epoch \(expected.epoch) is in a gap, although it was available"
                        )
                    }
                }
                if expected.epoch < epoch { expected = (expected.epoch + 1, 0) }
            }
        }
        for file in log.files {
            var scanner = try LogScanner(
                directory.directory.path.appending(file.name), format: record.format(of: log), root: record.root)
            while let found = try scanner.next() {
                guard found.isSample else { continue }
                let sample = scanner.record
                guard let epoch = sample["x"].flatMap({ Double($0) }).map({ Int($0) }),
                    let sequence = sample["y"].flatMap({ Double($0) }).map({ Int($0) }), epochs.indices.contains(epoch)
                else {
                    judgement.violations.append("\(name): \(sample) is no sample that was published")
                    continue
                }
                judgement.samples += 1
                if (epoch, sequence) < (expected.epoch, expected.sequence) {
                    judgement.violations.append("\(name): sample \(sequence) of epoch \(epoch) is there twice, or late")
                    continue
                }
                pass(to: epoch, sequence)
                expected.sequence += 1
                if gaps[epochs[epoch].name]?.contains(where: { $0.contains(sequence) }) == true {
                    judgement.violations.append("\(name): sample \(sequence) of epoch \(epoch) is there, and in a gap")
                }
                if scanner.uptime != epochs[epoch].uptime(of: sequence) {
                    judgement.violations.append("\(name): sample \(sequence) has the uptime \(scanner.uptime)")
                }
                if isPaused(scanner.uptime) == true {
                    judgement.violations.append("\(name): sample \(sequence) of epoch \(epoch) was taken in a pause")
                }
            }
            if !scanner.isClean { judgement.violations.append("\(file.name) does not parse to its end") }
        }
        if let last { pass(to: last.epoch, last.sequence) }
        return judgement
    }
}

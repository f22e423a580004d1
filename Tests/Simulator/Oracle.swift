import Files
import Glibc
import Messages
import PublisherCore
import Recording
import SystemPackage

/// Knows every published sample, and what a recording of it must include.
struct Oracle {
    struct Batch {
        /// In virtual nanoseconds.
        let time: Int64
        /// One past the batch's last sample.
        let end: Int
        /// Nanoseconds for which the publisher's machine had slept.
        let slept: Int64
        /// When the publisher removed the batch for lack of space.
        var forgotten = Int64.max
    }

    /// One run of a publisher.
    struct Epoch {
        let name: String
        private(set) var batches: [Batch] = []
        /// The publisher's uptime of each sample, in seconds.
        private var uptimes: [Double] = []
        /// When the publisher ended, in virtual nanoseconds; nil while it runs.
        var end: Int64?
        /// Nanoseconds for which the publisher's machine had slept at its end.
        var slept: Int64 = 0

        init(name: String) { self.name = name }

        var published: Int { uptimes.count }

        func uptime(of sequence: Int) -> Double {
            uptimes.indices.contains(sequence) ? uptimes[sequence] : .nan
        }

        /// The first sample taken at an uptime or later.
        func first(from uptime: Double) -> Int { uptimes.firstIndex { $0 >= uptime } ?? uptimes.count }

        /// Whether a listener may never learn of a sample, because the publisher was killed before its next description of the
        /// stream.
        func mayEndUnheard(_ sequence: Int) -> Bool {
            guard let end, let batch = batch(of: sequence) else { return false }
            return (end - slept) - (batch.time - batch.slept) < 2_100_000_000
        }

        /// The batch in which a sample was published; nil if it never was.
        func batch(of sequence: Int) -> Batch? {
            // The first batch that ends after the sample.
            var range = 0..<batches.count
            while !range.isEmpty {
                let middle = range.lowerBound + range.count / 2
                if batches[middle].end > sequence {
                    range = range.lowerBound..<middle
                } else {
                    range = (middle + 1)..<range.upperBound
                }
            }
            return range.lowerBound < batches.count ? batches[range.lowerBound] : nil
        }

        mutating func note(_ batch: RowBatch, at time: Int64, slept: Int64) {
            for row in stride(from: 0, to: batch.rows.count, by: batch.columns) { uptimes.append(batch.rows[row]) }
            batches.append(Batch(time: time, end: uptimes.count, slept: slept))
        }

        mutating func forget(_ batch: Int, at time: Int64) { batches[batch].forgotten = time }
    }

    /// A publisher run of a stream, as its index in `epochs`, and the next sample in it.
    typealias Place = (epoch: Int, sequence: Int)

    /// By stream, in the order in which they began. A sample's second and third values are the index of its epoch here, and its
    /// own number.
    private(set) var epochs: [StreamName: [Epoch]] = [:]

    /// The places of streams according to their descriptions.
    func places(of descriptions: [StreamDescription]) -> [StreamName: Place] {
        var places: [StreamName: Place] = [:]
        for description in descriptions {
            // The publisher may have restarted since.
            let epoch = epochs[description.name]?.lastIndex { $0.name == description.epoch } ?? 0
            places[description.name] = (epoch, description.nextSequence)
        }
        return places
    }

    /// Whether a log has this place as the session's end.
    func isEnd(_ place: Place, of log: SessionRecord.Log) -> Bool {
        let name = epochs[StreamName(device: log.device, stream: log.stream)]?[place.epoch].name
        return log.epochs.contains { $0.epoch == name && $0.end == place.sequence }
    }

    /// How far a stream had been published at a time; nil if nothing was published.
    func place(of stream: StreamName, at time: Int64) -> Place? {
        guard let epochs = epochs[stream],
            let index = epochs.lastIndex(where: { $0.batches.first.map { $0.time <= time } ?? false }),
            let last = epochs[index].batches.last(where: { $0.time <= time })
        else { return nil }
        return (index, last.end)
    }

    mutating func begin(_ stream: StreamName, _ epoch: Epoch) { epochs[stream, default: []].append(epoch) }

    /// Notes a published batch.
    /// - Returns: its number in its epoch, and a violation, if any.
    mutating func note(
        _ stream: StreamName, _ batch: RowBatch, at time: Int64, slept: Int64
    ) -> (number: Int, violation: String?) {
        guard let last = epochs[stream]?.indices.last, let published = epochs[stream]?[last].published else {
            return (0, "\(stream) publishes before it begins")
        }
        var violation: String?
        if Int(batch.firstSequence) != published {
            violation = "\(stream) publishes from \(batch.firstSequence) on after \(published) samples"
        }
        for (row, sequence) in zip(stride(from: 0, to: batch.rows.count, by: batch.columns), published...)
        where batch.rows[row + 1] != Double(last) || batch.rows[row + 2] != Double(sequence) {
            violation = "\(stream) publishes another sample than \(sequence) of epoch \(last)"
        }
        epochs[stream]?[last].note(batch, at: time, slept: slept)
        return ((epochs[stream]?[last].batches.count ?? 1) - 1, violation)
    }

    /// Notes that a publisher removed a batch of its current run for lack of space.
    mutating func forget(_ batch: Int, of stream: StreamName, at time: Int64) {
        guard let last = epochs[stream]?.indices.last else { return }
        epochs[stream]?[last].forget(batch, at: time)
    }

    mutating func end(_ stream: StreamName, at time: Int64, slept: Int64) {
        defer { if let last = epochs[stream]?.indices.last { epochs[stream]?[last].slept = slept } }
        guard let last = epochs[stream]?.indices.last else { return }
        epochs[stream]?[last].end = time
    }

    // MARK: Judging

    /// The judgement of a recorded stream.
    struct Judgement {
        var samples = 0
        var lost = 0
        var violations: [String] = []
    }

    /// Judges a finished session's recording of a stream.
    /// - Parameters:
    ///   - first: the epoch and sample with which the session begins.
    ///   - earliest: the uptime from which samples before `first` are allowed; nil if none are.
    ///   - last: the epoch and the end of the samples for which the session must account; nil if it was not stopped.
    ///   - removed: the directory with the files that log-manager removed.
    ///   - mayBeUnknown: whether a sample of an epoch may be missing without a gap; nil if that depends only on what the recorder
    ///     heard.
    ///   - mayLose: whether a sample of an epoch may be lost, in a gap of known or unknown length.
    func judge(
        _ log: SessionRecord.Log, of record: SessionRecord, in directory: SessionDirectory,
        first: Place, earliest: Double?, last: Place?, removed: FilePath, isPaused: (Double) -> Bool?,
        mayBeUnknown: (Epoch, Int) -> Bool?, mayLose: (Epoch, Int, Bool) -> Bool
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
        var hasBegun = false
        let heard = Set(log.epochs.map(\.epoch))
        /// Whether the recorder received nothing of a run. Then the run before it must end in a gap of unknown length.
        func isUnheard(_ epoch: Int) -> Bool {
            guard !heard.contains(epochs[epoch].name),
                let before = epochs[..<epoch].last(where: { heard.contains($0.name) })
            else { return false }
            return gaps[before.name]?.contains(where: \.isEmpty) ?? false
        }
        /// Skips missing samples, up to one that is there.
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
                    let own = gaps[present.name] ?? []
                    let isCounted = own.contains { $0.contains(sequence) }
                    if !isCounted, !own.contains(where: { $0.isEmpty && $0.lowerBound <= sequence }) {
                        let mayBeUnknown = mayBeUnknown(present, sequence)
                        if mayBeUnknown ?? present.mayEndUnheard(sequence) { continue }
                        if isUnheard(expected.epoch), mayBeUnknown == nil || mayLose(present, sequence, false) {
                            continue
                        }
                        judgement.violations.append("\(name): sample \(sequence) of epoch \(expected.epoch) is missing")
                    } else if !mayLose(present, sequence, isCounted) {
                        judgement.violations.append(
                            "\(name): sample \(sequence) of epoch \(expected.epoch) is in a gap, although it was available"
                        )
                    }
                }
                if expected.epoch < epoch { expected = (expected.epoch + 1, 0) }
            }
        }
        let lostRanges = epochs.map { gaps[$0.name] ?? [] }
        for file in log.files {
            let format = record.format(of: log)
            let isRemoved = !directory.directory.contains(file.name)
            var scanner = try LogScanner(
                (isRemoved ? removed : directory.directory.path).appending(file.name), format: format,
                root: record.root)
            let values = SampleValues(format: format, columns: scanner.columns)
            while let found = try scanner.next() {
                guard found.isSample else { continue }
                guard let (epoch, sequence) = scanner.withRecordBytes({ values.read($0) }),
                    epochs.indices.contains(epoch)
                else {
                    judgement.violations.append("\(name): \(scanner.record) is not a sample that was published")
                    continue
                }
                judgement.samples += 1
                if !hasBegun, let earliest, (epoch, sequence) < first, scanner.uptime >= earliest {
                    expected = (epoch, sequence)
                }
                hasBegun = true
                if (epoch, sequence) < (expected.epoch, expected.sequence) {
                    judgement.violations.append("\(name): sample \(sequence) of epoch \(epoch) is there twice, or late")
                    continue
                }
                pass(to: epoch, sequence)
                expected.sequence += 1
                if lostRanges[epoch].contains(where: { $0.contains(sequence) }) {
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

/// Extracts the second and third values of a sample from its record. The rest is not parsed, because there are millions of
/// records.
private struct SampleValues {
    /// The index of `x` among a table's columns; nil in JSON.
    private let column: Int?
    private let delimiter: UInt8

    init(format: LogFormat, columns: [String]) {
        column = format == .json ? nil : columns.firstIndex(of: "x") ?? columns.count
        delimiter = format == .tsv ? UInt8(ascii: "\t") : UInt8(ascii: ",")
    }

    func read(_ record: UnsafeRawBufferPointer) -> (x: Int, y: Int)? {
        var place = 0
        if let column {
            // No text before this column includes a delimiter.
            for _ in 0..<column {
                guard let end = record[place...].firstIndex(of: delimiter) else { return nil }
                place = end + 1
            }
            guard let x = Self.number(record, &place), place < record.count, record[place] == delimiter else {
                return nil
            }
            place += 1
            return Self.number(record, &place).map { (x, $0) }
        }
        guard Self.find("\"x\":", in: record, &place), let x = Self.number(record, &place),
            Self.find("\"y\":", in: record, &place), let y = Self.number(record, &place)
        else { return nil }
        return (x, y)
    }

    /// Moves past a key.
    private static func find(_ key: StaticString, in record: UnsafeRawBufferPointer, _ place: inout Int) -> Bool {
        guard let base = record.baseAddress else { return false }
        let length = key.utf8CodeUnitCount
        while let quote = memchr(base + place, Int32(UInt8(ascii: "\"")), record.count - place) {
            place = UnsafeRawPointer(quote) - base
            guard place + length <= record.count else { return false }
            if memcmp(quote, key.utf8Start, length) == 0 {
                place += length
                return true
            }
            place += 1
        }
        return false
    }

    /// Reads a whole number and moves past it.
    private static func number(_ record: UnsafeRawBufferPointer, _ place: inout Int) -> Int? {
        let start = place
        var number = 0
        while place < record.count, place < start + 18, case let digit = record[place] &- UInt8(ascii: "0"), digit < 10
        {
            number = 10 * number + Int(digit)
            place += 1
        }
        guard place > start, place == record.count || record[place] != UInt8(ascii: ".") else { return nil }
        return number
    }
}

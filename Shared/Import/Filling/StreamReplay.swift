import Files
import Messages
import Recording

/// A stream while its gaps are filled from the bus: checks replies, and writes their samples into a file.
struct StreamReplay {
    private(set) var outcome: SessionFill.Stream

    private let index: Int
    private let stream: NumberedGaps
    private let record: SessionRecord
    private let timeline: SessionTimeline
    /// The directory of the new file; nil in a dry run.
    private let scratch: Directory?
    private let calls: FileCalls
    /// Made when the first samples arrive.
    private var writer: FillWriter?
    private var filled: [SessionRecord.FilledGap] = []
    private var firstUptime: Double?
    private var lastUptime: Double?

    init(
        _ index: Int, _ stream: NumberedGaps, _ record: SessionRecord, _ scratch: Directory?, _ calls: FileCalls
    ) {
        self.index = index
        self.stream = stream
        self.record = record
        self.scratch = scratch
        self.calls = calls
        outcome = SessionFill.Stream(stream.log)
        timeline = FillWriter.timeline(of: stream.log, record)
    }

    var name: StreamName { stream.name }
    var places: [NumberedGap] { stream.gaps }

    // MARK: Samples

    /// Takes a reply's samples. Unreadable and unrelated batches are noted and left out.
    mutating func take(_ frames: ArraySlice<[UInt8]>, into gap: inout GapReplay) throws(RecordingError) {
        var failure: RecordingError?
        var fault: MessageError?
        do {
            try ReceivedBatch.forEach(inReplay: frames) { batch, _ in
                if gap.isComplete { return }
                do {
                    try take(batch, into: &gap)
                } catch let error as RecordingError {
                    failure = failure ?? error
                }
            } unreadable: { error in
                fault = error
            }
        } catch {
            // No other errors are thrown.
        }
        if let fault { gap.fault = fault }
        if let failure { throw failure }
    }

    private mutating func take(_ batch: ReceivedBatch, into gap: inout GapReplay) throws {
        try check(batch, of: gap.place.gap.epoch)
        let (sequence, count) = (batch.body.sequence, batch.body.count)
        let uptimes = try batch.uptimes
        guard uptimes.count == count else {
            throw MessageError(.malformed, "a batch has \(uptimes.count) rows, not \(count) as \"count\" says")
        }
        // Samples received already or not requested are left out.
        let first = max(gap.next, sequence)
        var end = min(gap.place.numbers.upperBound, sequence + count)
        guard first < end else { return }
        let origin = try stream.origin(
            of: gap.place.gap.epoch, at: uptimes[first - sequence], clockDifference: batch.clockDifference)
        func time(_ number: Int) -> Int64 {
            let uptime = uptimes[number - sequence]
            return uptime == .max ? .max : uptime &- origin
        }
        if let latest = gap.place.latest,
            let late = (first..<end).first(where: { time($0) != .max && time($0) >= latest })
        {
            end = late
            gap.noteComplete()
        }
        guard first < end else { return }
        gap.parts.pass(to: first)
        var start = first
        while start < end {
            let isPaused = timeline.span(at: time(start)).state.isPaused
            let next = (start..<end).first { timeline.span(at: time($0)).state.isPaused != isPaused } ?? end
            let rows = start - sequence..<next - sequence
            try write(rows, of: batch, paused: isPaused, uptimes[rows], origin: origin, gap)
            gap.parts.take(next - start, paused: isPaused, uptimes: uptimes[rows])
            start = next
        }
    }

    /// Refuses a batch of another stream or run than requested.
    private func check(_ batch: ReceivedBatch, of epoch: String) throws(MessageError) {
        let log = stream.log
        try batch.check { () throws(MessageError) in log.fields.count }
        guard batch.isOf(name), SampleBody.string(at: batch.body.epoch, in: batch.frame) == epoch else {
            throw MessageError(.malformed, "the answer has samples of another stream or run")
        }
        let (fields, types) = try (batch.fields, batch.types)
        guard fields == log.fields, types == log.types else {
            throw MessageError(.wrongColumns, "the answer has the columns \(fields.joined(separator: ", "))")
        }
    }

    private mutating func write(
        _ rows: Range<Int>, of batch: ReceivedBatch, paused isPaused: Bool, _ uptimes: ArraySlice<Int64>,
        origin: Int64, _ gap: GapReplay
    ) throws(RecordingError) {
        guard let scratch else { return }
        let writer: FillWriter
        if let known = self.writer {
            writer = known
        } else {
            writer = try FillWriter(stream.log, of: record, in: scratch, calls: calls)
            self.writer = writer
        }
        if gap.parts.beginsPart(paused: isPaused) {
            // A part without a time is placed at the session's start.
            let uptime = uptimes.first { $0 != .max } ?? origin
            writer.begin(gap.place.gap.epoch, from: batch.body.sequence + rows.lowerBound, at: uptime, origin: origin)
        }
        if !isPaused { try writer.append(rows, of: batch, origin: origin) }
    }

    // MARK: Gaps

    /// Takes the outcome of a gap.
    /// - Parameter refusal: why not all samples were requested.
    mutating func finish(_ gap: GapReplay, _ refusal: String?) {
        let place = gap.place
        // An epoch followed by another one gets no further samples.
        let isWhole =
            gap.isComplete || gap.next >= place.numbers.upperBound
            || gap.hasEnded && stream.isOver(place.gap.epoch)
        let result = gap.parts.filled(isWhole: isWhole)
        if let result {
            filled.append(result)
            outcome.samples += gap.parts.samples
            outcome.gaps += 1
            if place.isFirst, firstUptime == nil { firstUptime = gap.parts.firstUptime }
            if place.isLast { lastUptime = gap.parts.lastUptime ?? lastUptime }
        }
        if result?.rest.isEmpty == true { return }
        outcome.notes.append("gap from sample \(place.gap.from): \(reason(gap, refusal))")
    }

    /// Why a part of a gap remains.
    private func reason(_ gap: GapReplay, _ refusal: String?) -> String {
        let place = gap.place
        if let reason = refusal ?? place.problem { return reason }
        if let fault = gap.fault { return "the replayed samples can't be used: \(fault.message)" }
        guard place.isOpen else {
            let came = gap.parts.came
            return "\(came) of \(place.gap.count.counted("sample")) came; the others are no longer kept"
        }
        if place.numbers.isEmpty { return "nothing can be asked for, since what follows was recorded" }
        return gap.hasEnded && gap.parts.came > 0
            ? "\(gap.parts.came.counted("sample")) came, and it is not known whether these are all: fill the session again if more come "
                + "from its site"
            : "no samples that belong in it are kept"
    }

    /// Ends the file with all received samples.
    /// - Returns: nil if no sample was received, and in a dry run.
    mutating func finish() throws(RecordingError) -> FillAddition.Stream? {
        outcome.take(filled, of: stream.log)
        guard let writer, let scratch, !filled.isEmpty else { return nil }
        let made = try writer.finish(0, filled)
        self.writer = nil
        let (log, format, calls) = (stream.log, record.format(of: stream.log), calls)
        return FillAddition.Stream(
            index: index,
            makeFile: { number, directory throws(RecordingError) in
                var file = made
                file.fill = number
                file.name = log.fillName(number, format)
                try scratch.link(made.name, to: file.name, in: directory, calls: calls)
                return file
            }, firstUptime: firstUptime, lastUptime: lastUptime)
    }
}

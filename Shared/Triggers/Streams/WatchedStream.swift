import MessageBus
import Messages

/// Checks the samples of one stream, in order and without gaps as far as its publisher has them, and finds triggers.
///
/// Confined to the thread of its `TriggerWatch`.
final class WatchedStream {
    struct Finding {
        let expression: TriggerExpression
        /// Whether the expression begins to hold, which is a trigger; otherwise, it still holds.
        let isNew: Bool
        /// When the sample was taken, or the silence became too long, on the monotonic clock.
        let instant: Int64
        /// The value that was compared; nil for a text and for a silence.
        let value: Double?
    }

    /// Nanoseconds. If a publisher's clock differs by more from this machine's, samples are placed by their time of arrival.
    private static let largestOffset: UInt64 = 2_000_000_000

    var name: StreamName { ordered.name }
    var reader = SampleBodyReader()
    /// Whether its missing samples are being replayed.
    var isRecovering = false
    private(set) var heard: Hearing
    private(set) var ordered: OrderedSamples
    /// Samples that could not be checked.
    private(set) var lost: [Gap] = []
    private(set) var found: [Finding] = []
    private(set) var unit: String?
    /// Up to when a ring was asked to keep the time of an expression that still holds, on the monotonic clock.
    var keptUntil: [TriggerExpression: Int64] = [:]
    /// Why expressions don't apply to the publisher's current run. A pattern that never applied because a field is
    /// missing is not included: it may be meant for other streams.
    private(set) var leftOut: [TriggerExpression: String] = [:]

    private let expressions: [TriggerExpression]
    /// The expressions about samples that apply to the publisher's current run.
    private var conditions: [StreamCondition] = []
    private var silences: [(expression: TriggerExpression, span: Int64, isSilent: Bool)]
    private var clock: ClockReading
    /// Nanoseconds to add to the publisher's uptime to get a time on the monotonic clock.
    private var offset: Int64

    private var fieldsToken: [UInt8] = []
    private var types: [FieldType]?
    private var columnCount: Int
    /// The uptime of the last sample that has a time.
    private var lastUptime: Double
    /// The numbers of a sample, by column; only for columns that a condition reads.
    private var numbers: [Double]
    /// When the last known sample was taken, on the monotonic clock.
    private var lastSample: Int64

    /// Watches a stream from its next sample on.
    /// - Throws: the reason if an expression names this stream and can't apply to it, or if no expression can.
    init(
        _ description: StreamDescription, _ expressions: [TriggerExpression], held: HeldBytes, at now: Moment
    ) throws(MessageError) {
        self.expressions = expressions
        ordered = OrderedSamples(description, held: held)
        heard = Hearing(at: now.monotonic)
        clock = description.clock
        unit = description.unit
        offset = Self.offset(description.clock, at: now)
        lastSample = now.monotonic
        types = description.types
        columnCount = description.fields.count
        lastUptime = description.clock.uptime
        numbers = Array(repeating: .nan, count: columnCount)
        silences = expressions.compactMap { expression in
            if case .silence(_, let span) = expression.subject { (expression, span, false) } else { nil }
        }
        let unfit = bindConditions(to: description)
        // An expression that names this stream is wrong; a pattern may be meant for other streams.
        if let named = unfit.first(where: { $0.expression.isOfOneStream }) { throw named.reason }
        if !isWatched, let first = unfit.first { throw first.reason }
        ordered.buffer.start(epoch: description.epoch, at: description.nextSequence)
    }

    /// Applies the expressions to the columns and the unit of a publisher's run.
    /// - Returns: the expressions that can't apply.
    @discardableResult
    private func bindConditions(
        to description: StreamDescription
    ) -> [(expression: TriggerExpression, reason: MessageError)] {
        let known = Set(conditions.map(\.expression)).union(leftOut.keys)
        conditions = []
        leftOut = [:]
        var unfit: [(expression: TriggerExpression, reason: MessageError)] = []
        for var condition in expressions.compactMap(StreamCondition.init) {
            do throws(MessageError) {
                try condition.bind(description.fields, description.types, unit: description.unit)
                conditions.append(condition)
            } catch {
                let expression = condition.expression
                unfit.append((expression, error))
                if error.code != .wrongColumns || known.contains(expression) { leftOut[expression] = error.message }
            }
        }
        return unfit
    }

    /// Whether any expression applies to the publisher's current run.
    var isWatched: Bool { !conditions.isEmpty || !silences.isEmpty }

    func takeFound() -> [Finding] {
        defer { found = [] }
        return found
    }

    func takeLost() -> [Gap] {
        defer { lost = [] }
        return lost
    }

    // MARK: Time

    /// Whether the result depends on time, even without messages: a dead publisher sends no descriptions. A restart
    /// does not change this, because silences and rates apply to any columns.
    var isTimed: Bool { !silences.isEmpty || conditions.contains { $0.isOfRate } }

    /// When `wake` is due, on the monotonic clock; nil if it is not due at any time.
    var deadline: Int64? {
        var next: Int64?
        for silence in silences where !silence.isSilent {
            next = min(next ?? .max, lastSample.addingClamped(silence.span))
        }
        for condition in conditions {
            if let end = endOfPause(for: condition) { next = min(next ?? .max, end) }
        }
        return next
    }

    /// When the time without a sample may change a condition's verdict, on the monotonic clock. Samples that are being
    /// replayed are no pause.
    private func endOfPause(for condition: StreamCondition) -> Int64? {
        guard let uptime = condition.nextPass else { return nil }
        let end = lastSample.addingClamped(Int64(nanosecondsIn: uptime - lastUptime))
        // A publisher that is not heard any more may never replay them.
        return ordered.buffer.recovery == nil ? end : max(end, heard.last.addingClamped(StreamDescription.life))
    }

    /// Notes that time passed without a sample.
    func wake(at now: Moment) {
        for index in silences.indices where !silences[index].isSilent {
            let end = lastSample.addingClamped(silences[index].span)
            guard now.monotonic >= end else { continue }
            silences[index].isSilent = true
            found.append(Finding(expression: silences[index].expression, isNew: true, instant: end, value: nil))
        }
        for index in conditions.indices {
            guard let uptime = conditions[index].nextPass, let end = endOfPause(for: conditions[index]),
                now.monotonic >= end, let verdict = conditions[index].pass(to: uptime)
            else { continue }
            add(verdict, of: index, value: 0, uptime: uptime, at: now)
        }
    }

    private func note(sampleAt instant: Int64) {
        guard instant > lastSample else { return }
        lastSample = instant
        for index in silences.indices { silences[index].isSilent = false }
    }

    // MARK: Arriving messages

    /// Takes a publisher's description of the stream.
    /// - Returns: whether it shows that samples are missing.
    func describe(_ description: StreamDescription, at now: Moment) -> Bool {
        if description.epoch != ordered.epoch {
            guard !ordered.hasLeft(description.epoch) else { return false }
            begin(description, at: now)
        }
        heard.note(at: now.monotonic)
        ordered.replay = description.replay
        clock = description.clock
        offset = Self.offset(description.clock, at: now)
        if let last = description.lastSample { note(sampleAt: min(now.monotonic, instant(ofUptime: last))) }
        let isMissing = ordered.buffer.expect(epoch: ordered.epoch, upTo: description.nextSequence)
        if !isMissing, ordered.buffer.recovery == nil {
            for index in conditions.indices {
                guard let verdict = conditions[index].pass(to: description.clock.uptime) else { continue }
                add(verdict, of: index, value: 0, uptime: description.clock.uptime, at: now)
            }
        }
        return isMissing
    }

    /// Takes a batch as it arrived.
    /// - Returns: whether it shows that samples are missing.
    /// - Throws: if the batch can't be read; nothing is changed then.
    func take(_ batch: ReceivedBatch, at now: Moment) throws(MessageError) -> Bool {
        // All samples of an epoch without a description are replayed once it is described.
        guard ordered.isOfEpoch(batch) else { return false }
        try check(batch)
        note(sampleAt: now.monotonic)
        let admission = ordered.admit(batch)
        if case .take(let rows) = admission { judge(rows, of: batch, at: now) }
        return admission == .gap
    }

    /// Refuses a batch that is shorter than its counts say, or whose columns do not fit the conditions.
    private func check(_ batch: ReceivedBatch) throws(MessageError) {
        if !batch.hasFields(fieldsToken) {
            let (fields, types) = (try batch.fields, try batch.types)
            var bound = conditions
            for index in bound.indices { try bound[index].bind(fields, types, unit: unit) }
            conditions = bound
            self.types = types
            columnCount = fields.count
            numbers = Array(repeating: .nan, count: columnCount)
            fieldsToken = batch.fieldsToken
        }
        let columns = columnCount
        try batch.check { () throws(MessageError) in columns }
    }

    /// Ends an epoch, noting its missing samples as lost, and begins the publisher's next run.
    private func begin(_ description: StreamDescription, at now: Moment) {
        // Batches that waited behind the missing samples are checked first: only then does a recovery end.
        while ordered.buffer.recovery != nil {
            lose(.epochEnded)
            resume(at: now)
        }
        bindConditions(to: description)
        lastUptime = description.clock.uptime
        unit = description.unit
        fieldsToken = []
        ordered.begin(description.epoch, at: description.first ?? 0)
    }

    // MARK: Missing samples

    /// The samples to request next; nil if nothing is missing.
    func missing(at now: Moment) -> MissingSamples? {
        if ordered.buffer.recovery?.missing.isEmpty == true { resume(at: now) }
        return ordered.missing
    }

    /// Takes the answer to a request for the next missing samples.
    func take(_ frames: ArraySlice<[UInt8]>, count: Int, for request: SamplesReplay, at now: Moment) {
        if count > 0 {
            // Only unreadable samples throw here, and they are given up below.
            try? ReceivedBatch.forEach(inReplay: frames) { batch, reason in
                try takeReplayed(batch, missingBefore: reason, at: now)
            } unreadable: { _ in
            }
        }
        // Samples that an answer does not bring would be requested without end.
        if ordered.buffer.isMissing(request) { lose(count > 0 ? .malformed : .notRetained) }
        resume(at: now)
    }

    /// Gives up the next missing samples.
    func giveUp(_ reason: Gap.Reason, at now: Moment) {
        lose(reason)
        resume(at: now)
    }

    private func lose(before sequence: Int? = nil, _ reason: Gap.Reason) {
        if let gap = ordered.buffer.giveUp(before: sequence, reason: reason) { lost.append(gap) }
    }

    private func takeReplayed(
        _ batch: ReceivedBatch, missingBefore reason: Gap.Reason?, at now: Moment
    ) throws(MessageError) {
        try check(batch)
        try ordered.checkReplayed(batch)
        if let reason { lose(before: batch.body.sequence, reason) }
        if let rows = ordered.admitReplayed(batch) { judge(rows, of: batch, at: now) }
    }

    /// Continues with the batches that waited, once nothing before them is missing.
    private func resume(at now: Moment) {
        defer { ordered.account() }
        while let (batch, rows) = ordered.buffer.takeHeld() {
            if rows.isEmpty { continue }
            do {
                try batch.withBatch { batch in
                    try check(batch)
                    judge(rows, of: batch, at: now)
                }
            } catch {
                noteUnreadable(rows, from: batch.sequence)
            }
        }
    }

    private func noteUnreadable(_ rows: Range<Int>, from sequence: Int) {
        lost.append(Gap(epoch: ordered.epoch, from: sequence + rows.lowerBound, count: rows.count, reason: .malformed))
    }

    // MARK: Samples

    /// Checks rows of a batch that has passed `check`.
    private func judge(_ rows: Range<Int>, of batch: ReceivedBatch, at now: Moment) {
        if let packed = batch.packed {
            for row in rows {
                let start = row * columnCount
                for condition in conditions {
                    for column in condition.columns { numbers[column] = packed.packedNumber(start + column) }
                }
                judge(uptime: packed.packedNumber(start), at: now) { _ in "" }
            }
        } else if let values = batch.body.values {
            var next = rows.lowerBound
            do throws(MessageError) {
                var found = SampleRows(batch.frame, values: values, columns: columnCount, types: types)
                while try found.next() {
                    let row = found.rowCount - 1
                    guard rows.contains(row) else { continue }
                    var texts: [Int: String] = [:]
                    for condition in conditions {
                        for column in condition.columns {
                            if condition.isOfText {
                                texts[column] = SampleBody.string(at: found.token(column), in: batch.frame)
                            } else {
                                numbers[column] = found.number(column)
                            }
                        }
                    }
                    judge(uptime: found.number(0), at: now) { texts[$0] ?? "" }
                    next = row + 1
                }
                guard found.rowCount == batch.body.count else {
                    throw MessageError(.malformed, "there are fewer rows than \"count\" says")
                }
            } catch {
                // The publisher would send the same rows again.
                if next < rows.upperBound { noteUnreadable(next..<rows.upperBound, from: batch.body.sequence) }
            }
        }
    }

    private func judge(uptime: Double, at now: Moment, text: (Int) -> String) {
        // A sample without a time gets that of the one before.
        if uptime.isFinite { lastUptime = uptime }
        let uptime = lastUptime
        for index in conditions.indices {
            if conditions[index].isOfText {
                let verdict = conditions[index].judge(text: text(conditions[index].columns[0]), at: uptime)
                add(verdict, of: index, value: nil, uptime: uptime, at: now)
            } else {
                let value = conditions[index].value(at: uptime, of: numbers)
                add(conditions[index].judge(value, at: uptime), of: index, value: value, uptime: uptime, at: now)
            }
        }
    }

    private func add(
        _ verdict: StreamCondition.Verdict, of index: Int, value: Double?, uptime: Double, at now: Moment
    ) {
        guard verdict != .holdsNot else { return }
        let finding = Finding(
            expression: conditions[index].expression, isNew: verdict == .begins,
            instant: placed(uptime: uptime, at: now), value: value)
        // Of consecutive findings that an expression still holds, only the last is needed.
        if !finding.isNew, let last = found.last, !last.isNew, last.expression == finding.expression {
            found[found.count - 1] = finding
        } else {
            found.append(finding)
        }
    }

    // MARK: Clocks

    /// When a sample was taken, on the monotonic clock: by the publisher's date, by which the recorder places samples too, unless
    /// that date is wrong.
    private func placed(uptime: Double, at now: Moment) -> Int64 {
        let arrived = instant(ofUptime: uptime)
        let dated = now.monotonic
            .addingClamped(clock.date.distance(from: now.date))
            .addingClamped(Int64(nanosecondsIn: uptime).subtractingClamped(Int64(nanosecondsIn: clock.uptime)))
        return dated.subtractingClamped(arrived).magnitude <= Self.largestOffset ? dated : arrived
    }

    private func instant(ofUptime uptime: Double) -> Int64 { Int64(nanosecondsIn: uptime).addingClamped(offset) }

    private static func offset(_ clock: ClockReading, at now: Moment) -> Int64 {
        now.monotonic.subtractingClamped(Int64(nanosecondsIn: clock.uptime))
    }
}

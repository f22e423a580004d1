package import Files
import Messages

/// Reads a `.cwa` file of an Axivity AX3 or AX6.
///
/// Each block has a number, a checksum and one date. Missing or damaged blocks become gaps. The times of samples are interpolated
/// between the dates of successive blocks, because a device's true rate differs by a percent or two from the nominal one.
/// Interpolation restarts when the block numbers are not consecutive.
package struct AxivityDecoder: ImportDecoder {
    /// The file's header; nil before it was read.
    package private(set) var header: AxivityHeader?

    private let device: String?
    /// Nanoseconds by which the device's clock is ahead of UTC.
    private let ahead: Int64
    private var rest: [UInt8] = []
    /// The last block read: its times need the date of the next one.
    private var pending: AxivityBlock?
    /// Whether `pending` follows a pause, or begins a run.
    private var beginning: Beginning?
    /// Nanoseconds between samples before the date of `pending`; nil if interpolation restarts.
    private var interval: Double?
    /// The number of runs begun.
    private var runs = 0
    private var damaged = Damage()

    private struct Beginning {
        /// Missing blocks before it, and damaged ones.
        var absent = 0
        var damaged = 0
        /// Whether the device restarted its block numbers.
        var isRun = true
    }

    /// The damage found so far.
    private struct Damage {
        /// Unreadable blocks since the last valid one.
        var open = 0
        var blocks = 0
        var first = 0
        var repeated = 0
        var overfull = 0
        var jumps = 0
    }

    /// The bytes read, header and whole blocks.
    private var offset = 0

    /// - Parameters:
    ///   - device: a name for the device; nil for its model and number.
    ///   - zone: seconds by which the device's clock is ahead of UTC.
    package init(device: String? = nil, zone: Int) {
        self.device = device
        ahead = Int64(zone) * 1_000_000_000
    }

    package mutating func decode(_ bytes: UnsafeRawBufferPointer, _ emit: Emit) throws(RecordingError) {
        rest += bytes
        var rest = self.rest
        self.rest = []
        var start = 0
        defer {
            rest.removeFirst(start)
            self.rest = rest
        }
        try rest.withUnsafeBufferPointer { buffer throws(RecordingError) in
            let bytes = UnsafeRawBufferPointer(buffer)
            if header == nil {
                guard bytes.count >= AxivityHeader.byteCount else { return }
                try readHeader(bytes)
                start = AxivityHeader.byteCount
                offset = start
            }
            while bytes.count - start >= AxivityBlock.byteCount {
                let block = UnsafeRawBufferPointer(rebasing: bytes[start..<start + AxivityBlock.byteCount])
                start += AxivityBlock.byteCount
                try take(block, emit)
                offset += AxivityBlock.byteCount
            }
        }
    }

    package mutating func finish(_ emit: Emit) throws(RecordingError) {
        guard header != nil else { throw Self.notAxivity }
        guard try emitPending(until: nil, emit) else {
            throw .notImported("it has no block with samples", "Download the recording from the device again.")
        }
        try emitGaps(blocks: damaged.open, emit)
        if damaged.blocks > 0 {
            try emit(
                .failure(
                    "\(damaged.blocks) blocks are damaged or not of this recording, the first at byte "
                        + "\(damaged.first)"))
        }
        if damaged.repeated > 0 {
            try emit(.failure("\(damaged.repeated) blocks repeat earlier ones, and are left out"))
        }
        if damaged.overfull > 0 {
            try emit(.failure("\(damaged.overfull) blocks say that they have more samples than fit"))
        }
        if damaged.jumps > 0 {
            try emit(
                .failure("the device's clock jumps \(damaged.jumps) times between consecutive blocks"))
        }
        if !rest.isEmpty {
            try emit(.failure("the file ends in the middle of a block, after \(offset + rest.count) bytes"))
        }
    }

    private static let notAxivity = RecordingError.notImported(
        "it does not begin as a .cwa file does", "Import a file as it was downloaded from an AX3 or AX6.")

    private mutating func readHeader(_ bytes: UnsafeRawBufferPointer) throws(RecordingError) {
        guard let header = AxivityHeader(bytes) else { throw Self.notAxivity }
        self.header = header
    }

    // MARK: Blocks

    private mutating func take(_ bytes: UnsafeRawBufferPointer, _ emit: Emit) throws(RecordingError) {
        switch AxivityBlock.parse(bytes) {
        case .erased: return
        case .damaged:
            if damaged.blocks == 0 { damaged.first = offset }
            damaged.blocks += 1
            damaged.open += 1
        case .unknown(let layout):
            throw .notImported(
                "its samples have the layout \(String(layout, radix: 16)), which only later versions may read",
                "Export it to CSV with the device's own software, and import that.")
        case .block(let block): try take(block, emit)
        }
    }

    private mutating func take(_ block: AxivityBlock, _ emit: Emit) throws(RecordingError) {
        if block.isOverfull { damaged.overfull += 1 }
        guard let last = pending else {
            begin(block)
            pending = block
            return
        }
        guard block.layout.columns == last.layout.columns else {
            throw .notImported(
                "its samples change from \(last.layout.columns) to \(block.layout.columns) axes",
                "Download the recording from the device again.")
        }
        let expected = last.sequence &+ 1
        let isSameSession = block.session == last.session
        if isSameSession, block.sequence == expected, !block.isResumed {
            try emitPending(until: block, emit)
            // Damage between two consecutive blocks does not belong to this recording.
            damaged.open = 0
        } else if isSameSession, block.sequence >= expected {
            try emitPending(until: nil, emit)
            try emitGaps(blocks: Int(block.sequence - expected), emit)
            interval = nil
            if block.isResumed { beginning = Beginning(isRun: false) }
        } else if isSameSession, block.repeats(last) {
            damaged.repeated += 1
            for stream in 0..<streamCount { try emit(.duplicates(stream: stream, count: block.count)) }
            return
        } else {
            try emitPending(until: nil, emit)
            try emitGaps(blocks: damaged.open, emit)
            begin(block)
        }
        pending = block
    }

    /// Begins a run of the device, whose blocks are numbered from 0.
    private mutating func begin(_ block: AxivityBlock) {
        let absent = Int(block.sequence)
        let unreadable = min(damaged.open, absent)
        damaged.open = 0
        beginning = Beginning(absent: absent - unreadable, damaged: unreadable)
        interval = nil
        runs += 1
    }

    private mutating func emitBeginning(_ block: AxivityBlock, at start: Int64, _ emit: Emit) throws(RecordingError) {
        guard let beginning else { return }
        let name = "\((header?.model ?? "").lowercased())-\(header?.identifier ?? 0)"
        let run = "\(name)-\(block.session)-\(runs)"
        if hasStreams {
            try emit(.pause(at: min(lastTime ?? start, start)))
            try emit(.resume(at: start))
            if beginning.isRun { try emit(.run(run)) }
        } else {
            let units = [("accelerometer", "g"), ("gyroscope", "deg/s")].prefix(streamCount)
            let streams = units.map { stream, unit in
                ImportedStream(
                    StreamName(device: device ?? name, stream: stream), fields: ["x", "y", "z"], unit: unit,
                    rate: block.rate, run: run)
            }
            hasStreams = true
            try emit(.streams(streams, start: start))
        }
        try emitGaps(beginning.damaged, .malformed, emit)
        try emitGaps(beginning.absent, .notInSource, emit)
    }

    private var streamCount: Int { (pending?.layout.columns ?? 0) / 3 }

    // MARK: Gaps

    /// Emits gaps for blocks after `pending`.
    private mutating func emitGaps(blocks: Int, _ emit: Emit) throws(RecordingError) {
        let unreadable = min(damaged.open, blocks)
        damaged.open = 0
        try emitGaps(unreadable, .malformed, emit)
        try emitGaps(blocks - unreadable, .notInSource, emit)
    }

    private func emitGaps(_ blocks: Int, _ reason: Gap.Reason, _ emit: Emit) throws(RecordingError) {
        guard let pending, blocks > 0 else { return }
        for stream in 0..<streamCount {
            try emit(.gap(stream: stream, count: blocks * pending.layout.capacity, reason))
        }
    }

    // MARK: Times

    private var hasStreams = false
    /// The time of the last emitted sample.
    private var lastTime: Int64?
    /// The dates of blocks are measured independently, so interpolated times may overlap a little.
    private static let overlap: Int64 = 2_000_000_000

    /// - Parameters:
    ///   - before: nanoseconds between samples before the block's date.
    ///   - after: nanoseconds between samples after it.
    private func time(of index: Int, in block: AxivityBlock, _ before: Double, _ after: Double) -> Int64 {
        let distance = Double(index - block.point.index)
        // Smaller units would be false precision.
        let microseconds = (distance * (distance < 0 ? before : after) / 1000).rounded()
        return block.point.time - ahead + Int64(microseconds) * 1000
    }

    /// Emits the samples of the pending block.
    ///
    /// - Parameter next: the block that directly follows it, if any.
    /// - Returns: whether there was a pending block.
    @discardableResult
    private mutating func emitPending(until next: AxivityBlock?, _ emit: Emit) throws(RecordingError) -> Bool {
        guard let block = pending else { return false }
        let nominal = 1e9 / block.rate
        var after = interval ?? nominal
        if let next {
            let samples = block.count + next.point.index - block.point.index
            let time = Double(next.point.time - block.point.time)
            // Without fractions of seconds, blocks at a high rate share one date.
            if samples > 0 {
                let found = time / Double(samples)
                if (0.5...2).contains(found / nominal) { after = found } else { damaged.jumps += 1 }
            }
        }
        let before = interval ?? after
        interval = after
        try emitBeginning(block, at: time(of: 0, in: block, before, after), emit)
        beginning = nil
        var times: [Int64] = []
        times.reserveCapacity(block.count)
        for index in 0..<block.count {
            var time = time(of: index, in: block, before, after)
            if let lastTime, time < lastTime, lastTime - time < Self.overlap { time = lastTime }
            lastTime = time
            times.append(time)
        }
        if block.count > 0 {
            try emit(.samples(stream: 0, SampleBlock(times: times, values: block.acceleration)))
            if block.layout == .six { try emit(.samples(stream: 1, SampleBlock(times: times, values: block.rotation))) }
        }
        return true
    }
}

import FoundationEssentials
import Messages
import SystemPackage
import TestSupport
import ZeroMQ

/// The power is cut at random moments: only the recorder's synced writes are certain to survive.
///
/// A recorder runs once with every file call traced, is killed and restarted meanwhile, ends one session and continues others.
/// For many moments of this trace, a possible state of the disk is made (`DiskModel`). From it, `recorder recover`, or a real
/// recorder with the publisher still running, must make logs that lack nothing published more than 200 ms before the cut.
struct PowerCuts: Experiment {
    let part: Double
    /// Whether there are many streams, or the usual ones.
    var isWithMany = false

    var name: String { isWithMany ? "power-cut-many" : "power-cut" }
    var fault: String {
        "power cut" + (isWithMany ? " with many streams" : "") + ": unsynced pages gone, kept or torn"
    }

    /// The loss allowed after a power cut, in nanoseconds; more only if the machine stalled shortly before.
    private static let allowedLoss: Int64 = 200_000_000
    private static let stallWindow: Int64 = 500_000_000
    private static let cutsPerRun = 50
    /// Each of these has hundreds of files, and the last must be over before the publisher forgets what the first one missed.
    private static let cutsPerLargeRun = 5
    /// After one in this many cuts, a recorder continues.
    private static let cutsPerContinued = 5

    /// The recorder's calls on one file system, over all its runs.
    private struct History {
        /// The traces of each process, in order.
        var processes: [DiskTrace] = []
        /// From each process's kill until its successor had caught up.
        var absences: [Range<Int64>] = []

        /// The time until which published samples must be there if the power is cut at `time`.
        func durable(at time: Int64, allowing loss: Int64) -> Int64 {
            // A recorder that was not running has written nothing published meanwhile.
            absences.reduce(time - loss) { durable, absence in
                (absence.lowerBound - loss..<absence.upperBound).contains(durable)
                    ? absence.lowerBound - loss : durable
            }
        }

        /// The numbers of calls after which the power is cut: half of them anywhere, and half where a name changed, which is
        /// where files end and others begin.
        func places(_ count: Int, using random: inout SplitMix) -> Set<Int> {
            let kinds = processes.flatMap { $0.records.map(\.kind) }
            let changes = kinds.indices.filter { [.rename, .link, .unlink].contains(kinds[$0]) }
            return Set(
                (0..<count).map { index in
                    index.isMultiple(of: 2) || changes.isEmpty
                        ? Int.random(in: kinds.indices, using: &random)
                        : changes[Int.random(in: changes.indices, using: &random)]
                })
        }
    }

    func run(in lab: Laboratory, row: inout Row) async throws {
        var random = lab.random(for: name)
        let wanted = lab.share(part, atLeast: isWithMany ? 3 : 20)
        let streams = isWithMany ? StreamPlan.many(lab.streams) : StreamPlan.usual
        while row.tries < wanted, row.violations.isEmpty {
            let cuts = min(isWithMany ? Self.cutsPerLargeRun : Self.cutsPerRun, wanted - row.tries)
            try await Rig.run("\(name)-\(row.tries)", in: lab, row: &row, streams: streams) { rig, row in
                let (history, ended) = try await record(rig, &random)
                try await cut(cuts, history, ended: ended, rig, &row, &random)
            }
        }
        if let loss = row.longestLoss {
            row.notes.append("the oldest sample that was lost: \(Int(loss)) ms before the cut, standstills not counted")
        }
    }

    /// Records sessions that are stepped, paused, rotated, killed, recovered and ended, with a trace of everything.
    /// - Returns: the trace, and when each session's end was answered.
    private func record(_ rig: Rig, _ random: inout SplitMix) async throws -> (History, [String: Int64]) {
        var history = History()
        var ended: [String: Int64] = [:]
        let plans =
            isWithMany
            ? SessionPlan.many(rig.lab.streams)
            : [
                SessionPlan(streams: ["phone/", "left-wrist/gyro"], maximumFileSize: 20_000),
                SessionPlan(streams: ["left-wrist/"], format: "csv"),
                SessionPlan(streams: ["phone/accelerometer", "left-wrist/gyro"], format: "tsv", maximumFileAge: 1),
                SessionPlan(streams: ["phone/"], root: "dictionary"),
            ]
        var killed: Int64?
        for process in 0..<2 {
            var layer = FaultLayer(library: rig.lab.faultLayer, root: rig.data)
            let trace = rig.directory.appending("trace-\(process)")
            layer.trace = trace
            // A slow disk with a constant delay: the recorder is tested, not the machine's disk.
            layer.syncMicroseconds = Int.random(in: 500...20_000, using: &random)
            try FileManager.default.createDirectory(atPath: rig.data.string, withIntermediateDirectories: true)
            _ = try await rig.startRecorder(layer).ready()
            if process == 1 {
                try await rig.settleAll()
                try await rig.catchUp()
                if let killed { history.absences.append(killed..<MonotonicClock.now) }
            }
            for (index, plan) in plans.enumerated() where index / 2 == process {
                try await rig.start("session-\(index)", plan)
                try await Task.sleep(for: random.milliseconds(0...300))
            }
            for _ in 0..<4 {
                try await Task.sleep(for: random.milliseconds(50...400))
                if let session = rig.plans.keys.sorted().randomElement(using: &random) {
                    try await rig.change(session, rig.anyChange(of: session, using: &random))
                }
            }
            try await rig.resumeAll()
            try await Task.sleep(for: random.milliseconds(200...400))
            if let session = rig.plans.keys.sorted().first {
                try await rig.stop(session)
                ended[session] = MonotonicClock.now
                try await Task.sleep(for: random.milliseconds(0...200))
            }
            killed = MonotonicClock.now
            try await rig.killRecorder()
            history.processes.append(try DiskTrace(trace))
        }
        return (history, ended)
    }

    private func cut(
        _ cuts: Int, _ history: History, ended: [String: Int64], _ rig: Rig, _ row: inout Row,
        _ random: inout SplitMix
    ) async throws {
        let places = history.places(cuts, using: &random)
        let continued = Set(places.sorted().shuffled(using: &random).prefix(max(1, cuts / Self.cutsPerContinued)))
        let expectations = rig.expectations
        var disk = DiskModel(root: rig.data.string)
        var place = 0
        for process in history.processes {
            disk.beginProcess()
            let stalls = process.stalls
            for (index, record) in process.records.enumerated() {
                disk.apply(record)
                defer { place += 1 }
                guard places.contains(place), row.violations.isEmpty else { continue }
                row.tries += 1
                // Any moment until the next call.
                let next = index + 1 < process.records.count ? process.records[index + 1].time : record.time
                let time = Int64.random(in: record.time...max(next, record.time), using: &random)
                let mercy: DiskModel.Mercy = random.happens(0.2) ? .none : .some
                let data = rig.directory.appending("cut-\(place)")
                let remains = disk.remains(mercy, using: &random)
                try remains.write(to: data)
                let stalled = rig.stalls.length(within: time - Self.stallWindow..<time, and: stalls)
                let cut = Cut(
                    place: place, time: time, data: data, expectations: expectations, ended: ended,
                    durable: history.durable(at: time, allowing: Self.allowedLoss + stalled))
                let before = row.violations.count
                if continued.contains(place) {
                    try await goOn(cut, rig, &row)
                } else {
                    try await recover(cut, rig, &row)
                }
                if row.violations.count == before {
                    try? FileManager.default.removeItem(atPath: data.string)
                } else {
                    try remains.write(to: rig.directory.appending("cut-\(place)-before"))
                    row.violations.append(
                        "cut \(place), after \(record.kind) \(record.path), \(mercy): see \(data), and \(data)-before; "
                            + "the machine stood still for \(stalled / 1_000_000) ms of the last 500")
                }
            }
        }
    }

    /// A moment of a power cut, and the surviving data.
    private struct Cut {
        let place: Int
        let time: Int64
        let data: FilePath
        let expectations: [String: SessionExpectation]
        /// When each session's end was answered.
        let ended: [String: Int64]
        /// Samples published before this time must be there.
        let durable: Int64

        /// The part of the loss that is not the recorder's fault: the machine stalled, or the recorder was not running.
        var excused: Int64 { max(0, time - allowedLoss - durable) }

        func directory(of session: String) -> FilePath { data.appending("recordings").appending(session) }

        /// Whether everything of a session must be there, because its end was answered.
        func isOver(_ session: String) -> Bool { (ended[session] ?? .max) <= time }

        /// Whether a session must be there, because its start was answered long enough ago.
        func mustHave(_ session: String) -> Bool {
            (expectations[session]?.startAnswered.monotonic ?? .max) <= time
        }

        /// The expected contents of a session's logs.
        func expectation(of session: String) -> SessionExpectation? {
            guard var expectation = expectations[session] else { return nil }
            let end = durable
            guard !isOver(session) else { return expectation }
            if expectation.stopAsked.monotonic > end { expectation.stopAsked.monotonic = end }
            // A change that was answered survives the cut; one that was not may.
            for index in expectation.changes.indices where expectation.changes[index].answered.monotonic > time {
                expectation.changes[index].isDoubtful = true
            }
            expectation.isCutOff = true
            return expectation
        }
    }

    /// Repairs the surviving data with `recorder recover`.
    private func recover(_ cut: Cut, _ rig: Rig, _ row: inout Row) async throws {
        for session in cut.expectations.keys.sorted() {
            let directory = cut.directory(of: session)
            guard FileManager.default.fileExists(atPath: directory.string) else {
                if cut.mustHave(session) { row.violations.append("cut \(cut.place): session \(session) is gone") }
                continue
            }
            if cut.isOver(session) { try await rig.verify(directory, isWhole: true, row: &row) }
            let output = cut.data.appending("recovered-\(session)")
            let start = ContinuousClock.now
            let (end, text) = try await rig.lab.output(
                of: "recorder", ["recover", directory.string, "--output", output.string])
            guard end == .exited(0) || end == .exited(3) else {
                if cut.mustHave(session) || end != .exited(1) {
                    row.violations.append("cut \(cut.place): recorder recover \(directory) \(end):\n\(text)")
                }
                continue
            }
            row.add(recovery: .now - start)
            guard let expectation = cut.expectation(of: session) else { continue }
            check(session, in: output, expectation, cut, rig, &row)
            let (verdict, why) = try await rig.lab.output(of: "recorder", ["verify", output.string])
            if verdict != .exited(0), verdict != .exited(3) {
                row.violations.append("cut \(cut.place): recorder verify \(output) \(verdict):\n\(why)")
            }
        }
    }

    /// Starts a recorder on the surviving data; it requests from the publisher what the cut lost.
    private func goOn(_ cut: Cut, _ rig: Rig, _ row: inout Row) async throws {
        let data = rig.data
        defer { rig.data = data }
        rig.data = cut.data
        let start = ContinuousClock.now
        let recorder = try await rig.startRecorder()
        _ = try await recorder.ready()
        let list = try await rig.ask(RecordingList()).recordings
        for session in cut.expectations.keys.sorted() {
            guard var expectation = cut.expectations[session] else { continue }
            guard list.contains(where: { $0.session == session }) else {
                if cut.mustHave(session) {
                    row.violations.append("cut \(cut.place): session \(session) is gone; there are \(list)")
                }
                continue
            }
            _ = try await rig.ask(RecordingStop(session: session), within: .seconds(60))
            // A session that had just begun may end before it met a stream.
            if !cut.mustHave(session) { continue }
            // Not cut short: the publisher still has everything.
            expectation.changes = cut.expectation(of: session)?.changes ?? []
            if expectation.stopAsked.monotonic > cut.time { expectation.stopAsked.monotonic = cut.time }
            check(session, in: cut.directory(of: session), expectation, cut, rig, &row)
            try await rig.verify(cut.directory(of: session), isWhole: true, row: &row)
        }
        row.add(recovery: .now - start)
        try await rig.killRecorder()
    }

    private func check(
        _ session: String, in directory: FilePath, _ expectation: SessionExpectation, _ cut: Cut, _ rig: Rig,
        _ row: inout Row
    ) {
        let histories = rig.forwarder.samples.histories(matching: expectation.streams)
        var findings = SessionCheck.findings(in: directory, expectation: expectation, histories: histories)
        findings.violations = findings.violations.map { "cut \(cut.place): \($0)" }
        row.add(findings)
        // Samples after the request to stop are not missing.
        guard expectation.isCutOff, (cut.expectations[session]?.stopAsked.monotonic ?? 0) >= cut.time else { return }
        // The age of the oldest lost sample, for the table.
        let files = try? SessionFiles(directory)
        for history in histories {
            guard let last = try? files?.lastUptime(of: SessionFiles.log(of: history), format: expectation.format),
                let epoch = history.epochs.last(where: { $0.sequence(at: last) != nil }),
                let sequence = epoch.sequence(at: last), let arrival = epoch.arrival(of: sequence + 1),
                expectation.presence(at: epoch.date(sequence + 1), in: history.name) == .present, arrival < cut.time
            else { continue }
            row.longestLoss = max(row.longestLoss ?? 0, Double(cut.time - arrival - cut.excused) / 1e6)
        }
    }
}

import MessageBus
import Messages
import SystemPackage
import TestSupport
import ZeroMQ

/// kill -9 of the recorder, and its return to sessions that continue meanwhile.
struct RecorderKills: Experiment {
    /// When the recorder is killed.
    enum Moment: Sendable {
        /// At any moment.
        case anytime
        /// While the recorder recovers from the previous kill, once or twice in a row.
        case recovery
        /// While the recorder carries out a request.
        case request
    }

    let moment: Moment
    /// The share of all crashes.
    let part: Double

    private static let killsPerRound = 20

    var name: String {
        switch moment {
        case .anytime: "recorder-kill"
        case .recovery: "recorder-kill-in-recovery"
        case .request: "recorder-kill-in-request"
        }
    }

    var fault: String {
        switch moment {
        case .anytime: "kill -9 of the recorder"
        case .recovery: "kill -9 of the recorder while it recovers, also twice in a row"
        case .request: "kill -9 of the recorder while it carries out a request"
        }
    }

    func run(in lab: Laboratory, row: inout Row) async throws {
        var random = lab.random(for: name)
        let wanted = lab.share(part, atLeast: 4)
        var torn = 0
        while row.tries < wanted, row.violations.isEmpty {
            let kills = min(Self.killsPerRound, wanted - row.tries)
            try await Rig.run("\(name)-\(row.tries)", in: lab, row: &row) { rig, row in
                try await round(of: kills, rig, &row, &random, &torn)
            }
        }
        if torn > 0 { row.notes.append("\(torn) files were torn between kill and restart, and whole after it") }
    }

    private func round(
        of kills: Int, _ rig: Rig, _ row: inout Row, _ random: inout SplitMix, _ torn: inout Int
    ) async throws {
        try await rig.startUsual()
        var next = SessionPlan.usual.count
        for _ in 0..<kills {
            if random.happens(0.4), let session = rig.plans.keys.sorted().randomElement(using: &random) {
                try await rig.change(session, rig.anyChange(of: session, using: &random))
            }
            // Right after the restart, when a second kill costs most, or later.
            try await Task.sleep(for: random.happens(0.3) ? random.milliseconds(0...60) : random.milliseconds(60...900))
            if moment == .request {
                try await killInRequest(rig, &row, &random, session: "session-\(next)")
                next += 1
            } else {
                row.tries += 1
                try await rig.killRecorder()
                torn += Self.tornFiles(rig)
                if moment == .recovery {
                    for _ in 0..<Int.random(in: 1...2, using: &random) {
                        row.tries += 1
                        _ = try await rig.startRecorder()
                        try await Task.sleep(for: random.milliseconds(0...150))
                        try await rig.killRecorder()
                    }
                }
                try await comeBack(rig, &row)
            }
            if random.happens(0.15), let session = rig.plans.keys.sorted().first, rig.plans.count > 1 {
                let plan = rig.plans[session] ?? SessionPlan.usual[0]
                try await rig.stop(session)
                try await rig.check(session, row: &row)
                rig.expectations[session] = nil
                try await rig.start("session-\(next)", plan)
                next += 1
            }
        }
        try await rig.stopAll(row: &row)
    }

    /// Restarts the recorder and waits until it has caught up.
    private func comeBack(_ rig: Rig, _ row: inout Row) async throws {
        let start = ContinuousClock.now
        _ = try await rig.startRecorder().ready()
        try await rig.catchUp()
        row.add(recovery: .now - start)
    }

    /// The number of open files that do not parse right after a kill, because it interrupted a write.
    private static func tornFiles(_ rig: Rig) -> Int {
        rig.plans.reduce(0) { torn, session in
            guard let files = try? SessionFiles(rig.directory(of: session.key)) else { return torn }
            let open = files.logs.values.compactMap(\.last).filter { $0.finished == nil }
            return torn
                + open.count { file in
                    (try? LogText.records(files.bytes(file.name), format: session.value.format)) == nil
                }
        }
    }

    // MARK: Requests

    private enum Asked: Sendable {
        case start(SessionPlan)
        case stop
        case change(SessionExpectation.Change.Kind)
    }

    /// Sends a request and kills the recorder meanwhile; afterwards the request either took effect or did not.
    private func killInRequest(
        _ rig: Rig, _ row: inout Row, _ random: inout SplitMix, session new: String
    ) async throws {
        let running = rig.plans.keys.sorted()
        guard let session = running.randomElement(using: &random) else { return }
        let asked: Asked
        switch Int.random(in: 0..<4, using: &random) {
        case 0: asked = .start(SessionPlan.usual.randomElement(using: &random) ?? SessionPlan.usual[0])
        case 1 where running.count > 1: asked = .stop
        default: asked = .change(rig.anyChange(of: session, using: &random))
        }
        let delay = random.happens(0.7) ? random.milliseconds(0...12) : random.milliseconds(0...60)
        let time = Instant.now
        switch asked {
        case .start(let plan): rig.expect(new, plan, asked: time)
        case .stop: rig.stopping(session)
        case .change: break
        }
        let client = rig.recordings
        let recorder = try rig.running()
        let answered = try await withThrowingTaskGroup(of: Instant?.self) { tasks in
            tasks.addTask {
                do {
                    switch asked {
                    case .start(let plan): _ = try await Rig.ask(plan.request(new), of: recorder, through: client)
                    case .stop:
                        _ = try await Rig.ask(RecordingStop(session: session), of: recorder, through: client)
                    case .change(let kind):
                        try await Rig.change(session, kind, of: recorder, through: client)
                    }
                    return .now
                } catch is Rig.Died {
                    return nil
                }
            }
            tasks.addTask {
                try await Task.sleep(for: delay)
                try? recorder.send(.kill)
                let end = try await recorder.end()
                guard end == .killed(by: 9) else {
                    throw Violation("the recorder \(end) by itself before it was killed:\n\(recorder.standardError)")
                }
                return nil
            }
            return try await tasks.reduce(nil) { $0 ?? $1 }
        }
        row.tries += 1
        try await comeBackFrom(asked, of: session, new: new, time, answered: answered, rig, &row)
    }

    private func comeBackFrom(
        _ asked: Asked, of session: String, new: String, _ time: Instant, answered: Instant?, _ rig: Rig,
        _ row: inout Row
    ) async throws {
        let start = ContinuousClock.now
        _ = try await rig.startRecorder().ready()
        switch asked {
        case .start:
            let list = try await rig.ask(RecordingList()).recordings
            guard let entry = list.first(where: { $0.session == new }) else {
                if answered != nil { throw Violation("session \(new) was answered to be running, and is gone") }
                return rig.forget(new)
            }
            if entry.status != "running" {
                if answered != nil {
                    throw Violation("session \(new) was answered to be running, and is \(entry.status)")
                }
                return rig.forget(new)
            }
            rig.started(new, at: answered ?? .now)
        case .stop:
            try await rig.stop(session)
            try await rig.check(session, row: &row)
            rig.expectations[session] = nil
        case .change(let kind): try await rig.settle(session, kind, asked: time, wasAnswered: answered != nil)
        }
        try await rig.catchUp()
        row.add(recovery: .now - start)
    }
}

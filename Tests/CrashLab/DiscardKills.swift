import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport

/// kill -9 of the recorder at one of its calls that change files, from its start to the end of a discard: before it, after it,
/// and in the middle of a write. After the next start the session is either unchanged or entirely gone.
struct DiscardKills: Experiment {
    let part: Double

    let name = "discard-kill"
    let fault = "kill -9 of the recorder at one of its file calls while it discards a session"

    private static let session = "alice-liddell"

    func run(in lab: Laboratory, row: inout Row) async throws {
        var random = lab.random(for: name)
        try await Rig.run(name, in: lab, row: &row) { rig, row in
            // Recorded once, and copied for each try.
            let recorded = rig.directory.appending("recorded")
            rig.data = recorded
            _ = try await rig.startRecorder().ready()
            try await ShortSession.record(Self.session, with: rig)
            try await rig.killRecorder()
            rig.forget(Self.session)
            rig.data = rig.directory.appending("counted")
            try copy(recorded, to: rig.data)
            let trace = rig.directory.appending("trace")
            try await discard(rig, FaultLayer(library: lab.faultLayer, root: rig.data, trace: trace))
            let counts = try DiskTrace(trace).counts
            let calls = counts.keys.sorted { $0.rawValue < $1.rawValue }
            var (whole, gone) = (0, 0)
            for number in 0..<lab.share(part, atLeast: 8) where row.violations.isEmpty {
                rig.data = rig.directory.appending("data-\(number)")
                try copy(recorded, to: rig.data)
                row.tries += 1
                let call = calls.randomElement(using: &random) ?? .unlink
                let actions: [FaultLayer.Action] =
                    call == .write ? [.killBefore, .killAfter, .killTorn] : [.killBefore, .killAfter]
                let fault = FaultLayer.Fault(
                    call: call, number: Int.random(in: 1...max(1, counts[call] ?? 1), using: &random),
                    action: actions.randomElement(using: &random) ?? .killBefore)
                try await discard(rig, FaultLayer(library: lab.faultLayer, root: rig.data, fault: fault))
                let start = ContinuousClock.now
                _ = try await rig.startRecorder().ready()
                if try await isLeft(rig, as: recorded) { whole += 1 } else { gone += 1 }
                row.add(recovery: .now - start)
                try await rig.killRecorder()
            }
            row.notes.append("\(whole) stayed whole, \(gone) were gone")
        }
    }

    private func copy(_ source: FilePath, to target: FilePath) throws {
        try FileManager.default.copyItem(atPath: source.string, toPath: target.string)
    }

    /// Starts a recorder that is killed at the fault, or after its answer.
    private func discard(_ rig: Rig, _ layer: FaultLayer) async throws {
        let recorder = try await rig.startRecorder(layer)
        if (try? await recorder.ready()) != nil {
            _ = try? await rig.recordings.send(
                RecordingDiscard(session: Self.session, force: true), timeout: .seconds(3))
        }
        try await rig.killRecorder()
    }

    /// Whether the session is unchanged. Otherwise it must be gone soon after the start, and the ledger must list it.
    private func isLeft(_ rig: Rig, as recorded: FilePath) async throws -> Bool {
        let path = "recordings/\(Self.session)"
        let (now, before) = (rig.data.appending(path), recorded.appending(path))
        if lines(of: rig) == 0, FileManager.default.fileExists(atPath: now.string) {
            for name in try FileManager.default.contentsOfDirectory(atPath: before.string) {
                guard
                    FileManager.default.contents(atPath: now.appending(name).string)
                        == FileManager.default.contents(atPath: before.appending(name).string)
                else { throw Violation("\(rig.data): \(name) is not what it was, and the session was not discarded") }
            }
            return true
        }
        try await eventually("nothing is left of the session in \(rig.data)") {
            // During the removal, a directory may disappear while it is read.
            guard lines(of: rig) == 1,
                let paths = try? FileManager.default.subpathsOfDirectory(atPath: rig.data.string)
            else { return false }
            return paths.allSatisfy { path in
                let bytes = FileManager.default.contents(atPath: rig.data.appending(path).string) ?? Data()
                return !path.contains(Self.session) && !path.contains("/.discarded")
                    && bytes.firstRange(of: Array(Self.session.utf8)) == nil
            }
        }
        return false
    }

    /// The number of discarded sessions in the ledger.
    private func lines(of rig: Rig) -> Int {
        let ledger = rig.data.appending("recordings/discarded.ndjson").string
        return (FileManager.default.contents(atPath: ledger) ?? Data()).split(separator: UInt8(ascii: "\n")).count
    }
}

import FoundationEssentials
import Glibc
import Messages
import SystemPackage
import TestSupport

/// A full disk: a small file system in memory, if the laboratory may mount one.
struct FullDisk: Experiment {
    let name = "full-disk"
    let fault = "ENOSPC on a small file system; recording again once there is room"

    func run(in lab: Laboratory, row: inout Row) async throws {
        let point = lab.directory.appending("small-disk")
        try FileManager.default.createDirectory(atPath: point.string, withIntermediateDirectories: true)
        guard mount("none", point.string, "tmpfs", 0, "size=6m") == 0 else {
            row.notRun = "mounting a file system was refused (\(Errno(rawValue: errno))): it needs root"
            return
        }
        defer { umount2(point.string, Int32(MNT_DETACH)) }
        try await Rig.run(name, in: lab, row: &row, streams: StreamPlan.heavy) { rig, row in
            rig.data = point.appending("data")
            _ = try await rig.startRecorder().ready()
            let watch = try await EventWatch(rig)
            for round in 0..<2 {
                row.tries += 1
                let session = "full-\(round)"
                let plan = SessionPlan(
                    streams: ["phone/", "left-wrist/"], format: round == 0 ? "json" : "csv",
                    maximumFileSize: round == 0 ? nil : 500_000)
                try await rig.start(session, plan)
                var failure: EventWatch.Failure?
                try await eventually("the full disk fails session \(session)", within: .seconds(60)) {
                    failure = try await watch.failure(of: session)
                    return failure != nil
                }
                guard let failure, var expectation = rig.expectations[session] else { continue }
                try await eventually("the failed session's end", within: .seconds(20)) {
                    try await rig.ask(RecordingStatus(session: session)).status == "failed"
                }
                let health = try await rig.ask(ServiceHealth())
                if health.status == .ok { row.violations.append("the disk is full and health is ok") }
                let end = failure.heard.advanced(byMilliseconds: -200)
                expectation.stopAsked = end
                expectation.mayLose = true
                row.add(
                    SessionCheck.findings(
                        in: rig.directory(of: session), expectation: expectation,
                        histories: rig.forwarder.samples.histories(matching: expectation.streams)))
                let report = try? SessionFiles(rig.directory(of: session)).json("report.json")
                if report?["status"]?.string != "failed" {
                    row.violations.append("session \(session) has no report that says that it failed")
                }
                row.notes.append("it said: \(failure.reason)")
                rig.forget(session)
                // With room again, the next session works.
                try FileManager.default.removeItem(atPath: rig.directory(of: session).string)
                try await rig.record("after-\(round)", row: &row)
            }
            try await rig.terminateRecorder()
        }
    }
}

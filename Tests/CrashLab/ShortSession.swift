import SystemPackage
import TestSupport

/// A short session with everything that makes a recorder touch its files: steps, a pause, rotation, the end.
enum ShortSession {
    static let plan = SessionPlan(streams: ["phone/", "left-wrist/gyro"], maximumFileSize: 10_000)

    /// Records the session, in about 0.8 s.
    static func record(_ session: String, with rig: Rig) async throws {
        try await rig.start(session, plan)
        try await Task.sleep(for: .milliseconds(250))
        try await rig.change(session, .step("\(SessionPlan.task)/s1"))
        try await Task.sleep(for: .milliseconds(150))
        try await rig.change(session, .pause)
        try await Task.sleep(for: .milliseconds(100))
        try await rig.change(session, .resume)
        try await Task.sleep(for: .milliseconds(250))
        try await rig.stop(session)
    }

    /// How often a recorder makes each kind of call for the session.
    static func calls(of rig: Rig, with layer: FaultLayer) async throws -> [FaultLayer.Call: Int] {
        try await trace(of: rig, with: layer).counts
    }

    /// The calls that a recorder makes for the session.
    static func trace(of rig: Rig, with layer: FaultLayer) async throws -> DiskTrace {
        var layer = layer
        let trace = rig.directory.appending("trace")
        layer.trace = trace
        _ = try await rig.startRecorder(layer).ready()
        try await record("counted", with: rig)
        try await rig.killRecorder()
        rig.forget("counted")
        return try DiskTrace(trace)
    }
}

import FoundationEssentials
import Glibc
import Messages
import SystemPackage
import TestSupport

/// A session's directory is removed under the recorder, or becomes read-only.
struct LostDirectory: Experiment {
    let name = "lost-directory"
    let fault = "a session's directory removed, or made read-only"

    func run(in lab: Laboratory, row: inout Row) async throws {
        try await Rig.run(name, in: lab, row: &row) { rig, row in
            row.tries += 1
            _ = try await rig.startRecorder().ready()
            try await fails(rig, &row) {
                try FileManager.default.removeItem(atPath: rig.directory(of: "lost").string)
            }
            try await rig.terminateRecorder()

            row.tries += 1
            rig.data = rig.directory.appending("read-only")
            if geteuid() == 0 {
                // Root can write to read-only files, so instead every call on the session's files fails once a file is removed.
                let heal = rig.directory.appending("heal")
                try Data().write(to: URL(filePath: heal.string))
                var layer = FaultLayer(
                    library: lab.faultLayer, root: rig.data,
                    fault: FaultLayer.Fault(
                        call: .create, number: 1, action: .fail(.readOnlyFileSystem), count: 1_000_000),
                    heal: heal)
                layer.prefix = rig.directory(of: "lost")
                _ = try await rig.startRecorder(layer).ready()
                try await fails(rig, &row) { try FileManager.default.removeItem(atPath: heal.string) }
                try await rig.terminateRecorder()
            } else {
                _ = try await rig.startRecorder().ready()
                let directory = rig.directory(of: "lost").string
                try await fails(rig, &row) { _ = chmod(directory, 0o555) }
                chmod(directory, 0o755)
                try await rig.terminateRecorder()
            }
        }
    }

    /// Records until something happens to the directory; that session fails, and another one works.
    private func fails(_ rig: Rig, _ row: inout Row, _ happening: () throws -> Void) async throws {
        let watch = try await EventWatch(rig)
        try await rig.start("lost", SessionPlan(streams: ["phone/", "left-wrist/gyro"], maximumFileSize: 20_000))
        try await Task.sleep(for: .milliseconds(400))
        try happening()
        try await eventually("the session fails", within: .seconds(30)) {
            guard let failure = try await watch.failure(of: "lost") else { return false }
            row.notes.append("it said: \(failure.reason)")
            return true
        }
        rig.forget("lost")
        try await rig.record("after", row: &row)
    }
}

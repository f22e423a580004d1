import FoundationEssentials
import SystemPackage
import TestSupport

/// Flips one bit in a finished session: `recorder verify` finds it, whichever file it is in.
struct BitFlips: Experiment {
    let part: Double

    let name = "bit-flips"
    let fault = "a flipped bit in a finished session, found by `recorder verify`"

    func run(in lab: Laboratory, row: inout Row) async throws {
        var random = lab.random(for: name)
        try await Rig.run(name, in: lab, row: &row) { rig, row in
            _ = try await rig.startRecorder().ready()
            let sessions = ["json": "json", "csv": "csv"]
            for (session, format) in sessions {
                try await rig.start(
                    session,
                    SessionPlan(streams: ["phone/", "left-wrist/gyro"], format: format, maximumFileSize: 20_000))
            }
            try await Task.sleep(for: .milliseconds(600))
            for session in sessions.keys { try await rig.stop(session) }
            var files: [(session: String, name: String, bytes: [UInt8])] = []
            for session in sessions.keys.sorted() {
                let listing = try SessionFiles(rig.directory(of: session))
                for name in listing.names { files.append((session, name, try listing.bytes(name))) }
            }
            row.notes.append("in any of \(files.count) files")
            for number in 0..<lab.share(part, atLeast: 20) where row.violations.isEmpty {
                // First each file once, whatever its size; then any bit of all files.
                let file = number < files.count ? files[number] : files.randomElement(using: &random)
                guard let file, !file.bytes.isEmpty else { continue }
                row.tries += 1
                let place = Int.random(in: 0..<file.bytes.count, using: &random)
                let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &random)
                let path = rig.directory(of: file.session).appending(file.name)
                var flipped = file.bytes
                flipped[place] ^= bit
                try Data(flipped).write(to: URL(filePath: path.string))
                let (end, text) = try await lab.output(
                    of: "recorder", ["verify", rig.directory(of: file.session).string])
                if end != .exited(1) {
                    row.unexplained += 1
                    row.violations.append(
                        "byte \(place) of \(path), \(file.bytes[place]) to \(flipped[place]): "
                            + "recorder verify \(end):\n\(text)")
                    continue
                }
                try Data(file.bytes).write(to: URL(filePath: path.string))
            }
            guard row.violations.isEmpty else { return }
            for session in sessions.keys.sorted() { try await rig.check(session, row: &row) }
        }
    }
}

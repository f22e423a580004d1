import FoundationEssentials
import Glibc
import MessageBus
import Messages
import ZeroMQ

/// Archiving: one session, plain, encrypted, and copied into a directory.
extension Bench {
    /// The variant of an archive.
    enum ArchiveKind: String, CaseIterable {
        case plain, encrypted, verified, extracted, uploaded
    }

    /// The cost of archives of a session.
    struct Archiving {
        var sessionBytes = 0
        var archiveBytes = 0
        var runs: [ArchiveKind: [Measurement]] = [:]
    }

    /// Records a session, and archives it in each variant in turn.
    func archives(samples: Int, rounds: Int) async throws -> Archiving {
        try await withDirectory { directory in
            var archiving = Archiving()
            let session = try await session(samples: samples, in: directory, counting: &archiving)
            let (certificate, key) = ("\(directory)/study.pem", "\(directory)/study.key")
            try succeed(
                "/usr/bin/openssl",
                [
                    "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=study", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", key,
                    "-out", certificate,
                ])
            let archive = "\(directory)/made/archive.zip.p7m"
            for _ in 0..<rounds {
                for kind in ArchiveKind.allCases {
                    let to = "\(directory)/made"
                    let start = MonotonicClock.now
                    let usage: Child.Usage
                    switch kind {
                    case .plain: usage = try succeed(archiver, ["create", session, "--to", to])
                    case .encrypted:
                        usage = try succeed(
                            archiver, ["create", session, "--to", to, "--certificate", certificate])
                    case .verified: usage = try succeed(archiver, ["verify", archive, "--key", key])
                    case .extracted:
                        usage = try succeed(
                            archiver, ["extract", archive, "--key", key, "--to", "\(directory)/extracted"])
                    case .uploaded: usage = try await upload(in: directory)
                    }
                    archiving.runs[kind, default: []].append(
                        Measurement(samples: samples, seconds: Double(MonotonicClock.now - start) / 1e9, usage: usage))
                    if kind == .extracted { try FileManager.default.removeItem(atPath: "\(directory)/extracted") }
                    if kind == .encrypted {
                        archiving.archiveBytes = try bytes(of: archive)
                    }
                }
            }
            return archiving
        }
    }

    private var archiver: String { "\(programs)/archiver" }

    @discardableResult
    func succeed(_ program: String, _ arguments: [String]) throws -> Child.Usage {
        let child = try Child(program, arguments)
        let output = child.rest()
        let (status, usage) = child.result()
        guard status == 0 else { throw Child.Failure(description: "\(program) exits \(status): \(output)") }
        return usage
    }

    /// The size of a file; 0 for anything else.
    func bytes(of path: String) throws -> Int {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw Child.Failure(description: "\(path) is not there") }
        return status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : 0
    }

    /// Records a session of this many samples, and ends it.
    /// - Returns: its directory.
    private func session(samples: Int, in directory: String, counting archiving: inout Archiving) async throws -> String
    {
        let wire = Wire(kind: .packed, batch: 100)
        let sender = try Child("/proc/self/exe", sending(wire, samples))
        defer { sender.end() }
        let (recorder, client) = try recorder(
            in: directory, listeningTo: String(try sender.line().split(separator: " ")[0]))
        defer { recorder.end() }
        try await untilKnown(client, session: "archive", stream: "\(Wire.device)/", format: "json")
        sender.type("go")
        guard try sender.line() == "sent" else { throw Child.Failure(description: "the sender does not end") }
        while true {
            let state = try await client.send(RecordingStatus(session: "archive"), timeout: .seconds(20))
            if state.logs.reduce(0, { $0 + $1.samples }) >= samples || state.status != "running" { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        let result = try await client.send(RecordingStop(session: "archive"), timeout: .seconds(60))
        for file in result.logs.flatMap(\.files) {
            archiving.sessionBytes += try bytes(of: "\(result.directory)/\(file)")
        }
        return result.directory
    }

    /// Makes a running archiver create the plain archive and copy it into a directory, until the receipt exists.
    private func upload(in directory: String) async throws -> Child.Usage {
        let receiver = "\(directory)/receiver"
        for path in [receiver, "\(directory)/archives"] where FileManager.default.fileExists(atPath: path) {
            try FileManager.default.removeItem(atPath: path)
        }
        try FileManager.default.createDirectory(atPath: receiver, withIntermediateDirectories: true)
        let child = try Child(
            archiver,
            [
                "--data", directory, "--subscribe", "tcp://127.0.0.1:9", "--log-manager", "tcp://127.0.0.1:9",
                "--publish", "tcp://127.0.0.1:*", "--reply", "tcp://127.0.0.1:*", "--log-level", "error",
                "--upload-to", "file://\(receiver)",
            ])
        let ready = try WireCoding.decode(Ready.self, from: child.line().utf8)
        let client = try client(of: "archiver", at: ready.reply)
        while true {
            let status = try await client.send(ArchiveStatusRequest(session: "archive"), timeout: .seconds(20))
            if status.receipt != nil { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        return child.end()
    }
}

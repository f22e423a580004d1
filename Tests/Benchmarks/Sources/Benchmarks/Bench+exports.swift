import FoundationEssentials
import Plain
import ZeroMQ

/// Exporting: a session imported from a table, to each format, compared with a plain copy and third-party writers.
extension Bench {
    struct Exporting {
        let name: String
        /// The bytes that the program wrote.
        var bytes: Int
        var runs: [Measurement]
    }

    struct Exports {
        /// The session's stream files.
        var sessionBytes = 0
        var rows: [Exporting] = []
    }

    /// The samples given to third-party writers, which keep everything in memory.
    private static let samplesOfPeers = 1_000_000

    /// Makes a session of this many samples, copies it and exports it to each format in turn.
    func exports(samples: Int, rounds: Int) throws -> Exports {
        try withDirectory { directory in
            let table = "\(directory)/table.csv"
            let session = "\(directory)/recordings/table"
            guard plain_table(table, Int64(samples)) == 0 else { throw Child.Failure(description: "no table was made") }
            var exports = Exports()
            let imported = try measured(
                "\(programs)/recorder",
                ["import", table, "--data", directory, "--device", "left-wrist", "--unit", "g"], samples: samples)
            try FileManager.default.removeItem(atPath: table)
            exports.sessionBytes = try size(of: session)
            exports.rows.append(Exporting(name: "recorder import", bytes: exports.sessionBytes, runs: [imported]))

            let kinds = ["cp", "csv", "bids", "mcap", "xdf"]
            exports.rows += kinds.map { Exporting(name: $0 == "cp" ? $0 : "export \($0)", bytes: 0, runs: []) }
            for _ in 0..<rounds {
                for (index, kind) in kinds.enumerated() {
                    let to = "\(directory)/\(kind)"
                    let run =
                        kind == "cp"
                        ? try measured("/bin/cp", ["-r", session, to], samples: samples)
                        : try measured(
                            "\(programs)/recorder", ["export", session, "--to", to, "--format", kind], samples: samples)
                    exports.rows[index + 1].bytes = try size(of: to)
                    exports.rows[index + 1].runs.append(run)
                    try FileManager.default.removeItem(atPath: to)
                }
            }
            exports.rows += try peers(in: directory, rounds: rounds)
            return exports
        }
    }

    /// The cost of third-party writers, if they are installed.
    private func peers(in directory: String, rounds: Int) throws -> [Exporting] {
        let python = ".build-readers/bin/python3"
        guard FileManager.default.fileExists(atPath: python) else { return [] }
        let table = "\(directory)/peers.csv"
        guard plain_table(table, Int64(Self.samplesOfPeers)) == 0 else {
            throw Child.Failure(description: "no table was made")
        }
        var rows: [Exporting] = []
        for _ in 0..<rounds {
            let child = try Child(python, ["-B", "Tests/Benchmarks/peers.py", table, directory])
            let output = child.rest()
            guard child.result().status == 0 else { throw Child.Failure(description: "peers.py fails: \(output)") }
            for line in output.split(separator: "\n") {
                let fields = line.split(separator: "\t")
                guard fields.count == 6, let samples = Int(fields[1]), let bytes = Int(fields[2]),
                    let seconds = Double(fields[3]), let processor = Double(fields[4]), let peak = Double(fields[5])
                else { continue }
                let run = Measurement(
                    samples: samples, seconds: seconds,
                    usage: Child.Usage(cpuSeconds: processor, peakMegabytes: peak))
                if let index = rows.firstIndex(where: { $0.name == fields[0] }) {
                    rows[index].runs.append(run)
                } else {
                    rows.append(Exporting(name: String(fields[0]), bytes: bytes, runs: [run]))
                }
            }
        }
        return rows
    }

    private func measured(_ program: String, _ arguments: [String], samples: Int) throws -> Measurement {
        let start = MonotonicClock.now
        let usage = try succeed(program, arguments)
        return Measurement(samples: samples, seconds: Double(MonotonicClock.now - start) / 1e9, usage: usage)
    }

    private func size(of directory: String) throws -> Int {
        try FileManager.default.subpathsOfDirectory(atPath: directory)
            .reduce(0) { try $0 + bytes(of: "\(directory)/\($1)") }
    }
}

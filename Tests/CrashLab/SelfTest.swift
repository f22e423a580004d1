import FoundationEssentials
import SystemPackage
import TestSupport

/// A self-test of the oracle: a recorded session must be found whole, and each way of spoiling it must be noticed.
struct SelfTest: Experiment {
    let name = "self-test"
    let fault = "sessions spoiled on purpose, found by the oracle"

    /// A way to spoil a table's lines, given the positions of its samples.
    private struct Spoiling: Sendable {
        let name: String
        let spoil: @Sendable ([Substring], [Int]) -> [Substring]
        /// Whether the findings include the expected fault.
        let isNoticed: @Sendable (Findings) -> Bool
    }

    private static let spoilings = [
        Spoiling(
            name: "a row is dropped",
            spoil: { lines, samples in lines.indices.filter { $0 != samples[samples.count / 2] }.map { lines[$0] } },
            isNoticed: { $0.lost == 1 && $0.unexplained == 1 }),
        Spoiling(
            name: "the last rows before the end are dropped",
            spoil: { lines, samples in
                let last = Set(samples.suffix(40))
                return lines.indices.filter { !last.contains($0) }.map { lines[$0] }
            }, isNoticed: { $0.unexplained > 0 }),
        Spoiling(
            name: "a row is there twice",
            spoil: { lines, samples in
                Array(lines[...samples[10]] + [lines[samples[10]]] + lines[(samples[10] + 1)...])
            }, isNoticed: { $0.duplicated == 1 && $0.lost == 0 }),
        Spoiling(
            name: "two rows are in the wrong order",
            spoil: { lines, samples in
                var lines = lines
                lines.swapAt(samples[20], samples[21])
                return lines
            }, isNoticed: { !$0.violations.isEmpty }),
        Spoiling(
            name: "a digit is another",
            spoil: { lines, samples in
                var columns = lines[samples[30]].split(separator: ",", omittingEmptySubsequences: false)
                // Not the last digit: with this many digits, another one may give the same number.
                if let first = columns[4].firstIndex(where: \.isNumber) {
                    let other = columns[4][first] == "1" ? "2" : "1"
                    columns[4] = columns[4][..<first] + other + columns[4][first...].dropFirst()
                }
                var lines = lines
                lines[samples[30]] = Substring(columns.joined(separator: ","))
                return lines
            }, isNoticed: { $0.unexplained == 1 && $0.lost == 0 }),
        Spoiling(
            name: "a row is of no publisher",
            spoil: { lines, samples in
                var columns = lines[samples[30]].split(separator: ",", omittingEmptySubsequences: false)
                columns[0] += "7"
                return Array(
                    lines[...samples[30]] + [Substring(columns.joined(separator: ","))] + lines[(samples[30] + 1)...])
            }, isNoticed: { $0.unexplained == 1 }),
        Spoiling(
            name: "a row's step is another",
            spoil: { lines, samples in
                var lines = lines
                lines[samples[5]] = Substring(lines[samples[5]].replacing("Lab/s0", with: "Lab/s9"))
                return lines
            }, isNoticed: { !$0.violations.isEmpty }),
        Spoiling(
            name: "a row is torn",
            spoil: { lines, samples in
                var lines = lines
                lines[samples[5]] = lines[samples[5]].dropLast(9)
                return lines
            }, isNoticed: { $0.unreadable == 1 }),
        Spoiling(
            name: "a gap is said where nothing is missing",
            spoil: { lines, samples in
                // After sensorType come x, y, z, timestampDate, marker, epoch, from, count, reason.
                var columns = lines[samples[5]].split(separator: ",", omittingEmptySubsequences: false)
                for (column, text) in [(3, ""), (4, ""), (5, ""), (6, ""), (8, "gap"), (9, "nobody"), (10, "5")] {
                    columns[column] = Substring(text)
                }
                columns[11] = "1"
                columns[12] = "notRetained"
                return Array(
                    lines[...samples[5]] + [Substring(columns.joined(separator: ","))] + lines[(samples[5] + 1)...])
            }, isNoticed: { !$0.violations.isEmpty }),
    ]

    func run(in lab: Laboratory, row: inout Row) async throws {
        try await Rig.run(name, in: lab, row: &row) { rig, row in
            _ = try await rig.startRecorder().ready()
            try await rig.start("spoiled", SessionPlan(streams: ["phone/accelerometer"], format: "csv"))
            try await Task.sleep(for: .milliseconds(1_500))
            try await rig.stop("spoiled")
            guard let expectation = rig.expectations["spoiled"] else { return }
            let histories = rig.forwarder.samples.histories(matching: expectation.streams)
            let directory = rig.directory(of: "spoiled")
            func findings() -> Findings {
                SessionCheck.findings(in: directory, expectation: expectation, histories: histories)
            }
            let clean = findings()
            row.add(clean)
            guard clean.violations.isEmpty, clean.samples > 100 else {
                throw Violation("a whole session is not found whole: \(clean)")
            }
            guard let file = try SessionFiles(directory).logs.values.first?.first else { return }
            let path = directory.appending(file.name).string
            let text = try String(contentsOfFile: path, encoding: .utf8)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            let samples = lines.indices.filter { lines[$0].contains(",accelerometer,") }
            for spoiling in Self.spoilings {
                row.tries += 1
                try spoiling.spoil(lines, samples).joined(separator: "\n").write(
                    toFile: path, atomically: true, encoding: .utf8)
                let findings = findings()
                if findings.violations.isEmpty || !spoiling.isNoticed(findings) {
                    row.violations.append("not noticed, or taken for something else: \(spoiling.name): \(findings)")
                }
            }
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            var narrow = expectation
            // A pause that was requested but not made: its samples must not be there.
            let asked = expectation.startAnswered.advanced(byMilliseconds: 300)
            narrow.changes = [
                SessionExpectation.Change(kind: .pause, asked: asked, answered: asked.advanced(byMilliseconds: 10))
            ]
            row.tries += 1
            if SessionCheck.findings(in: directory, expectation: narrow, histories: histories).violations.isEmpty {
                row.violations.append("not noticed: samples of a pause")
            }
            try await checkPowerCuts(rig, &row)
        }
    }

    /// Checks that a recorder that does not sync is found out, and one that does is not.
    private func checkPowerCuts(_ rig: Rig, _ row: inout Row) async throws {
        try await rig.killRecorder()
        rig.forget("spoiled")
        rig.data = rig.directory.appending("traced")
        try FileManager.default.createDirectory(atPath: rig.data.string, withIntermediateDirectories: true)
        var layer = FaultLayer(library: rig.lab.faultLayer, root: rig.data)
        layer.trace = rig.directory.appending("trace")
        layer.syncMicroseconds = 2_000
        _ = try await rig.startRecorder(layer).ready()
        try await rig.start("traced", SessionPlan(streams: ["phone/accelerometer"], format: "csv"))
        try await Task.sleep(for: .milliseconds(1_000))
        try await rig.killRecorder()
        let trace = try DiskTrace(rig.directory.appending("trace"))
        guard var expectation = rig.expectations["traced"], let end = trace.records.last?.time else { return }
        expectation.isCutOff = true
        expectation.stopAsked.monotonic = end - 200_000_000
        let log = trace.handles(under: WriteAheadFiles.directory(beside: rig.data.appending("recordings")))
        for syncs in [true, false] {
            row.tries += 1
            var disk = DiskModel(root: rig.data.string)
            var random = rig.lab.random(for: name)
            for record in trace.records where syncs || record.kind != .syncEnd || !log.contains(record.handle) {
                disk.apply(record)
            }
            let remains = rig.directory.appending("remains-\(syncs)")
            try disk.remains(.none, using: &random).write(to: remains)
            let output = rig.directory.appending("recovered-\(syncs)")
            let (recoveryEnd, text) = try await rig.lab.output(
                of: "recorder",
                ["recover", remains.appending("recordings").appending("traced").string, "--output", output.string])
            guard recoveryEnd == .exited(3) else {
                if syncs { row.violations.append("recorder recover \(recoveryEnd) after a power cut:\n\(text)") }
                continue
            }
            let findings = SessionCheck.findings(
                in: output, expectation: expectation,
                histories: rig.forwarder.samples.histories(matching: expectation.streams))
            if findings.lost > 0 || findings.unreadable > 0, syncs {
                row.violations.append("a power cut cost more than it may: \(findings)")
            }
            if findings.lost + findings.unreadable == 0, !syncs {
                row.violations.append("not noticed: a recorder that does not sync its write-ahead log")
            }
        }
        rig.forget("traced")
    }
}

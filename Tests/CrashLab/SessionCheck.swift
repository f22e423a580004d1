import FoundationEssentials
import SystemPackage

/// The oracle's judgement of a session's directory.
enum SessionCheck {
    /// Checks every log of a session against `report.json` and the histories.
    /// - Parameter histories: the streams that the session requested.
    static func findings(
        in directory: FilePath, expectation: SessionExpectation, histories: [StreamHistory]
    ) -> Findings {
        var findings = Findings()
        let files: SessionFiles
        do { files = try SessionFiles(directory) } catch {
            findings.violate("session \(expectation.session): \(directory) can't be listed: \(error)")
            return findings
        }
        var samples: [String: Int] = [:]
        for history in histories {
            let log = SessionFiles.log(of: history)
            var records: [LogRecord] = []
            for file in files.logs[log] ?? [] {
                if file.finished == nil, !expectation.isCutOff {
                    findings.violate("session \(expectation.session): \(file.name) is not finished")
                }
                do {
                    records += try LogText.records(files.bytes(file.name), format: expectation.format)
                } catch {
                    findings.unreadable += 1
                    findings.violate("session \(expectation.session): \(file.name): \(error)")
                }
            }
            if !expectation.isCutOff, records.last?.marker != "stop" {
                findings.violate(
                    "session \(expectation.session), \(log) does not end with stop: \(records.last as Any)")
            }
            let check = LogCheck(
                records, of: "session \(expectation.session), \(log)", history: history, expectation: expectation)
            samples[history.name] = check.findings.samples
            findings += check.findings
        }
        checkAnnotations(files, expectation, &findings)
        if !expectation.isCutOff { checkReport(files, samples, expectation, &findings) }
        return findings
    }

    private static func checkAnnotations(
        _ files: SessionFiles, _ expectation: SessionExpectation, _ findings: inout Findings
    ) {
        do {
            let annotations = try files.json("session.json")["annotations"]?.array ?? []
            for fault in expectation.faults(in: annotations.compactMap { $0["label"]?.string }) {
                findings.violate("session \(expectation.session): \(fault)")
            }
        } catch {
            findings.unreadable += 1
            findings.violate("session \(expectation.session): session.json: \(error)")
        }
    }

    private static func checkReport(
        _ files: SessionFiles, _ samples: [String: Int], _ expectation: SessionExpectation, _ findings: inout Findings
    ) {
        do {
            let report = try files.json("report.json")
            guard let streams = report["streams"]?.array, let isWhole = report["isWhole"]?.bool else {
                return findings.violate("session \(expectation.session): report.json says nothing of its streams")
            }
            for stream in streams {
                guard let name = stream["stream"]?.string, let received = stream["received"]?.integer,
                    let paused = stream["paused"]?.integer
                else { continue }
                if let written = samples[name], written != received - paused {
                    findings.violate(
                        "session \(expectation.session): the report says that \(received - paused) samples of \(name) "
                            + "were written, and there are \(written)")
                }
            }
            if streams.count < samples.values.count(where: { $0 > 0 }) {
                findings.violate("session \(expectation.session): the report leaves out streams")
            }
            if isWhole, findings.lost > 0 {
                findings.violate("session \(expectation.session): the report says that nothing was lost")
            }
        } catch {
            findings.unreadable += 1
            findings.violate("session \(expectation.session): report.json: \(error)")
        }
    }
}

import FoundationEssentials
import Messages
import SystemPackage
import TestSupport
import Testing

/// Alerts and the dashboard, evaluated by Prometheus itself.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(if: Prometheus.isInstalled, "there is no Prometheus: make prometheus gets it"))
struct WatchingTests {
    private static let rules = DocumentationPage.root.appending("compose/prometheus/holdfast.rules.yaml")
    private static let ruleTests = DocumentationPage.root.appending("compose/prometheus/holdfast.rules.test.yaml")
    private static let containers = DocumentationPage.root.appending("compose/prometheus/prometheus.yaml")
    private static let dashboard = DocumentationPage.root.appending("compose/grafana/holdfast.json")

    private static func expressions() throws -> [String] {
        struct Dashboard: Decodable {
            struct Panel: Decodable {
                struct Target: Decodable { var expr: String }
                var targets: [Target]?
            }
            var panels: [Panel]
        }
        let text = try String(contentsOfFile: dashboard.string, encoding: .utf8)
        return try WireCoding.decode(Dashboard.self, from: text.utf8).panels.flatMap { $0.targets ?? [] }.map(\.expr)
    }

    @Test func eachAlertFiresForItsFaultAlone() async throws {
        #expect(try await Prometheus.complaints(["check", "rules", Self.rules.string]) == "")
        #expect(try await Prometheus.complaints(["test", "rules", Self.ruleTests.string]) == "")
        let rules = try String(contentsOfFile: Self.rules.string, encoding: .utf8)
        let tests = try String(contentsOfFile: Self.ruleTests.string, encoding: .utf8)
        let page = try String(
            contentsOfFile: DocumentationPage.root.appending("docs/watching.md").string, encoding: .utf8)
        for line in rules.split(separator: "\n") where line.contains("- alert: ") {
            let name = line.split(separator: " ").last ?? ""
            #expect(tests.contains("alertname=\"\(name)\""), "\(name) has no test")
            #expect(page.contains("`\(name)`"), "docs/watching.md does not explain \(name)")
        }
    }

    @Test func onlyMetricsThatExistAreWatched() throws {
        let documented = Set(try DocumentedMetrics.read().values.joined().map(\.name))
        let text = try String(contentsOfFile: Self.rules.string, encoding: .utf8)
        for part in try Self.expressions() + [text] {
            for word in part.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "_" }) {
                guard word.hasPrefix("holdfast_") || word.hasPrefix("process_") else { continue }
                let name = word.hasSuffix("_bucket") ? word.dropLast("_bucket".count) : word
                #expect(documented.contains(String(name)), "there is no metric \(name)")
            }
        }
    }

    /// A stopped container's name has no address, so a program that is only looked up would disappear without an alert.
    @Test func aStoppedContainerStaysATarget() async throws {
        #expect(try await Prometheus.complaints(["check", "config", Self.containers.string]) == "")
        let text = try String(contentsOfFile: Self.containers.string, encoding: .utf8)
        let targets = text.split(separator: "\n").first { $0.contains("static_configs: ") } ?? ""
        // A publisher can be scaled, and its samples have an alert of their own.
        for program in FivePrograms.names where program != "sensor-publisher" {
            #expect(targets.contains("\"\(program):9550\""), "\(program)")
        }
    }

    /// A gap at a session's start, a stream that stops and resumes, a program that dies and returns.
    @Test func faultsOfRealProgramsAreTold() async throws {
        let port = try FreePort.next()
        try await FivePrograms.run(options: [
            "sensor-publisher": ["--retention", "500ms"], "log-manager": ["--metrics", "\(port)"],
        ]) { five in
            let targets = zip(FivePrograms.names, five.ready).map { name, ready in
                (name, String(ready.metrics?.dropFirst("http://".count).prefix { $0 != "/" } ?? ""))
            }
            try await Prometheus.run(rules: Self.rules, targets: targets, in: five.data) { prometheus in
                try await eventually("all are well") {
                    try await prometheus.values(of: "sum(up)")?.first?.value == 5
                }
                #expect(try await prometheus.firing("HoldfastTargetDown").isEmpty)
                try await eventually("two seconds of samples") {
                    try await five.ask(0, StreamsList()).streams.contains { $0.nextSequence > 200 }
                }
                _ = try await five.ask(1, RecordingStart(session: "s1", streams: ["*"], before: 60))
                try await eventually("the gap at the start is told") {
                    try await prometheus.firing("HoldfastGap").contains { $0["device"] == "a" }
                }
                let stream = StreamName(device: "b.c-d", stream: "gyro")
                _ = try await five.ask(0, StreamsStop(stream: stream))
                try five.programs[2].send(.kill)
                try await eventually("the dead program is told") {
                    try await prometheus.firing("HoldfastTargetDown").contains { $0["instance"] == "log-manager" }
                }
                try await eventually("the silent stream is told") {
                    try await prometheus.firing("HoldfastStreamSilent").contains { $0["device"] == "b.c-d" }
                }
                _ = try await five.ask(0, StreamsStart(stream: stream))
                let again =
                    FivePrograms.arguments("log-manager", five.ready, five.data) + ["--metrics", "\(port)"]
                try await ProgramUnderTest.run("log-manager", arguments: again, in: five.data) { _ in
                    try await eventually("all are well again") {
                        let down = try await prometheus.firing("HoldfastTargetDown")
                        let silent = try await prometheus.firing("HoldfastStreamSilent")
                        return down.isEmpty && silent.isEmpty
                    }
                    for expression in try Self.expressions() {
                        try await eventually("there are data for \(expression)") {
                            try await prometheus.values(of: expression)?.isEmpty == false
                        }
                    }
                }
                _ = try await five.ask(1, RecordingStop(session: "s1"))
            }
        }
    }
}

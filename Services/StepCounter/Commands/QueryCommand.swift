import ArgumentParser
import Messages
import Recording
import ServiceKit
import StepRecordings

/// The `query` subcommand: how many steps a device made in a time, as the running step-counter knows it.
struct QueryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Show the steps of a device in a period.",
        discussion: "Times are ISO 8601 with a zone, such as 2026-11-21T08:00:00+01:00.")

    @OptionGroup var options: ServiceOptions

    @Option(help: "The device.")
    var device: String

    @Option(
        help: ArgumentHelp("The start of the period, inclusive.", valueName: "date"), transform: WallTime.init(iso8601:)
    )
    var from: WallTime

    @Option(
        help: ArgumentHelp("The end of the period, exclusive (default: now).", valueName: "date"),
        transform: WallTime.init(iso8601:))
    var to: WallTime?

    @Option(help: "Also show the steps of each piece of this length: 1h, 1d.")
    var interval: TimeSpan?

    @Flag(help: "Also show how it was walked: walking time, step and stride time, variability.")
    var gait = false

    @Option(help: "text, json or csv.")
    var format = StepReportFormat.text

    /// How many times that were not counted are listed.
    private static let maximumGaps = 10

    /// What was not counted, in sentences.
    private static func uncounted(in reply: StepsQuery.Reply) -> String {
        guard let coverage = reply.coverage, let gaps = reply.gaps, !gaps.isEmpty else { return "" }
        var text = "\(TextColumns.decimal(coverage * 100, places: 1)) % of this time was counted\n"
        for gap in gaps.prefix(maximumGaps) {
            let samples = gap.samples.map { ", \($0) samples" } ?? ""
            text += "not counted: \(gap.from.utcText) to \(gap.to.utcText) (\(gap.reason.rawValue)\(samples))\n"
        }
        let others = gaps.count + (reply.gapsOmitted ?? 0) - maximumGaps
        if others > 0 { text += "and \(others) other times: --format json lists them\n" }
        return text
    }

    func run() async throws {
        try await RunningProgram.report(of: .stepCounter, options: options) { program in
            let to = to ?? .now
            let reply = try await program.ask(
                StepsQuery(
                    device: device, from: from, to: to, interval: interval.map { Double($0.nanoseconds) / 1e9 },
                    gait: gait ? true : nil))
            if format == .json { return try ReportTable.json(reply) }
            let bins =
                reply.bins
                ?? [StepsQuery.Bin(from: from, to: to, numberOfSteps: reply.numberOfSteps, gait: reply.gait)]
            let table = ReportTable(
                columns: ["from", "to", "steps"] + (gait ? CountedRecording.gaitColumns : []),
                rows: bins.map {
                    [$0.from.utcText, $0.to.utcText, "\($0.numberOfSteps)"]
                        + (gait ? CountedRecording.row(of: $0.gait ?? GaitMeasures()) : [])
                }, textColumns: [0, 1])
            if format == .csv { return table.csv }
            var text = table.text
            if reply.bins != nil { text += "\(reply.numberOfSteps) steps in all\n" }
            if from < reply.firstAvailable {
                text += "no steps are known before \(reply.firstAvailable.utcText)\n"
            }
            return text + Self.uncounted(in: reply)
        }
    }
}

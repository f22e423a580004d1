import ArgumentParser
import Messages
import Recording
import ServiceKit
import StepRecordings

/// The `query` subcommand: a device's steps in a time range, according to the running step-counter.
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

    @Flag(help: "Also show the gait: walking time, step and stride time, variability.")
    var gait = false

    @Flag(help: "Show the bouts of walking instead of pieces, with their gait and how likely each is walking.")
    var bouts = false

    @Option(help: "text, json or csv.")
    var format = StepReportFormat.text

    /// How many uncounted time ranges are listed.
    private static let maximumGaps = 10

    /// Describes uncounted time ranges in sentences.
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
                    gait: gait ? true : nil, bouts: bouts ? true : nil))
            if format == .json { return try ReportTable.json(reply) }
            if let bouts = reply.bouts {
                let table = Self.table(of: bouts)
                return format == .csv ? table.csv : table.text + Self.doubts(of: reply)
            }
            let bins =
                reply.bins
                ?? [
                    StepsQuery.Bin(
                        from: from, to: to, numberOfSteps: reply.numberOfSteps, coverage: reply.coverage,
                        gait: reply.gait, expectedError: reply.expectedError)
                ]
            if format == .csv { return table(of: bins, isWithDoubts: true).csv }
            var text = table(of: bins, isWithDoubts: false).text
            if reply.bins != nil { text += "\(reply.numberOfSteps) steps in all\n" }
            if from < reply.firstAvailable {
                text += "no steps are known before \(reply.firstAvailable.utcText)\n"
            }
            return text + Self.doubts(of: reply)
        }
    }

    /// - Parameter isWithDoubts: whether the rows include coverage and possible errors.
    private func table(of bins: [StepsQuery.Bin], isWithDoubts: Bool) -> ReportTable {
        ReportTable(
            columns: ["from", "to", "steps"] + (gait ? CountedRecording.gaitColumns : [])
                + (isWithDoubts ? ["coverage"] + CountedRecording.errorColumns : []),
            rows: bins.map { bin in
                [bin.from.utcText, bin.to.utcText, "\(bin.numberOfSteps)"]
                    + (gait ? CountedRecording.row(of: bin.gait ?? GaitMeasures()) : [])
                    + (isWithDoubts
                        ? [bin.coverage.map { "\($0)" } ?? ""] + CountedRecording.row(of: bin.expectedError) : [])
            }, textColumns: [0, 1])
    }

    private static func table(of bouts: [StepsQuery.Bout]) -> ReportTable {
        ReportTable(
            columns: ["from", "to", "steps", "confidence", "cadence"] + CountedRecording.gaitColumns,
            rows: bouts.map { bout in
                [
                    bout.from.utcText, bout.to.utcText, "\(bout.numberOfSteps)",
                    bout.confidence.map { "\($0)" } ?? "", bout.gait.cadence.map { "\($0)" } ?? "",
                ] + CountedRecording.row(of: bout.gait)
            }, textColumns: [0, 1])
    }

    /// Describes possible errors of the steps in sentences.
    private static func doubts(of reply: StepsQuery.Reply) -> String {
        let error = reply.expectedError.map { error in
            "expected error: \(TextColumns.decimal(error.falseSteps, places: 1)) of these steps are none, and "
                + "\(TextColumns.decimal(error.missedSteps, places: 1)) were missed\n"
        }
        return (error ?? "") + uncounted(in: reply)
    }
}

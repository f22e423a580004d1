package import Files
import Messages
package import Recording
import StepDetection
import StepRecordings

/// A session's report as a self-contained HTML page, for example to attach to a lab notebook.
///
/// The same session gives the same bytes. All names from people or programs are shown as text.
package struct SessionPage {
    private static let columns = 900
    private static let plotHeight = 120.0
    private static let colours = ["#1f5fa8", "#b3541e", "#2c7a3f", "#7a3b96", "#8a6d00", "#00707a"]
    private static let maximumRows = 200

    private let record: SessionRecord
    private let summary: SessionSummary
    private let report: SessionReport?
    private let annotations: [Annotation]
    private let sums: [String: String]
    private let streams: [StreamOverview]
    /// The time range of the plots, in nanoseconds since the session's start.
    private let span: Range<Int64>
    /// The streams in which steps were counted.
    private let walks: [CountedRecording]

    /// The page of a session.
    /// - Parameter streams: the names of streams whose steps are counted.
    /// - Throws: `RecordingError` if a file of the session can't be read, or steps can't be counted.
    package static func html(
        of session: SessionDirectory, countingStepsIn streams: [String] = []
    ) throws(RecordingError) -> String {
        try SessionPage(session, streams).text
    }

    private init(_ session: SessionDirectory, _ counted: [String]) throws(RecordingError) {
        walks =
            try counted.isEmpty
            ? [] : CountedRecording.recordings(ofSession: session.directory.path, streams: counted)
        let record = try session.record()
        self.record = record
        summary = try session.summary()
        report = record.status.isOver ? try? session.report() : nil
        annotations = try session.validAnnotations(of: record)
        sums = try session.checksums() ?? [:]
        var streams: [StreamOverview] = []
        for log in record.logs {
            streams.append(try StreamOverview(log, of: record, in: session, maximumColumns: 8_192))
        }
        self.streams = streams
        let spans = streams.compactMap(\.envelope.span)
        let end = Int64(min(9e9, max(0, summary.duration)) * 1e9)
        let first = min(0, spans.map(\.lowerBound).min() ?? 0)
        span = first..<max(first + 1, end, spans.map(\.upperBound).max() ?? 0)
    }

    // MARK: The page

    private var text: String {
        let title = "\(summary.session)\(summary.task.map { ", \($0)" } ?? "")"
        return """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <title>\(Self.escaped(title))</title>
            <style>
            body { font: 15px/1.45 system-ui, sans-serif; color: #1c1c1c; background: #fff; max-width: 60rem; margin: 1rem auto; padding: 0 1rem }
            h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem } h3 { font-size: 1rem; margin: 1.2rem 0 .2rem }
            table { border-collapse: collapse; margin: .5rem 0 } th, td { text-align: left; padding: .15rem .8rem .15rem 0; vertical-align: top }
            td.n, th.n { text-align: right } .good { color: #1d6b30 } .bad { color: #a61b1b; font-weight: 600 }
            code { font: .85em ui-monospace, monospace; overflow-wrap: anywhere } svg { width: 100%; height: auto; display: block }
            @media print { svg, tr { break-inside: avoid } }
            </style>
            </head>
            <body>
            <h1>\(Self.escaped(title))</h1>
            \(verdict)
            \(overview)
            <h2>Signals</h2>
            \(streams.map(signal).joined(separator: "\n"))
            \(gaps)
            \(events)\(walking)
            \(timing)
            \(files)
            </body>
            </html>

            """
    }

    private var verdict: String {
        guard let report else {
            return "<p class=\"bad\">The session is \(Self.escaped(summary.status.rawValue)): it has no report yet.</p>"
        }
        let damage = streams.flatMap(\.damage)
        let damaged =
            damage.isEmpty
            ? "" : "<p class=\"bad\">Damaged: files of the session are missing or have changed.</p>" + Self.list(damage)
        if !report.isWhole {
            let lost = report.streams.reduce(0) { $0 + $1.lost }
            // The number of samples in a gap is unknown if it is 0.
            let isKnown = report.streams.allSatisfy { $0.gaps.allSatisfy { $0.count > 0 } }
            let amount = isKnown ? "\(lost)" : lost > 0 ? "at least \(lost)" : "an unknown number of"
            return damaged + "<p class=\"bad\">Not whole: \(amount) samples are lost.</p>" + Self.list(report.failures)
        }
        // Files removed by a ring are no longer part of the session.
        let removed = summary.streams.reduce(0) { $0 + ($1.removed ?? []).count { $0.reason != RemovedFile.ring } }
        if removed > 0 || !damage.isEmpty {
            let count = removed > 0 ? " Files removed since then: \(removed)." : ""
            return damaged + "<p>The session was whole when it ended.\(count)</p>"
        }
        return "<p class=\"good\">Whole: every sample that belongs to the session is in its files.</p>"
    }

    private static func list(_ items: [String]) -> String {
        if items.isEmpty { return "" }
        let rest = items.count > maximumRows ? "<li>… and \(items.count - maximumRows) more</li>" : ""
        return "<ul>\(items.prefix(maximumRows).map { "<li>\(escaped($0))</li>" }.joined())\(rest)</ul>"
    }

    private var overview: String {
        var rows = [
            ["Start", summary.startDate.utcText], ["End", summary.endDate?.utcText ?? "not over"],
            ["Duration", "\(TextColumns.decimal(summary.duration, places: 3)) s"], ["Status", summary.status.rawValue],
        ]
        for date in summary.restarts { rows.append(["Interrupted, resumed at", date.utcText]) }
        return Self.table(nil, rows, numbers: [])
            + Self.table(
                ["stream", "unit", "origin", "samples", "lost", "gaps", "rate/s", "recovered", "bytes"],
                zip(summary.streams, record.logs).map { stream, log in
                    [
                        stream.stream.description, log.unitText ?? "", stream.origin?.rawValue ?? "",
                        "\(stream.samples)", "\(stream.lost)",
                        "\(stream.gaps.count)", Self.rate(stream.actualRate, of: stream.nominalRate),
                        "\(log.counts.recovered)", "\(stream.bytes)",
                    ]
                }, numbers: [3, 4, 5, 6, 7, 8])
    }

    private var gaps: String {
        let rows = summary.streams.flatMap { stream in
            stream.gaps.map { gap in
                [
                    stream.stream.description, "\(gap.from)", gap.count > 0 ? "\(gap.count)" : "unknown",
                    gap.reason.rawValue,
                    gap.date?.utcText ?? "",
                ]
            }
        }
        if rows.isEmpty { return "<h2>Gaps</h2>\n<p>No sample is lost.</p>" + (filled.isEmpty ? "" : "\n" + filled) }
        return "<h2>Gaps</h2>\n" + filled
            + Self.table(["stream", "from sample", "samples", "reason", "given up at"], rows, numbers: [1, 2])
    }

    private var filled: String {
        let fills = (summary.fills ?? []).map { fill in
            "<p>\(fill.samples) samples of \(Self.escaped(fill.device)) were lost, and filled in from "
                + "\(Self.escaped(fill.source)) on \(fill.date.utcText). SHA-256 of that file: "
                + "<code>\(Self.escaped(fill.sha256))</code></p>\n"
        }
        let rows = summary.streams.compactMap { stream in
            stream.filled.map { [stream.stream.description, "\($0)"] }
        }
        return fills.joined() + (rows.isEmpty ? "" : Self.table(["stream", "filled in"], rows, numbers: [1]) + "\n")
    }

    private var events: String {
        let steps = summary.steps.map { [Self.seconds($0.timestamp), "step", $0.step] }
        let pauses = summary.pauses.map { pause in
            let end = pause.to.map { "until \(Self.seconds($0)) s" } ?? "until the end"
            return [Self.seconds(pause.from), "pause", end + (pause.stream.map { ", \($0)" } ?? "")]
        }
        let notes = annotations.map { note in
            let from = note.from.seconds(since: summary.startDate)
            let end = note.to.map { ", until \(Self.seconds($0.seconds(since: summary.startDate))) s" } ?? ""
            let stream = note.stream.map { ", \($0)" } ?? ""
            return [
                Self.seconds(from), "annotation", "\(note.label)\(end)\(stream)\(note.note.map { ": \($0)" } ?? "")",
            ]
        }
        var rows = ""
        if !steps.isEmpty || !pauses.isEmpty {
            rows += "<h2>Steps</h2>\n" + Self.table(["at s", "what", ""], steps + pauses, numbers: [0])
        }
        if !notes.isEmpty { rows += "<h2>Annotations</h2>\n" + Self.table(["at s", "what", ""], notes, numbers: [0]) }
        return rows
    }

    /// The gait measures, as `step-counter count` reports them; empty if steps were not counted.
    private var walking: String {
        if walks.isEmpty { return "" }
        func measures(_ gait: GaitMeasures) -> [String] {
            [
                TextColumns.decimal(gait.walkingTime, places: 1), Self.decimal(gait.cadence, 2),
                Self.decimal(gait.stepTime, 3), Self.decimal(gait.strideTime, 3),
                Self.decimal(gait.strideTimeVariability.map { 100 * $0 }, 1),
            ]
        }
        let heads = ["walked s", "steps/s", "step s", "stride s", "stride variability %"]
        let all = walks.map { walk in
            [
                walk.stream?.description ?? "", "\(walk.numberOfSteps)", Self.decimal(walk.expectedError.falseSteps, 1),
                Self.decimal(walk.expectedError.missedSteps, 1), Self.decimal(walk.coverage.map { 100 * $0 }, 1),
            ] + measures(walk.gait)
        }
        let bouts = walks.flatMap { walk in
            walk.bouts.map { bout in
                [
                    walk.stream?.description ?? "", Self.seconds(bout.start), "\(bout.steps)",
                    TextColumns.decimal(100 * bout.confidence, places: 0),
                ] + measures(bout.gait)
            }
        }
        return "\n<h2>Walking</h2>\n"
            + Self.table(
                ["stream", "steps", "expected to be none", "expected to be missed", "counted %"] + heads, all,
                numbers: Set(1...9))
            + (bouts.isEmpty
                ? "" : Self.table(["stream", "at s", "steps", "walking %"] + heads, bouts, numbers: Set(1...8)))
    }

    private static func decimal(_ number: Double?, _ places: Int) -> String {
        number.map { TextColumns.decimal($0, places: places) } ?? ""
    }

    private var timing: String {
        var rows: [[String]] = []
        if let latency = report?.commitLatency, latency.count > 0 {
            rows.append(["publication to disk"] + Self.milliseconds(latency))
        }
        for stream in report?.streams ?? [] {
            if let jitter = stream.jitter { rows.append(["jitter of \(stream.stream)"] + Self.milliseconds(jitter)) }
        }
        let table =
            rows.isEmpty ? "" : Self.table(["", "median ms", "99 % ms", "longest ms"], rows, numbers: [1, 2, 3])
        let histograms = ([latencyHistogram] + streams.map(intervalHistogram)).joined(separator: "\n")
        let clocks = (report?.clocks ?? []).map { clock in
            [
                clock.endpoint, TextColumns.decimal(clock.first * 1_000, places: 2),
                TextColumns.decimal(clock.last * 1_000, places: 2),
                TextColumns.decimal(clock.uncertainty * 1_000, places: 2),
            ]
        }
        return "<h2>Timing</h2>\n\(table)\n"
            + (clocks.isEmpty
                ? ""
                : Self.table(["clock of", "ahead ms", "at the end ms", "within ms"], clocks, numbers: [1, 2, 3]))
            + "\n" + histograms
    }

    private var files: String {
        let rows = sums.sorted { $0.key < $1.key }.map { [$0.key, $0.value] }
        if rows.isEmpty { return "<h2>Files</h2>\n<p>The session has no SHA256SUMS yet.</p>" }
        return "<h2>Files</h2>\n" + Self.table(["file", "SHA-256"], rows, numbers: [], code: [1])
    }

    // MARK: Plots

    /// The x coordinate of a time in a plot.
    private func place(_ time: Int64) -> Double {
        let width = Double(span.upperBound - span.lowerBound)
        return (Double(time - span.lowerBound) / width * Double(Self.columns) * 10).rounded() / 10
    }

    private func place(_ seconds: Double) -> Double { place(Int64(min(9e9, max(-9e9, seconds)) * 1e9)) }

    private func signal(_ stream: StreamOverview) -> String {
        let part = stream.envelope.part(columns: Self.columns)
        let values = part.fields.joined().filter { !$0.least.isNaN }
        let name = "\(stream.stream)\(stream.unit.map { " in \($0)" } ?? "")"
        guard let least = values.map(\.least).min(), let most = values.map(\.most).max(), least.isFinite, most.isFinite
        else {
            return "<h3>\(Self.escaped(name))</h3>\n<p>\(stream.samples) samples without numbers.</p>"
        }
        let height = most > least ? most - least : 1
        func level(_ value: Double) -> Double {
            let part = (min(most, max(least, value)) - least) / height
            return ((Self.plotHeight - 4 - part * (Self.plotHeight - 8)) * 10).rounded() / 10
        }
        var marks = ""
        for pause in summary.pauses where pause.stream ?? stream.stream == stream.stream {
            marks += band(pause.from, pause.to ?? summary.duration, "#e4e4e4")
        }
        for gap in stream.gaps {
            let (from, to) = (place(gap.from ?? span.lowerBound), place(gap.to ?? span.upperBound))
            marks += rectangle(from, to, "#f3b0b0")
        }
        for note in annotations where note.stream.map({ $0 == stream.stream }) ?? true {
            let from = note.from.seconds(since: summary.startDate)
            let to = note.to?.seconds(since: summary.startDate) ?? from
            marks += band(from, to, "#f6e7a6")
        }
        for step in summary.steps {
            marks +=
                "<path d=\"M\(place(step.timestamp)) 0V\(Self.plotHeight)\" stroke=\"#888\" stroke-dasharray=\"3 3\"/>"
        }
        var lines = ""
        var legend = ""
        for (index, field) in stream.fields.enumerated() {
            let colour = Self.colours[index % Self.colours.count]
            legend += "<tspan fill=\"\(colour)\" dx=\"8\">\(Self.escaped(field))</tspan>"
            lines += "<path fill=\"none\" stroke=\"\(colour)\" d=\"\(line(part, part.fields[index], stream, level))\"/>"
        }
        let label =
            "\(stream.samples) samples from \(Self.value(least)) to \(Self.value(most)), \(stream.gaps.count) gaps"
        return """
            <h3>\(Self.escaped(name))</h3>
            <svg viewBox="0 0 \(Self.columns) 140" role="img" aria-label="\(Self.escaped("\(name): \(label)"))">
            <rect width="\(Self.columns)" height="\(Self.plotHeight)" fill="#fafafa"/>\(marks)
            \(lines)
            <text x="2" y="12" font-size="11">\(Self.value(most))</text>
            <text x="2" y="\(Self.plotHeight - 4)" font-size="11">\(Self.value(least))</text>
            <text x="0" y="136" font-size="12">\(legend)</text>
            <text x="\(Self.columns)" y="136" font-size="12" text-anchor="end">\(Self.seconds(Double(span.lowerBound) / 1e9)) to \(Self.seconds(Double(span.upperBound) / 1e9)) s</text>
            </svg>
            """
    }

    /// A field's line, interrupted where samples are missing.
    private func line(
        _ part: Envelope.Part, _ values: [Envelope.Extremes], _ stream: StreamOverview, _ level: (Double) -> Double
    ) -> String {
        var text = ""
        var last: Int64?
        var gap = stream.gaps.startIndex
        // Samples may be farther apart than the columns are wide.
        let steps = zip(part.times, part.times.dropFirst()).map { $1 - $0 }.sorted()
        let usual = steps.isEmpty ? part.width : steps[steps.count / 2]
        for (time, extremes) in zip(part.times, values) {
            guard !extremes.least.isNaN else {
                last = nil
                continue
            }
            while gap < stream.gaps.endIndex, let end = stream.gaps[gap].to, end < time {
                // The column that begins before the gap's end was already drawn.
                if let start = last, end > start { last = nil }
                gap += 1
            }
            let isContinued = last.map { time - $0 <= 4 * usual } ?? false
            let x = place(time)
            let (high, low) = (level(extremes.most), level(extremes.least))
            text += isContinued ? "L\(x) \(high)" : "M\(x) \(high)"
            text += high == low && isContinued ? "" : "L\(x) \(low)"
            last = time
        }
        return text
    }

    private func band(_ from: Double, _ to: Double, _ colour: String) -> String {
        rectangle(place(from), place(to), colour)
    }

    /// A rectangle at least wide enough to be seen.
    private func rectangle(_ from: Double, _ to: Double, _ colour: String) -> String {
        let width = max(1.5, ((to - from) * 10).rounded() / 10)
        return "<rect x=\"\(from)\" width=\"\(width)\" height=\"\(Self.plotHeight)\" fill=\"\(colour)\"/>"
    }

    private func intervalHistogram(_ stream: StreamOverview) -> String {
        histogram(
            "Time between samples of \(stream.stream)", stream.intervals.bins,
            bars: "each bar a tenth wider than the one before")
    }

    /// The time from publication to disk, for samples since the recorder's last start.
    private var latencyHistogram: String {
        guard let buckets = report?.commitLatency.buckets else { return "" }
        var before = SessionReport.Latency.Bucket(bound: 0, count: 0)
        let bins = buckets.map { bucket in
            defer { before = bucket }
            return IntervalHistogram.Bin(from: before.bound, to: bucket.bound, count: bucket.count - before.count)
        }.drop { $0.count == 0 }
        let bounds = bins.map { Self.value($0.to * 1_000) }.joined(separator: ", ")
        return histogram("Time from publication to disk", Array(bins), bars: "bars end at \(bounds) ms")
    }

    /// - Parameter bars: describes the bars.
    private func histogram(_ title: String, _ bins: [IntervalHistogram.Bin], bars description: String) -> String {
        guard let most = bins.map(\.count).max(), let first = bins.first, let last = bins.last else { return "" }
        let width = (Double(Self.columns) / Double(bins.count) * 10).rounded(.down) / 10
        let bars = bins.enumerated().filter { $1.count > 0 }.map { index, bin in
            let height = max(1, (Double(bin.count) / Double(most) * 60 * 10).rounded() / 10)
            let x = (Double(index) * width * 10).rounded() / 10
            return
                "<rect x=\"\(x)\" y=\"\(60 - height)\" width=\"\(max(0.5, width - 0.5))\" height=\"\(height)\" fill=\"#1f5fa8\"/>"
        }.joined()
        let range = "\(Self.value(first.from * 1_000)) to \(Self.value(last.to * 1_000)) ms"
        return """
            <h3>\(Self.escaped(title))</h3>
            <svg viewBox="0 0 \(Self.columns) 78" role="img" aria-label="\(Self.escaped("from \(range)"))">\(bars)
            <text x="0" y="74" font-size="12">\(Self.value(first.from * 1_000)) ms</text>
            <text x="\(Self.columns)" y="74" font-size="12" text-anchor="end">\(Self.value(last.to * 1_000)) ms, \(description)</text>
            </svg>
            """
    }

    // MARK: Texts

    private static func seconds(_ value: Double) -> String { TextColumns.decimal(value, places: 3) }

    private static func rate(_ actual: Double?, of nominal: Double?) -> String {
        let actual = actual.map { TextColumns.decimal($0, places: 2) } ?? "unknown"
        return nominal.map { "\(actual) of \(value($0))" } ?? actual
    }

    private static func milliseconds(_ latency: SessionReport.Latency) -> [String] {
        [latency.median, latency.p99, latency.maximum].map { TextColumns.decimal($0 * 1_000, places: 1) }
    }

    /// A number with about four digits.
    private static func value(_ number: Double) -> String {
        let size = number.magnitude
        if size >= 1e7 || size != 0 && size < 1e-3 { return "\(number)" }
        return TextColumns.decimal(number, places: size >= 1_000 ? 0 : size >= 10 ? 1 : 3)
    }

    private static func table(
        _ heads: [String]?, _ rows: [[String]], numbers: Set<Int>, code: Set<Int> = []
    ) -> String {
        func cells(_ row: [String], _ kind: String) -> String {
            row.enumerated().map { index, text in
                let text = code.contains(index) && kind == "td" ? "<code>\(escaped(text))</code>" : escaped(text)
                return "<\(kind)\(numbers.contains(index) ? " class=\"n\"" : "")>\(text)</\(kind)>"
            }.joined()
        }
        let head = heads.map { "<tr>\(cells($0, "th"))</tr>\n" } ?? ""
        let shown = rows.prefix(maximumRows).map { "<tr>\(cells($0, "td"))</tr>\n" }.joined()
        let rest = rows.count > maximumRows ? "<p>… and \(rows.count - maximumRows) more, in report.json.</p>\n" : ""
        return "<table>\n\(head)\(shown)</table>\n\(rest)"
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            case "\n", "\t": escaped.unicodeScalars.append(scalar)
            // Invisible, or reverses the direction of the text after it.
            case let other
            where other.value < 0x20 || (0x7F...0x9F).contains(other.value)
                || (0x202A...0x202E).contains(other.value) || (0x2066...0x2069).contains(other.value):
                escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

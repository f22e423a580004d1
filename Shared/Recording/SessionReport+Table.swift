package import Messages

extension SessionReport {
    /// The report for people: a line per stream, the gaps, commit latencies, failures, and the files.
    ///
    /// Lines end with a line feed, the last one too; columns are aligned for a font of one width.
    package var table: String {
        var lines = Self.aligned(
            [["stream", "expected", "received", "recovered", "lost", "paused", "rate/s", "gaps"]]
                + streams.map { stream in
                    [
                        stream.stream.description, "\(stream.expected)", "\(stream.received)", "\(stream.recovered)",
                        "\(stream.lost)", "\(stream.paused)", Self.rate(of: stream), "\(stream.gaps.count)",
                    ]
                })
        for stream in streams {
            for gap in stream.gaps {
                let place = "\(gap.count) samples from \(gap.from) of epoch \(gap.epoch)"
                lines.append("gap in \(stream.stream): \(place), \(gap.reason.rawValue)")
            }
            if !stream.isEndKnown {
                lines.append("end of \(stream.stream) unknown: its publisher did not say how many samples there are")
            }
        }
        lines += failures.map { "failure: \($0)" }
        if commitLatency.count > 0 {
            let figures = [commitLatency.median, commitLatency.p99, commitLatency.maximum].map(Self.milliseconds)
            lines.append("on disk after \(figures[0]) ms (median), \(figures[1]) ms (99 %), \(figures[2]) ms (longest)")
        }
        let files = Self.aligned(
            [["log", "bytes", "files"]]
                + streams.map { [$0.log, "\($0.bytes)", $0.files.joined(separator: " ")] },
            textColumns: [0, 2])
        lines += [""] + files
        return lines.map { $0 + "\n" }.joined()
    }

    /// Samples per second, and of how many in case that was said.
    private static func rate(of stream: Stream) -> String {
        let actual = stream.actualRate.map { decimal($0, places: 2) } ?? "-"
        return stream.nominalRate.map { "\(actual) of \(decimal($0, places: 2))" } ?? actual
    }

    private static func milliseconds(_ seconds: Double) -> String {
        decimal(seconds * 1000, places: 1)
    }

    /// A number with so many decimals at most.
    private static func decimal(_ number: Double, places: Int) -> String {
        let scale = places == 1 ? 10.0 : 100.0
        let text = "\((number * scale).rounded() / scale)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// Rows as lines with columns of one width, two spaces between them: text to the left, numbers to the right.
    private static func aligned(_ rows: [[String]], textColumns: Set<Int> = [0]) -> [String] {
        let columns = rows.first?.count ?? 0
        let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (column, text) in row.enumerated() {
                let fill = String(repeating: " ", count: widths[column] - text.count)
                line += (column == 0 ? "" : "  ") + (textColumns.contains(column) ? text + fill : fill + text)
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}

package import Messages

extension SessionReport {
    /// The report for people: a line per stream, losses and failures, how regular the stream was, and the files.
    ///
    /// Lines end with a line feed, the last one too; columns are aligned for a font of one width.
    package var table: String {
        var lines = TextColumns.aligned(
            [["stream", "expected", "received", "recovered", "lost", "paused", "rate/s", "gaps"]]
                + streams.map { stream in
                    [
                        stream.stream.description, "\(stream.expected)", "\(stream.received)", "\(stream.recovered)",
                        "\(stream.lost)", "\(stream.paused)",
                        TextColumns.rate(stream.actualRate, of: stream.nominalRate), "\(stream.gaps.count)",
                    ]
                })
        for stream in streams {
            if let origin = stream.origin, origin != .measured { lines.append("\(stream.stream) is \(origin)") }
            if stream.expected == 0, stream.gaps.isEmpty {
                lines.append(
                    "\(stream.stream): no sample was taken while the session ran: its source had ended, was stopped, or sent "
                        + "nothing")
            }
            lines += stream.gaps.map { "gap in \(stream.stream): \($0.sentence)" }
            if let filled = stream.filled { lines.append("\(stream.stream): \(filled) lost samples were filled in") }
            if let files = stream.removedFiles, let samples = stream.removedSamples {
                lines.append(
                    "\(stream.stream): \(files.counted("file")) with \(samples) samples removed by the ring"
                )
            }
            if !stream.isEndKnown {
                lines.append("end of \(stream.stream) unknown: its publisher did not report how many samples there are")
            }
        }
        lines += (fills ?? []).map(\.sentence)
        lines += failures.map { "failure: \($0)" }
        lines += Annotation.valid(in: annotations ?? []).map { $0.sentence(since: startDate) }
        lines += (restarts ?? []).map { "interrupted; resumed at \($0.utcText)" }
        for stream in streams {
            let jitter = stream.jitter.map { "jitter \(Self.milliseconds($0, longest: "largest"))" }
            let silence = stream.longestSilence.map {
                "longest silence \(TextColumns.decimal($0 * 1000, places: 1)) ms"
            }
            let parts = [jitter, silence].compactMap { $0 }
            if !parts.isEmpty { lines.append("\(stream.stream): \(parts.joined(separator: "; "))") }
        }
        if commitLatency.count > 0 {
            lines.append("on disk after \(Self.milliseconds(commitLatency, longest: "longest"))")
        }
        lines += (clocks ?? []).map(\.sentence)
        let files = TextColumns.aligned(
            [["log", "bytes", "files"]]
                + streams.map { [$0.log, "\($0.bytes)", $0.files.joined(separator: " ")] },
            textColumns: [0, 2])
        lines += [""] + files
        return lines.map { $0 + "\n" }.joined()
    }

    private static func milliseconds(_ latency: Latency, longest: String) -> String {
        let figures = [latency.median, latency.p99, latency.maximum].map { TextColumns.decimal($0 * 1000, places: 1) }
        return "\(figures[0]) ms (median), \(figures[1]) ms (99 %), \(figures[2]) ms (\(longest))"
    }
}

extension Annotation {
    /// Seconds are since the session's start.
    package func sentence(since start: WallTime) -> String {
        func seconds(_ date: WallTime) -> String {
            TextColumns.decimal(date.seconds(since: start), places: 3)
        }
        let place = to.map { "from \(seconds(from)) s to \(seconds($0)) s" } ?? "at \(seconds(from)) s"
        let words = note.map { ": \($0)" } ?? ""
        return "annotation \(number) \(place)\(stream.map { " of \($0)" } ?? ""): \(label)\(words)"
    }
}

extension SessionReport.Fill {
    var sentence: String { "filled \(samples) samples of \(device) from \(source) on \(date.utcText)" }
}

extension Gap {
    var sentence: String {
        let place =
            count > 0
            ? "\(count) samples from \(from) of epoch \(epoch)"
            : "an unknown number of samples of epoch \(epoch), from \(from) on"
        return "\(place), \(reason.rawValue)" + (date.map { ", given up at \($0.utcText)" } ?? "")
    }
}

extension ClockOffset {
    fileprivate var sentence: String {
        func milliseconds(_ seconds: Double) -> String { TextColumns.decimal(seconds * 1000, places: 2) }
        var sentence = "clock of \(endpoint): \(milliseconds(first)) ms ahead of the recorder's"
        if comparisons > 1 { sentence += ", \(milliseconds(last)) ms at the end" }
        sentence += ", each within \(milliseconds(uncertainty)) ms"
        if let drift { sentence += "; drift \(TextColumns.decimal(drift * 1e6, places: 1)) ppm" }
        return sentence
    }
}

package import Messages

extension SessionRecord {
    /// Samples that were added to a session that was over, from what a device had recorded itself, or from what a publisher still had.
    ///
    /// Nothing that was recorded is changed: filled samples are in files of their own, and the documents that were there before
    /// are kept under other names.
    package struct Fill: Codable, Hashable, Sendable {
        /// Counted from 1.
        package var number: Int
        package var date: WallTime
        /// The device whose streams were filled.
        package var device: String
        package var source: Source
        /// What is added to a time of the source, in nanoseconds, to get the publisher's uptime: by epoch. Empty if the samples were a
        /// publisher's, whose times are its uptimes.
        package var offsets: [String: Int64]
        /// The program's version.
        package var version: String
        /// What `session.json`, `report.json` and `SHA256SUMS` were before. Empty if another fill was made together with it, which
        /// has them.
        package var former: [FormerFile]

        package init(
            number: Int, date: WallTime, device: String, source: Source, offsets: [String: Int64], version: String,
            former: [FormerFile]
        ) {
            self.number = number
            self.date = date
            self.device = device
            self.source = source
            self.offsets = offsets
            self.version = version
            self.former = former
        }
    }

    /// What a fill was taken from.
    package struct Source: Codable, Hashable, Sendable {
        /// The file's name, or the directory's; the endpoint if a publisher was asked.
        package var name: String
        /// Bytes, of a directory those of its files together, of a publisher those of its frames with samples.
        package var bytes: Int
        /// Of a directory, that of the lines which sha256sum(1) prints of its files, in the order of their names; of a publisher, that
        /// of its frames in order.
        package var sha256: String

        package init(name: String, bytes: Int, sha256: String) {
            self.name = name
            self.bytes = bytes
            self.sha256 = sha256
        }
    }

    /// A document as it was before a fill.
    package struct FormerFile: Codable, Hashable, Sendable {
        /// The name that it has now.
        package var name: String
        package var sha256: String

        package init(name: String, sha256: String) {
            self.name = name
            self.sha256 = sha256
        }
    }

    /// What a fill added to a stream: a file of the stream's format that has filled samples alone.
    package struct FilledFile: Codable, Hashable, Sendable {
        /// The number of its fill.
        package var fill: Int
        package var name: String
        package var bytes: Int
        package var samples: Int
        package var sha256: String
        /// The gaps that it fills, in the stream's order.
        package var gaps: [FilledGap]

        package init(fill: Int, name: String, bytes: Int, samples: Int, sha256: String, gaps: [FilledGap]) {
            self.fill = fill
            self.name = name
            self.bytes = bytes
            self.samples = samples
            self.sha256 = sha256
            self.gaps = gaps
        }
    }

    /// A gap that was filled, wholly or in part.
    package struct FilledGap: Codable, Hashable, Sendable {
        /// As it was before.
        package var gap: Gap
        /// What it consists of now, in order.
        package var parts: [FilledPart]

        package init(gap: Gap, parts: [FilledPart]) {
            self.gap = gap
            self.parts = parts
        }

        /// Samples in its filled parts.
        package var samples: Int { parts.reduce(0) { $0 + ($1.samples ?? 0) } }

        /// The gaps that are left of it.
        package var rest: [Gap] {
            parts.filter { $0.samples == nil }.map(rest)
        }

        /// The gap that a part still is.
        func rest(_ part: FilledPart) -> Gap {
            Gap(
                epoch: gap.epoch, from: part.from, count: part.count, reason: gap.reason, date: gap.date,
                afterUptime: part.afterUptime ?? gap.afterUptime)
        }

        /// How many sample numbers are missing no longer.
        var numbers: Int { max(0, gap.count - rest.reduce(0) { $0.addingClamped($1.count) }) }
    }

    /// A part of a gap that was filled.
    package struct FilledPart: Codable, Hashable, Sendable {
        /// The number of its first sample.
        package var from: Int
        /// How many numbers it takes. An estimated gap may have had more samples or fewer.
        package var count: Int
        /// How many samples were filled in; nil for a part that is still a gap.
        package var samples: Int?
        /// Of a part that is still a gap: the uptime of the last sample before it, if that was filled in.
        package var afterUptime: Double?

        package init(from: Int, count: Int, samples: Int?, afterUptime: Double? = nil) {
            self.from = from
            self.count = count
            self.samples = samples
            self.afterUptime = afterUptime
        }
    }
}

extension SessionRecord.Log {
    /// Samples that were filled in after the session.
    package var filledSamples: Int { (fills ?? []).reduce(0) { $0 + $1.samples } }

    /// Numbers of samples that were missing, and are not since they were filled in.
    var filledNumbers: Int {
        // What a later fill took of a gap's rest is no rest any more.
        let all = (fills ?? []).flatMap(\.gaps)
        return all.reduce(0) { $0.addingClamped($1.numbers) }
    }

    /// The name of a fill's file. It is none that a log, or a finished file, can have.
    package func fillName(_ number: Int, _ format: LogFormat) -> String {
        "\(name.text).fill-\(number).\(format.rawValue)"
    }

    /// Notes what a fill added: the gaps that it filled become what is left of them.
    package mutating func add(_ file: SessionRecord.FilledFile) {
        for filled in file.gaps {
            guard let index = gaps.firstIndex(where: { $0.isAlike(filled.gap) }) else { continue }
            gaps.replaceSubrange(index...index, with: filled.rest)
        }
        fills = (fills ?? []) + [file]
    }
}

extension Gap {
    /// Whether both are of the same samples, for the same reason: a marker in a file says no more.
    package func isAlike(_ other: Gap) -> Bool {
        (epoch, from, count, reason) == (other.epoch, other.from, other.count, other.reason)
    }
}

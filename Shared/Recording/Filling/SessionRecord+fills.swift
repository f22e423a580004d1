package import Messages

extension SessionRecord {
    /// Samples that were added to a session after its end, from a device's own recording or from a publisher that still had them.
    ///
    /// Nothing that was recorded is changed: filled samples are in separate files, and the earlier documents are kept under other
    /// names.
    package struct Fill: Codable, Hashable, Sendable {
        /// From 1.
        package var number: Int
        package var date: WallTime
        /// The device whose streams were filled.
        package var device: String
        package var source: Source
        /// Nanoseconds to add to a time of the source to get the publisher's uptime, by epoch. Empty if the samples are a
        /// publisher's, whose times are uptimes.
        package var offsets: [String: Int64]
        package var version: String
        /// The `session.json`, `report.json` and `SHA256SUMS` from before the fill. Empty if another fill made together with this
        /// one has them.
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

    /// Where a fill's samples came from.
    package struct Source: Codable, Hashable, Sendable {
        /// The name of the file or directory; the endpoint if the source is a publisher.
        package var name: String
        /// Bytes of the file; of a directory's files together; of a publisher's frames with samples.
        package var bytes: Int
        /// The file's hash. For a directory, the hash of the lines that sha256sum(1) prints for its files, in the order of their
        /// names; for a publisher, the hash of its frames in order.
        package var sha256: String

        package init(name: String, bytes: Int, sha256: String) {
            self.name = name
            self.bytes = bytes
            self.sha256 = sha256
        }
    }

    /// A document from before a fill.
    package struct FormerFile: Codable, Hashable, Sendable {
        /// The document's name since the fill.
        package var name: String
        package var sha256: String

        package init(name: String, sha256: String) {
            self.name = name
            self.sha256 = sha256
        }
    }

    /// A file that a fill added to a stream: in the stream's format, with filled samples only.
    package struct FilledFile: Codable, Hashable, Sendable {
        /// The fill's number.
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
        /// The gap before the fill.
        package var gap: Gap
        /// What the gap consists of now, in order.
        package var parts: [FilledPart]

        package init(gap: Gap, parts: [FilledPart]) {
            self.gap = gap
            self.parts = parts
        }

        /// Samples in the filled parts.
        package var samples: Int { parts.reduce(0) { $0 + ($1.samples ?? 0) } }

        /// The gaps that are left.
        package var rest: [Gap] {
            parts.filter { $0.samples == nil }.map(rest)
        }

        /// The gap that an unfilled part still is.
        func rest(_ part: FilledPart) -> Gap {
            Gap(
                epoch: gap.epoch, from: part.from, count: part.count, reason: gap.reason, date: gap.date,
                afterUptime: part.afterUptime ?? gap.afterUptime)
        }

        /// How many sample numbers are no longer missing.
        var numbers: Int { max(0, gap.count - rest.reduce(0) { $0.addingClamped($1.count) }) }
    }

    /// A part of a gap that was filled.
    package struct FilledPart: Codable, Hashable, Sendable {
        /// The number of its first sample.
        package var from: Int
        /// How many sample numbers the part takes. An estimated gap may really have had more samples or fewer.
        package var count: Int
        /// How many samples were filled in; nil for a part that is still a gap.
        package var samples: Int?
        /// For a part that is still a gap: the uptime of the last sample before it, if that sample was filled in.
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
    /// Samples filled in after the session.
    package var filledSamples: Int { (fills ?? []).reduce(0) { $0 + $1.samples } }

    /// Sample numbers that were missing before fills and no longer are.
    var filledNumbers: Int {
        // The rest of a gap does not include what a later fill took from it.
        let all = (fills ?? []).flatMap(\.gaps)
        return all.reduce(0) { $0.addingClamped($1.numbers) }
    }

    /// The name of a fill's file. No log or finished file can have such a name.
    package func fillName(_ number: Int, _ format: LogFormat) -> String {
        "\(name.text).fill-\(number).\(format.rawValue)"
    }

    /// Adds a fill's file; the gaps that it filled are replaced by what is left of them.
    package mutating func add(_ file: SessionRecord.FilledFile) {
        for filled in file.gaps {
            guard let index = gaps.firstIndex(where: { $0.isAlike(filled.gap) }) else { continue }
            gaps.replaceSubrange(index...index, with: filled.rest)
        }
        fills = (fills ?? []) + [file]
    }
}

extension Gap {
    /// The samples of a gap. A gap of unknown length, whose count is 0, may begin with the same sample as another one.
    package struct Extent: Hashable, Sendable {
        let epoch: String
        let from: Int
        let count: Int
    }

    package var extent: Extent { Extent(epoch: epoch, from: from, count: count) }

    /// Whether both gaps have the same samples and reason, which is all that a marker in a file states.
    package func isAlike(_ other: Gap) -> Bool {
        extent == other.extent && reason == other.reason
    }
}

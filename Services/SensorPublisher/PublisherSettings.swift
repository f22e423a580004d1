import Messages
package import SampleSources
package import ServiceKit

/// What a sensor publisher reads besides `ServiceSettings`: options, and "streams" in the configuration file.
package struct PublisherSettings: SettingGroup {
    /// The stream of a publisher that has only one.
    let stream = StreamSettings()

    @Setting("Keep samples for replay this long.")
    package var retention = TimeSpan.seconds(600)

    @Setting("Keep at most this many bytes for replay.", valueName: "size")
    package var retentionBytes = ByteCount(bytes: 256_000_000)

    @Setting(
        "Queue at most this many messages for each subscriber.", name: "high-water-mark", valueName: "count",
        default: "1000, or 10 per stream", accepting: { $0 > 0 }, otherwise: "1 or more")
    private var givenHighWaterMark: Int?

    @Setting(
        "Announce this address for replay requests: a host, or tcp://HOST:PORT.", name: "announce", valueName: "host",
        default: "this machine's address", isCheckedEarly: false)
    package var announcement: Announcement?

    @Setting("Do not start streams until a request starts them.", name: "start-stopped")
    package var startsStopped = false

    /// The streams, sorted by name: at least one.
    package private(set) var streams: [StreamConfiguration] = []

    package init() {}

    /// Messages that wait per subscriber before further ones are dropped: streams that start together publish together.
    package var highWaterMark: Int { givenHighWaterMark ?? max(1_000, 10 * streams.count) }

    /// No source's file is opened.
    /// - Throws: `ServiceError`: usage if no source is given at all, else bad configuration.
    package mutating func complete(reading reader: ConfigurationReader) throws(ServiceError) {
        streams = try streams(reading: reader).sorted { ($0.device, $0.stream) < ($1.device, $1.stream) }
    }

    private func streams(reading reader: ConfigurationReader) throws(ServiceError) -> [StreamConfiguration] {
        let sections = try reader.sections("streams")
        if sections.isEmpty {
            guard !stream.sources.isEmpty else {
                throw ServiceError(
                    .usage,
                    "no source of samples: give one of --signal SPEC, --points FILE, --replay FILE, --stdin csv|ndjson, "
                        + "or \"streams\" in a configuration file (--config)")
            }
            do {
                return [try StreamConfiguration(stream)]
            } catch {
                throw ServiceError(error)
            }
        }
        let given = stream.members.filter { $0.member.isGiven }.map { $0.name }
        guard given.isEmpty else {
            throw ServiceError(
                .badConfiguration,
                "the configuration file has \"streams\", so \(given.joined(separator: ", ")) can't be said beside them: "
                    + "say it in each stream, or leave the streams out")
        }
        var streams: [StreamConfiguration] = []
        var names: Set<StreamName> = []
        var hasLive = false
        for (index, section) in sections.enumerated() {
            let place = "streams[\(index)]"
            let settings = try StreamSettings(reading: section)
            let next: StreamConfiguration
            do {
                next = try StreamConfiguration(settings)
            } catch {
                throw ServiceError(error.at(place))
            }
            guard names.insert(next.name).inserted else {
                throw ServiceError(.badConfiguration, "\(place): there is a stream \(next.name) already")
            }
            if next.isLive, hasLive {
                throw ServiceError(.badConfiguration, "\(place): only one stream can read standard input")
            }
            hasLive = hasLive || next.isLive
            streams.append(next)
        }
        return streams
    }
}

extension ServiceError {
    /// A stream that can't be published as it was configured.
    package init(_ error: PublisherError) {
        self.init(.badConfiguration, error.message)
    }
}

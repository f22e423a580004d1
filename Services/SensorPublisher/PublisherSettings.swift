import Messages
package import ServiceKit

/// What a sensor publisher reads besides `ServiceConfiguration`.
///
/// | key | what it is | unit | default |
/// | --- | --- | --- | --- |
/// | the keys of `StreamConfiguration` | the one stream, where there is only one | | |
/// | `streams` | several streams: a list of objects, each with the keys of `StreamConfiguration`, in the file only | | |
/// | `retention` | how long published samples are kept for replay | duration | 10 m |
/// | `retention-bytes` | how much memory kept samples may take | size | 256 MB |
/// | `high-water-mark` | messages that wait per subscriber before the network drops further ones | messages | 1000, or 10 per stream if that is more |
/// | `announce` | where others ask for samples again: a host, or an endpoint | `Announcement` | an address of this machine |
/// | `start-stopped` | whether streams wait for `streams.start` | true or false | false |
package struct PublisherSettings: Sendable {
    /// The streams, sorted by name: at least one.
    package let streams: [StreamConfiguration]
    /// How long published samples are kept for replay.
    package let retention: TimeSpan
    /// How much memory kept samples may take.
    package let retentionBytes: ByteCount
    /// Messages that wait per subscriber before further ones are dropped.
    package let highWaterMark: Int
    /// Where others ask for samples again, where the user says it.
    package let announcement: Announcement?
    /// Whether streams wait for `streams.start`.
    package let startsStopped: Bool

    /// Reads the settings. No source's file is opened.
    /// - Throws: `ServiceError`: usage where there is no source at all, else bad configuration.
    package init(reading reader: ConfigurationReader) throws(ServiceError) {
        retention = try reader.value("retention", default: .seconds(600))
        retentionBytes = try reader.value("retention-bytes", default: ByteCount(bytes: 256_000_000))
        announcement = try reader.value("announce", as: Announcement.self)
        startsStopped = try reader.value("start-stopped", default: false)
        streams = try Self.streams(reading: reader).sorted { ($0.device, $0.stream) < ($1.device, $1.stream) }
        // Streams that start together publish together.
        highWaterMark = try reader.value("high-water-mark", default: max(1_000, 10 * streams.count))
        guard highWaterMark > 0 else {
            throw ServiceError(.badConfiguration, "high-water-mark is \(highWaterMark): write 1 or more")
        }
    }

    private static func streams(reading reader: ConfigurationReader) throws(ServiceError) -> [StreamConfiguration] {
        var given: [String] = []
        for key in StreamConfiguration.keys where try reader.value(key, as: String.self) != nil { given.append(key) }
        let sections = try reader.sections("streams")
        if sections.isEmpty {
            guard given.contains(where: StreamConfiguration.sourceKeys.contains) else {
                throw ServiceError(
                    .usage,
                    "no source of samples: give one of --signal SPEC, --points FILE, --replay FILE, --stdin csv|ndjson, "
                        + "or \"streams\" in a configuration file (--config)")
            }
            return [try stream(reading: reader, at: nil)]
        }
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
            let next = try stream(reading: section, at: place)
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

    private static func stream(
        reading reader: ConfigurationReader, at place: String?
    ) throws(ServiceError) -> StreamConfiguration {
        do {
            return try StreamConfiguration(reading: reader)
        } catch let error as ServiceError {
            throw error
        } catch let error as PublisherError {
            throw ServiceError(place.map(error.at) ?? error)
        } catch {
            throw ServiceError(.badConfiguration, "\(error)")
        }
    }
}

extension ServiceError {
    /// A stream that can't be published as it was configured.
    package init(_ error: PublisherError) {
        self.init(.badConfiguration, error.message)
    }
}

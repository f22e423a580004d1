import Messages
package import PublisherCore
package import SampleSources
package import SensorReaders
package import ServiceKit
package import SystemPackage

/// The settings of a sensor publisher besides `ServiceSettings`: options, and "streams" in the configuration file.
package struct PublisherSettings: SettingGroup {
    /// The stream of a publisher with only one.
    let stream = StreamSettings()

    @Setting("Keep samples for replay this long.")
    package var retention = TimeSpan.seconds(600)

    @Setting("Keep at most this many bytes for replay.", valueName: "size")
    package var retentionBytes = ByteCount(bytes: 256_000_000)

    @Setting(
        "Queue at most this many messages for each subscriber.", name: "high-water-mark", valueName: "count",
        default: "1000, or 10 per stream; 10000 with listen-http, udp or mqtt", accepting: { $0 > 0 },
        otherwise: "1 or more")
    private var givenHighWaterMark: Int?

    @Setting(
        "Announce this address for replay requests: a host, or tcp://HOST:PORT.", name: "announce", valueName: "host",
        default: "this machine's address", isCheckedEarly: false)
    package var announcement: Announcement?

    @Setting("Do not start streams until a request starts them.", name: "start-stopped")
    package var startsStopped = false

    @Setting(
        "Take samples that phones and other devices push over HTTP at this address; a bare port number binds to the loopback "
            + "interface.",
        name: "listen-http", valueName: "[host:]port", default: "nowhere")
    package var listenHTTP: HTTPAddress?

    @Setting(
        "Use TLS and require a token from devices, with the certificate and token in this directory; missing ones are made.",
        name: "http-identity", valueName: "dir")
    package var httpIdentity: FilePath?

    @Setting(
        "Take samples that devices send in UDP datagrams at this address, as SensaGram and HyperIMU do; a bare port number binds to "
            + "the loopback interface.",
        valueName: "[host:]port", default: "nowhere")
    package var udp: HTTPAddress?

    package let mqttSettings = MQTTSettings()

    @Setting(
        "Ask this recorder which sessions are running, for devices that push.", valueName: "endpoint",
        default: "this machine's")
    package var recorder: Endpoint?

    @Setting(
        "Subscribe to this recorder, for devices that push.", valueName: "endpoint", default: "this machine's")
    package var recorderEvents: Endpoint?

    @Setting(
        "The platform of phones with Sensor Logger: ios, android, or standardised by the app.", valueName: "platform",
        default: "unknown")
    package var phonePlatform: PhonePlatform?

    /// The phones in the configuration file, by the names that they send.
    package private(set) var phones: [String: Publication.Phone] = [:]

    /// The streams, sorted by name: at least one, unless devices push theirs.
    package private(set) var streams: [StreamConfiguration] = []

    package init() {}

    /// The most messages queued for a subscriber; further ones are dropped. It grows with the streams, because streams that start
    /// together publish together.
    package var highWaterMark: Int {
        givenHighWaterMark ?? max(takesPushes ? 10_000 : 1_000, 10 * streams.count)
    }

    /// Whether devices send samples over the network.
    private var takesPushes: Bool { listenHTTP != nil || udp != nil || mqttSettings.broker != nil }

    /// Opens no source files.
    /// - Throws: `ServiceError`: usage if no source is given at all, otherwise bad configuration.
    package mutating func complete(reading reader: ConfigurationReader) throws(ServiceError) {
        streams = try streams(reading: reader).sorted { ($0.device, $0.stream) < ($1.device, $1.stream) }
        for (index, section) in try reader.sections("phones").enumerated() {
            let phone = try PhoneSettings(reading: section)
            guard let device = phone.device, phones[device] == nil else {
                throw ServiceError(
                    .badConfiguration,
                    "phones[\(index)]: device must be what the phone calls itself, and each phone may be listed once")
            }
            let name = phone.name ?? device
            do {
                try StreamConfiguration.validate(name: name, of: "phones[\(index)]: name")
            } catch {
                throw ServiceError(error)
            }
            guard !phones.values.contains(where: { $0.name == name }) else {
                throw ServiceError(
                    .badConfiguration, "phones[\(index)]: \(name) is the name of another phone; choose another name")
            }
            phones[device] = Publication.Phone(name: name, platform: phone.platform ?? phonePlatform)
        }
        try checkListening()
        try checkDatagrams(reading: reader)
        try mqttSettings.check(reading: reader)
    }

    /// Datagrams are not authenticated.
    private func checkDatagrams(reading reader: ConfigurationReader) throws(ServiceError) {
        guard let udp, !udp.isLocal, try !reader.value(\ServiceSettings.$insecure) else { return }
        throw ServiceError(
            .badConfiguration,
            "udp \(udp) can be reached from other machines, and anybody who reaches it can send false samples: write \(udp.port) for this "
                + "machine alone, or pass --insecure if the network is private")
    }

    private func checkListening() throws(ServiceError) {
        guard let listenHTTP, !listenHTTP.isLocal, httpIdentity == nil else { return }
        throw ServiceError(
            .badConfiguration,
            "listen-http \(listenHTTP) can be reached from other machines, over plain HTTP: pass --http-identity DIR, in "
                + "which a certificate and a token are made, or write \(listenHTTP.port) for this machine alone")
    }

    private func streams(reading reader: ConfigurationReader) throws(ServiceError) -> [StreamConfiguration] {
        let sections = try reader.sections("streams")
        if sections.isEmpty {
            if stream.sources.isEmpty, takesPushes { return [] }
            guard !stream.sources.isEmpty else {
                throw ServiceError(
                    .usage,
                    "no source of samples: give one of --signal SPEC, --points FILE, --replay FILE, --stdin csv|ndjson, "
                        + "--serial PORT, --iio NAME, --lsl QUERY, --listen-http PORT, --udp PORT, --mqtt BROKER, or \"streams\" in a "
                        + "configuration file (--config)"
                )
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
                "the configuration file has \"streams\", so \(given.joined(separator: ", ")) can't be used as well: "
                    + "set it in each stream, or leave the streams out")
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
            if next.isOfLines, hasLive {
                throw ServiceError(
                    .badConfiguration, "\(place): only one stream can read standard input or a serial port")
            }
            hasLive = hasLive || next.isOfLines
            streams.append(next)
        }
        return streams
    }
}

/// A phone in "phones" of the configuration file.
struct PhoneSettings: SettingGroup {
    @Setting("What the phone calls itself: the deviceId of Sensor Logger.")
    var device: String?

    @Setting("Use this device name for its streams.")
    var name: String?

    @Setting("The phone's platform: ios, android, or standardised by the app.")
    var platform: PhonePlatform?
}

extension PhonePlatform: ConfigurationValue {}

extension ServiceError {
    /// The error of a stream that cannot be published as configured.
    package init(_ error: PublisherError) {
        self.init(.badConfiguration, error.message)
    }
}

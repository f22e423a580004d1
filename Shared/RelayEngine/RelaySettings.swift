package import NATS
import RelayCore
package import ServiceKit
import SystemPackage

/// The relay's settings in addition to `ServiceSettings`.
package struct RelaySettings: SettingGroup {
    @Setting(
        "Send streams to this NATS server; may be repeated, for other servers of the same cluster.",
        valueName: "nats://host", default: "none")
    var to: [NATSAddress] = []

    @Setting(
        "Serve streams from this NATS server; may be repeated, for other servers of the same cluster.",
        valueName: "nats://host", default: "none")
    var from: [NATSAddress] = []

    @Setting(
        "Send streams under this site's name, or serve only this site's streams.", valueName: "name",
        default: "this machine's name; all sites with --from")
    private var site: String?

    @Setting(
        "Use this stream of JetStream, which has the subjects holdfast.>; --to makes it if it is missing.",
        valueName: "name")
    var natsStream = "holdfast"

    @Setting(
        "Make the stream with copies on this many servers: 1, 3 or 5.", valueName: "count", accepting: { $0 > 0 },
        otherwise: "1, 3 or 5")
    package var replicas = 3

    @Setting("Make the stream with room for this many bytes; when it is full, it refuses more.", default: "no limit")
    var streamLimit: ByteCount?

    @Setting("Make the stream so that it drops messages older than this.", valueName: "time", default: "never")
    var streamKeep: TimeSpan?

    @Setting(
        "Make the stream so that it recognises repeated messages for this long.", valueName: "time",
        default: "1h, at most --stream-keep", accepting: { $0 >= .seconds(1) }, otherwise: "1s or more")
    var duplicateWindow = TimeSpan.seconds(3_600)

    @Setting(
        "Continue with --from where a relay of this name left off; relays with the same name share the messages.",
        valueName: "name")
    private var consumer: String?

    let nats = NATSUserSettings()
    /// Whether unencrypted connections to other machines are permitted.
    private var insecure = false

    @Setting(listeningTo: .sensorPublisher, "With --to, subscribe to this publisher; may be repeated.")
    var subscribe: [Endpoint]

    /// The disk use can exceed this by one segment of the spool.
    @Setting(
        "With --to, keep at most this many bytes on disk while the servers are unreachable.",
        accepting: { $0.bytes > 0 },
        otherwise: "1 or more")
    var spoolLimit = ByteCount(bytes: 10_000_000_000)

    @Setting(
        "Commit received samples to disk, and send them, this often.", accepting: { $0 >= .milliseconds(10) },
        otherwise: "10ms or more")
    var commitInterval = TimeSpan.milliseconds(100)

    @Setting("Give up missing samples if a publisher that is heard does not answer for this long.")
    var recoveryLimit = TimeSpan.seconds(10)

    @Setting("Hold at most this many bytes in memory while missing samples are requested.")
    var holdLimit = ByteCount(bytes: 64_000_000)

    @Setting(
        "Carry at most this many streams.", valueName: "count", accepting: { $0 > 0 }, otherwise: "1 or more")
    var maximumStreams = 16_384

    @Setting(
        "Queue at most this many messages from each publisher.", valueName: "count", accepting: { $0 > 0 },
        otherwise: "1 or more")
    var receiveHighWaterMark = 10_000

    package init() {}

    package mutating func complete(reading reader: ConfigurationReader) throws(ServiceError) {
        guard to.isEmpty != from.isEmpty else {
            throw ServiceError(
                .badConfiguration,
                "no direction is given: pass --to nats://HOST at a site, or --from nats://HOST where streams are recorded"
            )
        }
        if let site, site.isEmpty { throw ServiceError(.badConfiguration, "site is empty: give the site a name") }
        guard !natsStream.isEmpty, !natsStream.contains(where: { ".*> \t\n/\\".contains($0) }) else {
            throw ServiceError(
                .badConfiguration,
                "nats-stream '\(natsStream)' is not a stream's name: write one without dots, blanks, *, > and /")
        }
        if let streamKeep, let window = $duplicateWindow.givenValue, window > streamKeep {
            throw ServiceError(
                .badConfiguration,
                "duplicate-window is \(window), and stream-keep is \(streamKeep): write at most \(streamKeep) for "
                    + "duplicate-window")
        }
        insecure = try reader.value(\ServiceSettings.$insecure)
        try nats.check(to + from, insecure: insecure, risk: "read along")
    }

    /// The server addresses, for display.
    var servers: String { (to + from).map(\.description).joined(separator: ", ") }

    /// The site name under which streams are sent.
    var ownSite: String { site ?? HostName.current.flatMap { $0.isEmpty ? nil : $0 } ?? "site" }

    /// The site whose streams are served; nil for all.
    var servedSite: String? { site }

    /// The name of the durable consumer, different for each site.
    var consumerName: String {
        consumer ?? "relay" + (site.map { "-\($0.filter { $0.isLetter || $0.isNumber })" } ?? "")
    }

    func connection() throws(ServiceError) -> NATSSettings {
        var settings = NATSSettings(
            servers: (to + from).map(\.description), name: "holdfast relay\(to.isEmpty ? "" : " of \(ownSite)")")
        try nats.fill(&settings, insecure: insecure)
        return settings
    }

    var stream: NATSStreamSettings {
        NATSStreamSettings(
            name: natsStream, subjects: ["\(RelaySubject.root).>"], replicas: replicas,
            maximumBytes: streamLimit.map { Int64($0.bytes) }, maximumAge: streamKeep?.nanoseconds,
            duplicateWindow: min(duplicateWindow, streamKeep ?? duplicateWindow).nanoseconds)
    }
}

/// How a relay authenticates to NATS, and verifies the servers.
package struct NATSUserSettings: SettingGroup {
    package static let title = "NATS"

    @Setting("Log in to NATS as this user.", name: "nats-user", valueName: "name", default: "none")
    private var user: String?

    @Setting(
        "Read the password for NATS from this file, which others must not be able to read.", name: "nats-password-file",
        valueName: "file", default: "no password")
    private var passwordFile: FilePath?

    @Setting(
        "Log in to NATS with the JWT and the seed in this file, as nsc writes them.",
        name: "nats-credentials",
        valueName: "file", default: "none")
    private var credentials: FilePath?

    @Setting("Log in to NATS as the user with this public NKEY.", name: "nats-nkey", valueName: "key", default: "none")
    private var nkey: String?

    @Setting("Prove the NKEY with the seed in this file.", name: "nats-seed", valueName: "file", default: "none")
    private var seed: FilePath?

    @Setting(
        "Use TLS with NATS, and trust the certificate authorities in this file.", name: "nats-ca",
        valueName: "file", default: "those of this machine")
    private var authorities: FilePath?

    @Setting("Present this certificate to NATS.", name: "nats-certificate", valueName: "file", default: "none")
    private var certificate: FilePath?

    @Setting("The certificate's private key.", name: "nats-key", valueName: "file", default: "none")
    private var key: FilePath?

    package init() {}

    /// Rejects settings that cannot work, and unencrypted connections that others could read or change.
    /// - Parameters:
    ///   - insecure: whether unencrypted connections to other machines are permitted.
    ///   - risk: what an attacker could do, for the error message.
    package func check(_ servers: [NATSAddress], insecure: Bool, risk: String) throws(ServiceError) {
        if authorities == nil, let plain = servers.first(where: { !$0.isSecure }) {
            if let secure = servers.first(where: { $0.isSecure }) {
                throw ServiceError(
                    .badConfiguration,
                    "\(secure) uses TLS, and \(plain) does not: write tls:// for all servers of the cluster")
            }
            if !insecure, let server = servers.first(where: { !$0.isLocal }) {
                throw ServiceError(
                    .badConfiguration,
                    "\(server) is on another machine, and anybody on the way could \(risk): write tls://, or pass "
                        + "--insecure if the network is private")
            }
        }
        let pairs: [(String, Bool, String, Bool)] = [
            ("nats-password-file", passwordFile != nil, "nats-user", user != nil),
            ("nats-nkey", nkey != nil, "nats-seed", seed != nil), ("nats-seed", seed != nil, "nats-nkey", nkey != nil),
            ("nats-certificate", certificate != nil, "nats-key", key != nil),
            ("nats-key", key != nil, "nats-certificate", certificate != nil),
        ]
        for (one, isOne, other, isOther) in pairs where isOne && !isOther {
            throw ServiceError(.badConfiguration, "\(one) needs \(other)")
        }
        _ = try password()
    }

    /// Adds the relay's credentials to the settings of a connection.
    /// - Parameter insecure: whether unencrypted connections to other machines are permitted.
    /// - Throws: `ServiceError` if the password cannot be read.
    package func fill(_ settings: inout NATSSettings, insecure: Bool) throws(ServiceError) {
        settings.user = user
        settings.password = try password()
        settings.credentials = credentials?.string
        if let nkey, let seed { settings.nkey = (nkey, seed.string) }
        settings.authorities = authorities?.string
        settings.certificate = certificate?.string
        settings.key = key?.string
        settings.usesListedServers = insecure || settings.isEncrypted
    }

    private func password() throws(ServiceError) -> String? {
        try passwordFile.map { (file) throws(ServiceError) in
            try SmallFile.password(in: file, option: "nats-password-file")
        }
    }
}

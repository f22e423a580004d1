package import ServiceKit
package import SystemPackage

/// The broker whose messages a publisher takes, and how it is spoken to.
package struct MQTTSettings: SettingGroup {
    /// What a broker may be asked for as a topic, in bytes: MQTT 3.1.1, 1.5.3.
    private static let longestTopic = 65_535

    @Setting(
        "Take samples that devices send to this MQTT broker; mqtts:// for TLS.", name: "mqtt",
        valueName: "mqtt[s]://host",
        default: "none", isCheckedEarly: false)
    package var broker: MQTTBroker?

    @Setting(
        "Subscribe to this topic of the MQTT broker, which may have + and #; may be repeated.", name: "topic",
        valueName: "topic")
    package var topics = ["sensor-logger"]

    @Setting(
        "Trust the authorities in this file to have certified the MQTT broker.", name: "mqtt-ca", valueName: "file",
        default: "those of this machine")
    package var authorities: FilePath?

    @Setting("Be this user of the MQTT broker.", name: "mqtt-user", valueName: "name", default: "none")
    package var user: String?

    @Setting(
        "Read the password for the MQTT broker from this file, which others must not be able to read.",
        name: "mqtt-password-file", valueName: "file", default: "no password")
    package var passwordFile: FilePath?

    @Setting(
        "Be this client of the MQTT broker, which keeps messages for it while it is away; %h stands for this machine's name. Each "
            + "publisher needs another one.", name: "mqtt-client-id", valueName: "name")
    package var clientID = "holdfast-%h"

    package init() {}

    /// Refuses what can't work, and what others on the network could read along.
    /// - Throws: `ServiceError` (bad configuration).
    package func check(reading reader: ConfigurationReader) throws(ServiceError) {
        guard let broker else {
            // Without the broker nothing arrives, and no message would say why.
            guard let given = members.first(where: { $0.member.isGiven }) else { return }
            throw ServiceError(.badConfiguration, "\(given.name) is for an MQTT broker: say which one with mqtt")
        }
        if !broker.isLocal, !broker.isSecure, try !reader.value(\ServiceSettings.$insecure) {
            throw ServiceError(
                .badConfiguration,
                "mqtt \(broker) is on another machine, and everybody on the way could read along: write mqtts://, or pass "
                    + "--insecure if the network is private")
        }
        if authorities != nil, !broker.isSecure {
            throw ServiceError(.badConfiguration, "mqtt-ca is for TLS: write mqtts://\(broker.host)")
        }
        if passwordFile != nil, user == nil {
            throw ServiceError(.badConfiguration, "mqtt-password-file needs mqtt-user: a broker asks for both")
        }
        for topic in topics where topic.isEmpty || topic.utf8.count > Self.longestTopic || topic.contains("\0") {
            throw ServiceError(.badConfiguration, "topic: \"\(topic.prefix(80))\" is not a topic")
        }
        do throws(MQTTFailure) {
            _ = try password()
        } catch {
            throw ServiceError(.badConfiguration, "\(error)")
        }
    }

    /// The password; nil without one. The file is read anew for each connection.
    /// - Throws: `MQTTFailure` that names the file, and nothing that is in it.
    func password() throws(MQTTFailure) -> String? {
        guard let passwordFile else { return nil }
        do throws(ServiceError) {
            return try SmallFile.password(in: passwordFile, option: "mqtt-password-file")
        } catch {
            throw MQTTFailure("\(error)")
        }
    }
}

/// Why there is no connection to a broker, in words for the person who has to fix it.
package struct MQTTFailure: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

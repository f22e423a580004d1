package import ServiceKit
package import SystemPackage

/// The broker whose messages a publisher takes, and the settings of the connection.
package struct MQTTSettings: SettingGroup {
    /// The longest topic, in bytes: MQTT 3.1.1, 1.5.3.
    private static let longestTopic = 65_535

    @Setting(
        "Receive samples that devices send to this MQTT broker; mqtts:// for TLS.", name: "mqtt",
        valueName: "mqtt[s]://host",
        default: "none", isCheckedEarly: false)
    package var broker: MQTTBroker?

    @Setting(
        "Subscribe to this topic of the MQTT broker, which may contain + and #; may be repeated.", name: "topic",
        valueName: "topic")
    package var topics = ["sensor-logger"]

    @Setting(
        "Trust the certificate authorities in this file for the MQTT broker.", name: "mqtt-ca", valueName: "file",
        default: "those of this machine")
    package var authorities: FilePath?

    @Setting("Log in to the MQTT broker as this user.", name: "mqtt-user", valueName: "name", default: "none")
    package var user: String?

    @Setting(
        "Read the password for the MQTT broker from this file, which others must not be able to read.",
        name: "mqtt-password-file", valueName: "file", default: "no password")
    package var passwordFile: FilePath?

    @Setting(
        "Connect to the MQTT broker as this client; the broker keeps its messages while it is disconnected. %h stands for this "
            + "machine's name. Each publisher needs a different client.", name: "mqtt-client-id", valueName: "name")
    package var clientID = "holdfast-%h"

    package init() {}

    /// Refuses settings that cannot work, and connections that others on the network could read.
    /// - Throws: `ServiceError` (bad configuration).
    package func check(reading reader: ConfigurationReader) throws(ServiceError) {
        guard let broker else {
            // Without a broker no samples arrive, and no message would explain it.
            guard let given = members.first(where: { $0.member.isGiven }) else { return }
            throw ServiceError(.badConfiguration, "\(given.name) is for an MQTT broker: name the broker with mqtt")
        }
        if !broker.isLocal, !broker.isSecure, try !reader.value(\ServiceSettings.$insecure) {
            throw ServiceError(
                .badConfiguration,
                "mqtt \(broker) is on another machine, and anybody on the way could read along: write mqtts://, or pass "
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

    /// The password; nil without one. The file is read again for each connection.
    /// - Throws: `MQTTFailure`, which names the file but never its contents.
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

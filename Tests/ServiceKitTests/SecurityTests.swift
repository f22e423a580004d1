import Messages
import ServiceKit
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Which connections are encrypted, with keys and without.
@Suite struct SecurityTests {
    private static let near = ["tcp://127.0.0.1:5550", "ipc:///x", "inproc://x"]
    private static let far = ["tcp://192.168.1.7:5550", "tcp://recorder:5550"]

    @Test func withoutKeysOnlyThisMachineIsSpokenWith() throws {
        let security = try Self.security([:])
        for text in Self.near {
            try security.require(Endpoint(typed: text), listeningFor: "publish")
            #expect(try security.connecting(to: .recorder, at: [Endpoint(typed: text)]) == .plain)
        }
        for text in Self.far {
            let endpoint = try Endpoint(typed: text)
            let listening = #expect(throws: ServiceError.self) {
                try security.require(endpoint, listeningFor: "publish")
            }
            #expect(listening?.status == .badConfiguration)
            let connecting = #expect(throws: ServiceError.self) {
                try security.connecting(to: .recorder, at: [endpoint])
            }
            #expect(connecting?.message.contains("--insecure") == true)
        }
    }

    @Test func insecureAllowsEverything() throws {
        let security = try Self.security(["insecure": "true"])
        for text in Self.near + Self.far {
            try security.require(Endpoint(typed: text), listeningFor: "publish")
            #expect(try security.connecting(to: .recorder, at: [Endpoint(typed: text)]) == .plain)
        }
    }

    @Test func withKeysEverythingIsEncryptedButWhatStaysInTheProcess() throws {
        try Self.withKeys { keys in
            for flags in [["keys": keys.path.string], ["keys": keys.path.string, "insecure": "true"]] {
                let security = try Self.security(flags)
                let own = try keys.pair(of: "recorder")
                let server = try keys.publicKey(of: "sensor-publisher")
                for text in Self.near + Self.far {
                    let endpoint = try Endpoint(typed: text)
                    try security.require(endpoint, listeningFor: "publish")
                    #expect(
                        try security.connecting(to: .sensorPublisher, at: [endpoint])
                            == (text.hasPrefix("inproc") ? .plain : .client(own, server: server)))
                }
            }
        }
    }

    @Test func aProgramWhoseKeyIsMissingIsNotSpokenWith() throws {
        try Self.withKeys { keys in
            let security = try Self.security(["keys": keys.path.string])
            let error = #expect(throws: ServiceError.self) {
                try security.connecting(to: .logManager, at: [Program.logManager.defaultReply])
            }
            #expect(error?.message.contains("log-manager.key") == true)
        }
    }

    @Test func aSubcommandShowsTheKeyThatIsNamed() throws {
        try Self.withKeys { keys in
            _ = try keys.make("alice", role: .listen)
            let reader = try Self.reader(["keys": keys.path.string, "client-key": "alice"])
            let security = try Security(askingWith: reader, as: .recorder)
            #expect(
                try security.connecting(to: .recorder, at: [Program.recorder.defaultReply])
                    == .client(keys.pair(of: "alice"), server: keys.publicKey(of: "recorder")))
        }
    }

    private struct Peers: SettingGroup {
        @Setting(listeningTo: .recorder, "Listen to this recorder.") var subscribe: [Endpoint]
        @Setting(asking: .logManager, "Ask this log-manager.") var logManager: Endpoint
    }

    @Test func settingsSayWhoIsFarAwayBeforeAnythingStarts() throws {
        let reader = try Self.reader(["subscribe": "tcp://far:1", "log-manager": "tcp://far:2"])
        #expect(throws: ServiceError.self) { try reader.value(\Peers.$subscribe) }
        #expect(throws: ServiceError.self) { try reader.value(\Peers.$logManager) }
        let allowing = try Self.reader(["subscribe": "tcp://far:1", "log-manager": "tcp://far:2", "insecure": "true"])
        #expect(try allowing.value(\Peers.$subscribe).count == 1)
        #expect(try allowing.value(\Peers.$logManager).host == "far")
        let nobody = try Self.reader([:])
        #expect(try nobody.value(\Peers.$subscribe) == [Program.recorder.defaultPublish])
        #expect(try nobody.value(\Peers.$logManager) == Program.logManager.defaultReply)
    }

    private static func reader(_ flags: [String: String]) throws -> ConfigurationReader {
        var values = FlagValues()
        for (key, value) in flags { values.set(key, value) }
        return try ConfigurationReader(for: .recorder, flags: values, environment: [:])
    }

    private static func security(_ flags: [String: String]) throws -> Security {
        try Security(of: .recorder, reading: reader(flags))
    }

    private static func withKeys(_ body: (KeyDirectory) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            let keys = KeyDirectory(directory.appending("keys"))
            try keys.create()
            for program in [Program.recorder, .sensorPublisher] {
                _ = try keys.make(program.rawValue, role: program.role)
            }
            try body(keys)
        }
    }
}

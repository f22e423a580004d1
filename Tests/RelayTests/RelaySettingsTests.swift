import NATS
import ServiceKit
import Testing

@testable import RelayEngine

/// Combinations of a relay's settings.
@Suite(.timeLimit(.minutes(1)))
struct RelaySettingsTests {
    private func settings(
        _ options: [String: String] = [:], to servers: [String] = ["nats://127.0.0.1"]
    ) throws -> RelaySettings {
        var flags = FlagValues()
        flags.set("to", all: servers)
        for (name, value) in options { flags.set(name, value) }
        return try RelaySettings(
            reading: ConfigurationReader(for: .relay, flags: flags, environment: [:]))
    }

    /// Servers refuse to create a stream whose duplicate window is longer.
    @Test(
        arguments: [
            ([:], 3_600), (["stream-keep": "7d"], 3_600), (["stream-keep": "30m"], 1_800),
            (["stream-keep": "30m", "duplicate-window": "10m"], 600),
            (["stream-keep": "30m", "duplicate-window": "30m"], 1_800),
        ] as [([String: String], Int64)])
    func messagesAreRecognisedNoLongerThanTheyAreKept(options: [String: String], seconds: Int64) throws {
        #expect(try settings(options).stream.duplicateWindow == seconds * 1_000_000_000)
    }

    @Test func aDuplicateWindowThatIsLongerThanTheStreamIsRefused() {
        let error = #expect(throws: ServiceError.self) {
            try settings(["stream-keep": "30m", "duplicate-window": "2h"])
        }
        #expect(error?.message.contains("at most 30m") == true)
    }

    /// A connection uses TLS with all servers or with none.
    @Test func serversWithAndWithoutTLSAreRefused() {
        let error = #expect(throws: ServiceError.self) { try settings(to: ["tls://n1", "nats://127.0.0.1"]) }
        #expect(error?.message.contains("write tls:// for all servers") == true)
    }

    /// A server lists the others of its cluster, which may be on other machines.
    @Test func serversThatAServerListsAreUsedWithTLSOrIfThatIsPermitted() throws {
        #expect(try !settings().connection().usesListedServers)
        #expect(try settings(["insecure": "true"]).connection().usesListedServers)
        #expect(try settings(to: ["tls://n1"]).connection().usesListedServers)
    }
}

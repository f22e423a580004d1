import Messages
import ServiceKit
import StepCounterCore
import StepCounterEngine
import StepDetection
import TestSupport
import Testing

/// Settings of single devices in a configuration file.
@Suite
struct SettingsTests {
    private func settings(_ json: String) throws -> StepCounterSettings {
        try withFile("holdfast.json", json) { path in
            var flags = FlagValues()
            flags.set("config", path)
            let reader = try ConfigurationReader(for: .stepCounter, flags: flags, environment: [:])
            let settings = try StepCounterSettings(reading: reader)
            try reader.finish()
            return settings
        }
    }

    @Test func aDeviceHasItsOwnSettingsOrThoseOfAll() throws {
        let settings = try settings(
            """
            {"step-counter": {"hold-limit": "5kB", "maximum-devices": 3, "keep": "1h", "placement": "phone", "stride-length": 1.4, "devices": [
                {"device": "watch", "placement": "wrist"}, {"device": "tall", "stride-length": 1.7, "unit": "g"}]}}
            """)
        #expect(
            settings.counting.device("watch").placement == .wrist
                && settings.counting.device("watch").strideLength == 1.4)
        #expect(
            settings.counting.device("tall").placement == .phone && settings.counting.device("tall").strideLength == 1.7
        )
        #expect(settings.counting.device("tall").unit == .g && settings.counting.device("other").unit == nil)
        #expect(settings.counting.holdLimit == 5_000 && settings.counting.maximumDevices == 3)
        #expect(settings.counting.keep == 3_600_000_000_000 && settings.counting.streams == ["accelerometer"])
        #expect(settings.counting.detector(of: "watch", unit: .metresPerSecondSquared).placement == .wrist)
    }

    @Test(arguments: [
        #"{"devices": [{"placement": "wrist"}]}"#, #"{"devices": [{"device": "a", "placement": "knee"}]}"#,
        #"{"devices": [{"device": "a", "colour": "red"}]}"#, #"{"strictness": "very"}"#,
    ])
    func mistakesAreRefused(json: String) {
        #expect(throws: ServiceError.self) { try settings(json) }
    }
}

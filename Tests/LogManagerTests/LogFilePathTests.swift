import Recording
import TestSupport
import Testing

@testable import LogManagerCore

struct LogFilePathTests {
    @Test(arguments: [
        "recordings/s1/phone_gyro-20261120235301.json",
        "recordings/20261121T025501Z-3f9a/left-wrist_accelerometer-20261120235301-01.csv",
        "recordings/..s/a-b-20261120235301-100.tsv",
        "recordings/s/grön-20261120235301.json",
    ])
    func aPathIsReadAndWrittenAsItIs(text: String) throws {
        #expect(try LogFilePath(text).description == text)
    }

    @Test(arguments: [
        "", "/", ".", "..", "recordings", "recordings/", "recordings/s1", "recordings/s1/",
        "/recordings/s1/phone_gyro-20261120235301.json",
        "./recordings/s1/phone_gyro-20261120235301.json",
        "recordings//s1/phone_gyro-20261120235301.json",
        "recordings/./phone_gyro-20261120235301.json",
        "recordings/../phone_gyro-20261120235301.json",
        "recordings/s1/../phone_gyro-20261120235301.json",
        "recordings/s1/../../recordings/s1/phone_gyro-20261120235301.json",
        "recordings/s1/phone_gyro-20261120235301.json/",
        "recordings/s1/phone_gyro-20261120235301.json\0",
        "Recordings/s1/phone_gyro-20261120235301.json",
        "archives/s1/phone_gyro-20261120235301.json",
        "recordings/s 1/phone_gyro-20261120235301.json",
        "recordings/s1/phone_gyro.json", "recordings/s1/session.json", "recordings/s1/session-20261120235301.json",
        "recordings/s1/phone_gyro-2026112023530.json", "recordings/s1/phone_gyro-20261120235301.txt",
        "recordings/s1/phone_gyro-20261120235301-1.json", "recordings/s1/phone_gyro-20261120235301-00.json",
        "recordings/s1/phone_gyro-20261120235301-001.json", "recordings/s1/phone_gyro-20261120235301-.json",
        "recordings/s1/-20261120235301.json", "recordings/s1/20261120235301.json",
        "recordings/s1/.phone-20261120235301.json", "recordings/s1/phone gyro-20261120235301.json",
        "recordings/s1/a-20261120235301-20261120235302.json",
    ])
    func anythingElseIsRefused(text: String) {
        #expect(throws: Refusal.self) { try LogFilePath(text) }
    }

    /// A name that is read without knowing its log has one of the meanings that it has with a known log.
    @Test func namesAreReadAsRecordingWritesThem() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix(seed: seed)
        for _ in 0..<2000 {
            let parts = ["-", "a", "b-c", "20261120235301", "-01", "-99", "-100", ".json", ".csv", "_", "7", "."]
            let text = (0..<Int.random(in: 2...6, using: &random)).map { _ in
                parts.randomElement(using: &random) ?? ""
            }.joined()
            let cuts = text.indices.filter { text[$0] == "-" }
            let readings = cuts.compactMap { cut in
                LogName(existing: String(text[..<cut])).flatMap { FinishedName(text, of: $0) }
            }
            let name = FinishedName(fileName: text.utf8)
            if let name { #expect(readings.contains(name), "seed \(seed)") }
            // An unambiguous name has its only meaning.
            if readings.count == 1, let only = readings.first, only.count < 1_000_000_000 {
                let front = only.log.text.split(separator: "-", omittingEmptySubsequences: false).last ?? ""
                let isStamp = only.log.text.contains("-") && front.count == 14 && front.allSatisfy(\.isNumber)
                #expect(name == only || isStamp, "\(text), seed \(seed)")
            }
        }
    }

    @Test func namesOfTwoReadingsAreNone() {
        #expect(FinishedName(fileName: "a-20261120235301-20261120235302.json".utf8) == nil)
        #expect(FinishedName(fileName: "a-20261120235301-20261120235302-01.json".utf8) == nil)
        #expect(FinishedName(fileName: [0xFF, 0x2D] + "20261120235301.json".utf8) == nil)
    }
}

import Messages
import Recording
import Testing

@testable import LogManagerCore

@Suite struct LogRulesTests {
    @Test(arguments: [
        ("left-*", "left-wrist_gyro", true), ("left-*", "left-", true), ("left-*", "right-wrist_gyro", false),
        ("*_gyro", "left-wrist_gyro", true), ("*_gyro", "left-wrist_gyro2", false), ("*", "x", true),
        ("l*t*_g*o", "left-wrist_gyro", true), ("l*t*_g*a", "left-wrist_gyro", false), ("**", "x", true),
        ("left", "left", true), ("left", "left-wrist", false), ("a*a", "a", false), ("a*ab", "aaab", true),
    ])
    func aStarStandsForAnyCharacters(pattern: String, name: String, isMatch: Bool) throws {
        #expect(try #require(LogPattern(pattern)).matches(LogName(name)) == isMatch)
    }

    @Test(arguments: [
        "", "a b*", "../*", "a/b", "session", "Metadata", "*********", "phone_gyro-20261120235301", "a.json", "a\n*",
        String(repeating: "x", count: 207),
    ])
    func whatNoLogCanBeCalledIsNoPattern(text: String) { #expect(LogPattern(text) == nil) }

    /// The order in which rules were added makes no difference.
    @Test func theMostExactRuleCounts() throws {
        let names = ["*", "left-*", "left-wrist_*", "*_gyro", "left-wrist_gyro"]
        for order in [names, names.reversed()] {
            var rules = LogRules()
            for name in order {
                rules.set(
                    LogConfiguration(name: name, maximumFileSize: name.utf8.count), for: try #require(LogPattern(name)))
            }
            #expect(rules.configuration(of: LogName("left-wrist_gyro"))?.maximumFileSize == 15)
            #expect(rules.configuration(of: LogName("left-wrist_accelerometer"))?.maximumFileSize == 12)
            #expect(rules.configuration(of: LogName("left-ankle_gyro"))?.maximumFileSize == 6)
            #expect(rules.configuration(of: LogName("phone_gps"))?.maximumFileSize == 1)
            #expect(rules.configuration(of: LogName("left-ankle_gyro"))?.name == "left-ankle_gyro")
            rules.remove(try #require(LogPattern("*")))
            #expect(rules.configuration(of: LogName("phone_gps")) == nil)
            #expect(rules.logNames == ["left-wrist_gyro"])
            #expect(rules.patternNames == ["*_gyro", "left-*", "left-wrist_*"])
        }
    }
}

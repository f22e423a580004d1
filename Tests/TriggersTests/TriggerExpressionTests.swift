import Messages
import Recording
import ServiceKit
import Testing
import Triggers

/// Expressions that a person may write after `--when`.
@Suite struct TriggerExpressionTests {
    @Test func aMagnitudeHasAUnit() throws {
        let expression = try TriggerExpression(typed: "left-wrist/accelerometer |a| > 3g")
        #expect(
            expression.subject
                == .samples(of: "left-wrist/accelerometer", .magnitude([]), .greater, .number(3, unit: "g"), lasting: 0)
        )
        #expect(expression.pattern == "left-wrist/accelerometer")
        #expect("\(expression)" == "left-wrist/accelerometer |a| > 3g")
    }

    @Test func spacesAreFree() throws {
        let expression = try TriggerExpression(typed: "  left-wrist/  |rx, ry|>=2.5 m/s2   for 200ms ")
        #expect(
            expression.subject
                == .samples(
                    of: "left-wrist/", .magnitude(["rx", "ry"]), .atLeast, .number(2.5, unit: "m/s2"),
                    lasting: 200_000_000))
    }

    @Test func aFieldIsANumberOrAText() throws {
        #expect(
            try TriggerExpression(typed: "phone/barometer pressure < -9hPa").subject
                == .samples(of: "phone/barometer", .field("pressure"), .less, .number(-9, unit: "hPa"), lasting: 0))
        #expect(
            try TriggerExpression(typed: "phone/events label = \"a fall\" for 1s").subject
                == .samples(
                    of: "phone/events", .field("label"), .equal, .text("a fall"), lasting: 1_000_000_000))
        #expect(
            try TriggerExpression(typed: "* x<=5 for 2s").subject
                == .samples(of: "*", .field("x"), .atMost, .number(5, unit: nil), lasting: 2_000_000_000))
    }

    @Test func aRateASilenceAndAThresholdAreKnown() throws {
        #expect(
            try TriggerExpression(typed: "left-wrist/accelerometer rate < 80Hz").subject
                == .samples(of: "left-wrist/accelerometer", .rate, .less, .number(80, unit: "Hz"), lasting: 0))
        #expect(
            try TriggerExpression(typed: "left-wrist/ silent 5s").subject == .silence(of: "left-wrist/", 5_000_000_000))
        #expect(try TriggerExpression(typed: "threshold").subject == .threshold(nil, of: nil))
        #expect(
            try TriggerExpression(typed: "threshold totalBytes of left-*").subject
                == .threshold("totalBytes", of: LogPattern("left-*")))
    }

    @Test(arguments: [
        ("", "names no stream"), ("left-wrist |a| > 3g", "names no stream"), ("a/b/c x > 1", "names no stream"),
        ("a/b", "the condition is missing"), ("a/b |a", "a magnitude"), ("a/b || > 3", "a magnitude"),
        ("a/b |x,,y| > 3", "a magnitude"),
        ("a/b x", "is not a comparison"), ("a/b x ~ 3", "is not a comparison"), ("a/b x > g", "begin with a number"),
        ("a/b x > 3g soon", "not expected here"), ("a/b x > 3 for", "not expected here"),
        ("a/b x > 3 for 0s", "is not a time"),
        ("a/b silent soon", "not a duration"), ("a/b silent 5s 6s", "not expected here"), ("a/b rate < 80g", "in Hz"),
        ("a/b |a| = \"x\"", "with a field"), ("a/b x > \"x\"", "with a field"), ("a/b x = \"x", "no closing quote"),
        ("threshold bytes", "is not a threshold"), ("threshold of", "is not a threshold"),
        ("threshold of a/b", "names no log"), ("a/b > 3", "a field is missing"),
    ])
    func whatIsWrongIsSaid(text: String, reason: String) {
        do {
            _ = try TriggerExpression(typed: text)
            Issue.record("\(text) was read")
        } catch {
            #expect(error.description.hasPrefix("'\(text)' is not a trigger: "))
            #expect(error.description.contains(reason), "\(error)")
        }
    }
}

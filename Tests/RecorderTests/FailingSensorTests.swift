import Messages
import Recording
import ServiceKit
import TestSupport
import Testing
import ZeroMQ

/// Sensors that fail while they are recorded: the session is not whole, and events and the report include the failure.
@Suite(.timeLimit(.minutes(1)))
struct FailingSensorTests {
    @Test func aSourceThatFailsIsAFailureOfTheSession() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            try publisher.describe()
            try publisher.describe {
                $0.state = .failed
                $0.reason = "the pipe closed"
            }
            let event = try await recorder.events.recording(.failure)
            #expect(event.stream == publisher.name)
            #expect(event.status == "running")
            let sentence = try #require(event.reason)
            #expect(sentence.hasPrefix("phone/accelerometer failed at ") && sentence.hasSuffix(" s: the pipe closed"))
            #expect(try await recorder.status().failures == [sentence])
            // The failure is published each second and noted once.
            try publisher.describe { $0.state = .failed }
            let report = try await recorder.stop().report
            #expect(report.failures == [sentence])
            #expect(!report.isWhole)
            #expect(report.status == "finished")
            #expect(recorder.outcome() == .doneWithLoss)
            #expect(try await recorder.status().failures == [sentence])
            #expect(try recorder.directory().verify().verdict == .loss)
        }
    }

    @Test func aSourceThatFailsJustBeforeTheStopIsAFailureToo() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            // The loss before it shows the test that the failure was processed.
            try publisher.sample(3, isLost: true)
            try publisher.describe { $0.state = .failed }
            try await recorder.hasAll(of: publisher)
            #expect(try await recorder.stop().report.failures.count == 1)
        }
    }

    @Test func aSourceThatEndsIsNone() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            try publisher.sample(3, isLost: true)
            try publisher.describe { $0.state = .ended }
            try await recorder.hasAll(of: publisher)
            try await Task.sleep(for: .seconds(1.5))
            #expect(try await recorder.status().failures == nil)
            #expect(try await recorder.stop().report.isWhole)
            #expect(recorder.outcome() == .done)
        }
    }

    @Test func aStreamThatFallsSilentIsAFailure() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            let last = Double(MonotonicClock.now) / 1e9
            // A fixed rate, because a measured one would depend on this machine's load.
            try publisher.describe {
                $0.rate = 100
                $0.lastSample = last
            }
            // The description of six seconds later.
            try publisher.describe {
                $0.rate = 100
                $0.lastSample = last
                $0.clock.uptime += 6
            }
            let event = try await recorder.events.recording(.failure)
            #expect(event.reason?.contains(" fell silent at ") == true)
            let report = try await recorder.stop().report
            #expect(!report.isWhole)
        }
    }
}

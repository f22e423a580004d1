import MessageBus
import Messages
import ServiceKit
import TestSupport
import Testing
import ZeroMQ

/// A recorder that is behind reports it and postpones recoveries.
@Suite(.timeLimit(.minutes(1)))
struct BehindTests {
    @Test func batchesThatAreOldWhenTheyAreTakenAreReported() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            #expect(await recorder.metric("behind_seconds") ?? .nan < 1)
            for _ in 0..<30 {
                try publisher.sample(late: .seconds(5))
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(await recorder.metric("behind_seconds") ?? .nan > 2)
            try await eventually("health to tell of it") {
                try publisher.sample(late: .seconds(5))
                return recorder.health.reply.reasons.contains {
                    $0.contains("s behind its publishers")
                }
            }
            // Recoveries are postponed, but not forever, and not once nothing arrives any more.
            let asked = publisher.replaysAsked
            try publisher.sample(3, isLost: true)
            try publisher.describe()
            try await Task.sleep(for: .milliseconds(200))
            #expect(publisher.replaysAsked == asked)
            try await recorder.hasAll(of: publisher)
            try await eventually("health to be well") { recorder.health.reply.reasons.isEmpty }
            #expect(try await recorder.stop().report.isWhole)
        }
    }

    @Test func theEndOfTheSessionEndsTheWait() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            for _ in 0..<30 {
                try publisher.sample(late: .seconds(9))
                try await Task.sleep(for: .milliseconds(50))
            }
            try publisher.sample(3, isLost: true)
            try publisher.sample(late: .seconds(9))
            #expect(try await recorder.stop().report.isWhole)
        }
    }

    @Test func whatIsMissingHasAnAgeAndATimeLeft() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            #expect(await recorder.metric("recovery_lag_seconds") == 0)
            #expect(await recorder.metric("retention_left_seconds") == nil)
            let gate = publisher.gateReplays()
            try publisher.sample(3, isLost: true)
            try publisher.describe { $0.retention = 90 }
            try await eventually("the age of what is missing") {
                await recorder.metric("recovery_lag_seconds") ?? 0 > 0
            }
            let left = try #require(await recorder.metric("retention_left_seconds"))
            #expect(left < 90 && left > 30)
            try publisher.describe {
                $0.retention = 90
                $0.clock.uptime += 70
            }
            try await eventually("health to tell of it") {
                recorder.health.reply.reasons.contains {
                    $0.contains("keeps samples that are missing")
                }
            }
            gate.open()
            try await recorder.hasAll(of: publisher)
            try await eventually("health to be well") { recorder.health.reply.reasons.isEmpty }
            #expect(await recorder.metric("recovery_lag_seconds") == 0)
            #expect(await recorder.metric("retention_left_seconds") == nil)
        }
    }
}

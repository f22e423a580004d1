import Logging
import MessageBus
import Messages
import Metrics
import ServiceKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)))
struct HealthTests {
    private let health = Health { .milliseconds(1500) }

    @Test func aProgramWithoutReportsIsWell() {
        #expect(health.reply == ServiceHealth.Reply(status: .ok, reasons: [], uptime: 1.5, version: Version.current))
    }

    @Test func theWorstReportDecidesAndComesFirst() {
        health.report(.degraded, "the publisher is away", for: "publisher")
        health.report(.degraded, "the archiver is away", for: "archiver")
        #expect(health.reply.status == .degraded)
        health.report(.failing, "the disk is full", for: "disk")
        #expect(health.reply.status == .failing)
        #expect(health.reply.reasons == ["the disk is full", "the archiver is away", "the publisher is away"])
    }

    @Test func aReportTakenBackIsForgotten() {
        health.report(.failing, "the disk is full", for: "disk")
        health.report(.degraded, "the disk is nearly full", for: "disk")
        #expect(health.reply.reasons == ["the disk is nearly full"])
        health.clear("disk")
        health.clear("disk")
        #expect(health.reply.status == .ok)
    }

    @Test func whatIsNotReportedAgainIsForgottenInItsTime() {
        let uptime = Mutex(Duration.zero)
        let health = Health { uptime.withLock { $0 } }
        health.report(.failing, "the disk is full", for: "disk")
        var malformed = MalformedMessages(
            health: health, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        func note(_ error: String, at second: Int64) {
            uptime.withLock { $0 = .seconds(second) }
            malformed.note(MessageError(.malformed, error), at: second * 1_000_000_000)
        }
        note("no JSON", at: 1)
        // The report's 60 s begin with the last error, even though only the first is named.
        note("another", at: 59)
        uptime.withLock { $0 = .seconds(118) }
        #expect(health.reply.reasons.count == 2)
        #expect(
            health.reply.reasons.last?.contains("1 or more messages could not be read, most recently: no JSON") == true)
        uptime.withLock { $0 = .seconds(119) }
        #expect(health.reply.reasons == ["the disk is full"])
        note("again", at: 200)
        #expect(
            health.reply.reasons.last?.contains("3 or more messages could not be read, most recently: again") == true)
    }

    @Test func measuresAreShown() {
        let lateness = Metric(health: "latenessMaximumSeconds")
        health.measure(lateness, 0.5)
        health.measure(lateness, 0.25)
        #expect(health.reply.measures == ["latenessMaximumSeconds": 0.25])
        #expect(health.page.text.isEmpty, "no metric has its name")
        health.measure(lateness, nil as Double?)
        #expect(health.reply.measures == nil)
    }

    @Test func whatIsCountedIsInHealthAndMetricsByItsNames() {
        let count = Metric(.counter, "holdfast_tests_total", "Tests.", health: "tests")
        let delay = Metric(.histogram, "holdfast_delay_seconds", "Delays.", health: "delay")
        var delays = LatencyHistogram()
        health.observe(count) { 7 }
        health.measure(delay, delays)
        health.measure(Metric(.gauge, "holdfast_hidden", "Hidden."), 1)
        let states = Metric(.gauge, "holdfast_states", "States.", labels: ["state"], health: "states")
        health.measure(states, 1, "idle")
        health.measure(states, 2, "busy")
        health.measure(states, 3, "idle")
        #expect(health.reply.measures == ["tests": 7, "states": 5])
        health.measure(states, nil as Int?)
        #expect(health.reply.measures == ["tests": 7])
        health.measure(states, 3, "idle")
        delays.record(nanoseconds: 2_000_000_000)
        health.measure(delay, delays)
        #expect(
            health.reply.measures == ["tests": 7, "states": 3, "delayMedianSeconds": 2, "delay99PercentSeconds": 2])
        let page = String(decoding: health.page.text, as: UTF8.self)
        for line in [
            "holdfast_tests_total 7", "holdfast_delay_seconds_count 1", "holdfast_hidden 1",
            #"holdfast_states{state="idle"} 3"#,
        ] {
            #expect(page.split(separator: "\n").contains(Substring(line)))
        }
    }

    @Test func everyProgramAnswersHealthDescriptionAndClock() async throws {
        var router = RequestRouter()
        router.onServiceRequests(of: .recorder, health: health) {
            ServiceEndpoints(publish: "tcp://127.0.0.1:1", reply: "tcp://127.0.0.1:2")
        }
        health.report(.degraded, "one thing", for: "thing")
        let health = #"{"reasons":["one thing"],"status":"degraded","uptime":1.5,"version":"0.6.0"}"#
        #expect(try await Self.ask(router, "service.health") == #"{"id":1,"jsonrpc":"2.0","result":\#(health)}"#)
        let endpoints = #"{"publish":"tcp://127.0.0.1:1","reply":"tcp://127.0.0.1:2"}"#
        let methods = #"["service.clock","service.describe","service.health"]"#
        let description =
            #"{"endpoints":\#(endpoints),"methods":\#(methods),"name":"recorder","version":"0.6.0"}"#
        #expect(try await Self.ask(router, "service.describe") == #"{"id":1,"jsonrpc":"2.0","result":\#(description)}"#)
        let before = ClockReading.now
        let reply = try await Self.ask(router, "service.clock")
        let after = ClockReading.now
        let clock = try WireCoding.decode(ReplyEnvelope<ServiceClock.Reply>.self, from: reply.utf8).result?.clock
        let read = try #require(clock)
        #expect((before.uptime...after.uptime).contains(read.uptime))
        // On the wire a date has a resolution of microseconds.
        #expect((before.date.seconds - 1e-6...after.date.seconds).contains(read.date.seconds))
        #expect(read.elapsed == nil)
    }

    private static func ask(_ router: RequestRouter, _ method: String) async throws -> String {
        let frames = await router.answer([Array(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{}}"#.utf8)])
        return String(decoding: try #require(frames.first), as: UTF8.self)
    }
}

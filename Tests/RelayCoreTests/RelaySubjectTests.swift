import Messages
import Testing

@testable import RelayCore

/// The names of streams in NATS, and the headers of their messages.
@Suite(.timeLimit(.minutes(1)))
struct RelaySubjectTests {
    @Test(
        arguments: [
            ("lab", "left-wrist", "accelerometer"), ("a.b", "two words", "x*>"), ("%", "ü.é", "\t"),
            ("100%", "…", "%2E"), ("lab", "m5", "description"),
        ])
    func everyNameHasASubject(site: String, device: String, stream: String) throws {
        let subject = RelaySubject(site: site, name: StreamName(device: device, stream: stream))
        for text in [subject.samples, subject.descriptions] {
            #expect(RelaySubject(text) == subject)
            #expect(!text.contains(where: { "*> \t".contains($0) }))
        }
        #expect(subject.samples.split(separator: ".", omittingEmptySubsequences: false).count == 4)
        #expect(RelaySubject.isDescription(subject.descriptions))
        #expect(!RelaySubject.isDescription(subject.samples))
    }

    @Test(arguments: [
        "", "holdfast", "holdfast.a.b", "other.a.b.c", "holdfast.a.b.c.d", "holdfast.a..c", "holdfast.a.%.c",
    ])
    func othersAreNone(subject: String) { #expect(RelaySubject(subject) == nil) }

    @Test func aMessageIsReadAsItWasWritten() throws {
        let name = StreamName(device: "d.1", stream: "s")
        let events = [
            RelayedEvent(
                name: name, place: BatchPlace(epoch: "e", from: 10, count: 2), body: [1, 2, 3], packed: nil,
                time: Array("1.5".utf8)),
            RelayedEvent(
                name: name, place: BatchPlace(epoch: "e", from: 12, count: 3), body: [4, 5], packed: [6, 7],
                time: Array("2.5".utf8)),
        ]
        let message = RelayedMessage(events)
        #expect(message.place == BatchPlace(epoch: "e", from: 10, count: 5))
        let headers = Dictionary(uniqueKeysWithValues: message.headers.map { ($0.name, $0.value) })
        #expect(headers["Holdfast-Parts"] == "3,0,1.5;2,2,2.5")
        let read = try #require(
            RelayedMessage(subject: message.subject(at: "lab"), headers: headers, data: message.data))
        #expect(read.place == message.place)
        #expect(read.events.map(\.body) == events.map(\.body))
        #expect(read.events.map(\.packed) == events.map(\.packed))
        #expect(read.events.map(\.time) == events.map(\.time))
        for (key, value) in [
            ("Holdfast-From", "-1"), ("Holdfast-Count", "0"), ("Holdfast-Parts", "3,0,1.5"),
            ("Holdfast-Parts", "9,9,9"),
            ("Holdfast-Count", "9223372036854775807"),
        ] {
            var wrong = headers
            wrong[key] = value
            #expect(RelayedMessage(subject: message.subject(at: "lab"), headers: wrong, data: message.data) == nil)
        }
    }
}

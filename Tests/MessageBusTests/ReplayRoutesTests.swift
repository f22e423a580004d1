import MessageBus
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ReplayRoutesTests {
    @Test func aPublisherIsAskedWhereItSays() {
        var routes = ReplayRoutes()
        #expect(routes.endpoint(for: "tcp://wrist:5551") == "tcp://wrist:5551")
        routes.note("tcp://wrist:5551", heardFrom: "10.0.0.7")
        #expect(routes.endpoint(for: "tcp://wrist:5551") == "tcp://wrist:5551")
    }

    @Test func oneThatDoesNotAnswerThereIsAskedWhereItIsHeardFrom() {
        var routes = ReplayRoutes()
        let announced = "tcp://wrist:5551"
        let other = "tcp://10.0.0.7:5551"
        routes.note(announced, heardFrom: "::ffff:10.0.0.7")
        routes.expectAnother(of: announced, at: announced)
        #expect(routes.endpoint(for: announced) == other)
        // Another client's request to the former endpoint changes nothing.
        routes.expectAnother(of: announced, at: announced)
        #expect(routes.endpoint(for: announced) == other)
        // Each description is noted, without a change.
        routes.note(announced, heardFrom: "10.0.0.7")
        #expect(routes.endpoint(for: announced) == other)
        routes.expectAnother(of: announced, at: other)
        #expect(routes.endpoint(for: announced) == announced)
    }

    @Test func thereIsNoOtherPlaceWhereItIsHeardFromWhatItAnnounces() {
        var routes = ReplayRoutes()
        routes.note("tcp://10.0.0.7:5551", heardFrom: "10.0.0.7")
        routes.note("ipc:///run/s", heardFrom: "10.0.0.7")
        for announced in ["tcp://10.0.0.7:5551", "ipc:///run/s", "tcp://unheard:5551"] {
            let hasOther = routes.noteSilence(of: announced, at: announced)
            #expect(!hasOther)
            #expect(routes.endpoint(for: announced) == announced)
        }
    }

    @Test func whoAnnouncesTheLoopbackToOthersIsNotBelieved() {
        var routes = ReplayRoutes()
        routes.note("tcp://127.0.0.1:5551", heardFrom: "fd00::7")
        #expect(routes.endpoint(for: "tcp://127.0.0.1:5551") == "tcp://[fd00::7]:5551")
        routes.note("tcp://127.0.0.1:6551", heardFrom: "127.0.0.1")
        #expect(routes.endpoint(for: "tcp://127.0.0.1:6551") == "tcp://127.0.0.1:6551")
    }
}

extension ReplayRoutes {
    fileprivate mutating func expectAnother(of announced: String, at endpoint: String) {
        let hasOther = noteSilence(of: announced, at: endpoint)
        #expect(hasOther)
    }
}

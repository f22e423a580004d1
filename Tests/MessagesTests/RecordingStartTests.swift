import Messages
import Testing

/// The cases of the ancestors' recorder configuration, with their numbers in SEEDS. Ours: the request to start takes the
/// configuration's place.
@Suite(.timeLimit(.minutes(5)))
struct RecordingStartTests {
    @Test func case37WhatIsGivenIsReadBack() throws {
        let text = #"""
            {"duration":20,"format":"csv","maximumFileAge":3600.5,"maximumFileSize":1000000,"root":"dictionary",\#
            "session":"foo","step":"start","streams":["phone\/accelerometer","phone\/gyro","left-wrist\/"],"task":"Walk"}
            """#
        let request = try WireCoding.decode(RecordingStart.self, from: text.utf8)
        #expect(
            request
                == RecordingStart(
                    session: "foo", task: "Walk", step: "start",
                    streams: ["phone/accelerometer", "phone/gyro", "left-wrist/"], format: "csv", root: "dictionary",
                    maximumFileSize: 1_000_000, maximumFileAge: 3_600.5, duration: 20))
        #expect(String(decoding: try WireCoding.encode(request), as: UTF8.self) == text.replacing("\\/", with: "/"))
    }

    /// Ours: streams must be named; the recorder has defaults for everything else.
    @Test func case38WhatIsNotGivenStaysAbsent() throws {
        let text = #"{"streams":["phone/"]}"#
        let request = try WireCoding.decode(RecordingStart.self, from: text.utf8)
        #expect(request == RecordingStart(streams: ["phone/"]))
        #expect(request.session == nil && request.task == nil && request.step == nil)
        #expect(request.format == nil && request.root == nil && request.duration == nil)
        #expect(request.maximumFileSize == nil && request.maximumFileAge == nil)
        #expect(String(decoding: try WireCoding.encode(request), as: UTF8.self) == text)
    }
}

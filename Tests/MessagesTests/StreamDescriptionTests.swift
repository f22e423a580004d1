import Messages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StreamDescriptionTests {
    @Test func theBytesAreThoseOfJSONEncoder() throws {
        var generator = SeededGenerator()
        let characters = Array("abcXYZ019-_./\\\"'\u{0}\n\t\u{1F}é€😀<>&")
        func text() -> String {
            String(
                (0..<Int.random(in: 0...12, using: &generator)).compactMap { _ in
                    characters.randomElement(using: &generator)
                })
        }
        func maybe<Value>(_ value: @autoclosure () -> Value) -> Value? {
            Bool.random(using: &generator) ? value() : nil
        }
        for _ in 0..<300 {
            let number = { Double.random(in: -1000...1000, using: &generator) }
            let description = StreamDescription(
                source: text(), sequence: .random(in: 0 ... .max, using: &generator), device: text(), stream: text(),
                epoch: text(), state: .init(rawValue: text()), fields: (0..<3).map { _ in text() },
                unit: maybe(text()), rate: maybe(number()), packed: .random(using: &generator),
                nextSequence: .random(in: 0...1_000_000, using: &generator), replay: text(),
                clock: ClockReading(
                    uptime: number(),
                    date: WallTime(nanosecondsSince1970: .random(in: .min ... .max, using: &generator)),
                    elapsed: maybe(number())),
                description: maybe(text()), truth: maybe(SignalTruth(steps: 7, cadence: number())),
                reason: maybe(text()), lastSample: maybe(number()), retention: maybe(number().rounded()),
                origin: maybe(DataOrigin(rawValue: text())), over: maybe(.random(using: &generator)), first: maybe(7))
            var buffer = ByteBuffer(capacity: 0)
            description.encode(into: &buffer)
            #expect(buffer.text == String(decoding: try WireCoding.encode(description), as: UTF8.self))
        }
    }
}

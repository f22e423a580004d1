import ConsoleCore
import Testing

struct ViewerQueueTests {
    private static func chunk(_ text: String, samples: Int = 1, isState: Bool = false) -> ViewerQueue.Chunk {
        ViewerQueue.Chunk(Array(text.utf8), samples: isState ? 0 : samples, isState: isState)
    }

    private static func read(_ queue: inout ViewerQueue, by size: Int = 7) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: size)
        while true {
            let count = buffer.withUnsafeMutableBytes { queue.take(into: $0) }
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }

    @Test(arguments: [1, 2, 7, 1_000])
    func whatIsAddedIsSentInOrder(size: Int) {
        var queue = ViewerQueue(limit: 100)
        #expect(queue.isEmpty)
        queue.add(Self.chunk("one "))
        queue.add(Self.chunk("two "))
        #expect(!queue.isEmpty && queue.byteCount == 8)
        #expect(Self.read(&queue, by: size) == "one two ")
        #expect(queue.isEmpty && queue.byteCount == 0)
    }

    @Test func theNewestWinsAndTheViewerIsToldWhatIsMissing() {
        var queue = ViewerQueue(limit: 20)
        for number in 0..<10 { queue.add(Self.chunk("sample \(number);", samples: 3)) }
        #expect(queue.byteCount <= 20)
        #expect(Self.read(&queue) == "event: behind\ndata: {\"samples\":24}\n\nsample 8;sample 9;")
        #expect(queue.samplesLeftOut == 24)
        queue.add(Self.chunk("sample 10;"))
        #expect(Self.read(&queue) == "sample 10;")
    }

    @Test func whatWasBegunIsSentWhole() {
        var queue = ViewerQueue(limit: 10)
        queue.add(Self.chunk("0123456789"))
        var first = [UInt8](repeating: 0, count: 3)
        #expect(first.withUnsafeMutableBytes { queue.take(into: $0) } == 3)
        queue.add(Self.chunk("abcdefgh"))
        queue.add(Self.chunk("ABCDEFGH"))
        #expect(Self.read(&queue) == "3456789event: behind\ndata: {\"samples\":1}\n\nABCDEFGH")
    }

    @Test func samplesAreLeftOutBeforeEvents() {
        var queue = ViewerQueue(limit: 12)
        queue.add(Self.chunk("bus;", samples: 0))
        queue.add(Self.chunk("old;"))
        queue.add(Self.chunk("bus2;", samples: 0))
        queue.add(Self.chunk("new;"))
        #expect(Self.read(&queue).hasSuffix("bus;bus2;new;") == false)
        var other = ViewerQueue(limit: 13)
        other.add(Self.chunk("bus;", samples: 0))
        other.add(Self.chunk("old;"))
        other.add(Self.chunk("bus2;", samples: 0))
        other.add(Self.chunk("new;"))
        #expect(Self.read(&other) == "event: behind\ndata: {\"samples\":1}\n\nbus;bus2;new;")
    }

    @Test func greetingAndStateAreSentHoweverLargeTheyAre() {
        var queue = ViewerQueue(limit: 20)
        queue.add(ViewerQueue.Chunk(Array("roles;".utf8), isGreeting: true))
        for number in 0..<3 {
            queue.add(Self.chunk("bus \(number);", samples: 0))
            queue.add(Self.chunk("sample \(number);"))
            queue.add(Self.chunk("state \(number) of a thousand streams;", isState: true))
        }
        queue.add(Self.chunk("sample 3;"))
        #expect(queue.byteCount == "roles;state 2 of a thousand streams;sample 3;".utf8.count)
        let text = Self.read(&queue)
        #expect(text.hasSuffix("data: {\"samples\":3}\n\nroles;state 2 of a thousand streams;sample 3;"))
    }

    @Test func aStateReplacesTheOneThatWaits() {
        var queue = ViewerQueue(limit: 100)
        queue.add(Self.chunk("old", isState: true))
        queue.add(Self.chunk("x"))
        queue.add(Self.chunk("new", isState: true))
        #expect(Self.read(&queue) == "xnew")
    }

    @Test func oneChunkMayBeLongerThanTheLimit() {
        var queue = ViewerQueue(limit: 2)
        queue.add(Self.chunk("longer"))
        #expect(Self.read(&queue) == "longer")
    }
}

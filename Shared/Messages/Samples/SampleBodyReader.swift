/// Reads the bodies of one stream as they arrive. The fast path applies if each is written like the previous one.
///
/// A publisher's bodies differ only in their clock, count, sequence and values. The bytes between these are compared with the
/// last body's at once, instead of being parsed again. `SampleBody.init` reads a body that is written differently, with the
/// same result and the same errors.
public struct SampleBodyReader: Sendable {
    /// The layout of the last body.
    private struct Layout {
        let body: SampleBody
        /// The bytes from behind the count to the sequence, and their offset.
        let middle: [UInt8]
        let middleStart: Int
        /// The bytes from behind the sequence to the values, or to the end if there are none, and their offset.
        let tail: [UInt8]
        let tailStart: Int
    }

    private static let beforeClock = Array(#"{"clock":"#.utf8)
    private static let beforeCount = Array(#","count":"#.utf8)
    private static let beforeSequence = Array(#""sequence":"#.utf8)
    private static let beforeSource = Array(#","source":"#.utf8)

    private var layout: Layout?

    /// Creates a reader that has read no body.
    public init() {}

    /// Finds the parts of a body.
    ///
    /// - Throws: the errors of `SampleBody.init`.
    public mutating func read(_ frame: UnsafeRawBufferPointer) throws(MessageError) -> SampleBody {
        if let layout, let body = try? Self.read(frame, like: layout) { return body }
        let body = try SampleBody(frame)
        layout = Self.layout(of: body, in: frame)
        return body
    }

    /// The parts of a body that is written like the last one; nil if the body is not.
    @inline(__always)
    private static func read(
        _ frame: UnsafeRawBufferPointer, like layout: Layout
    ) throws(MessageError) -> SampleBody? {
        guard frame.hasBytes(beforeClock, at: 0) else { return nil }
        var body = layout.body
        var scanner = JSONScanner(frame)
        scanner.index = beforeClock.count
        guard scanner.peek() == UInt8(ascii: "{") else { return nil }
        body.clock = try scanner.skipValue()
        guard frame.hasBytes(beforeCount, at: scanner.index) else { return nil }
        scanner.index += beforeCount.count
        body.count = try scanner.skipCount("count")
        guard frame.hasBytes(layout.middle, at: scanner.index) else { return nil }
        body.moveMiddle(by: scanner.index - layout.middleStart)
        scanner.index += layout.middle.count
        body.sequence = try scanner.skipCount("sequence")
        guard frame.hasBytes(layout.tail, at: scanner.index) else { return nil }
        body.moveTail(by: scanner.index - layout.tailStart)
        scanner.index += layout.tail.count
        if body.values != nil {
            body.values = try body.types == nil ? scanner.skipBrackets() : scanner.skipValue()
            guard scanner.skip(UInt8(ascii: "}")) else { return nil }
        }
        return scanner.peek() == nil ? body : nil
    }

    /// A body's layout; nil unless its keys are in order and without blanks, as publishers write them.
    private static func layout(of body: SampleBody, in frame: UnsafeRawBufferPointer) -> Layout? {
        guard body.clock.lowerBound == beforeClock.count, frame.hasBytes(beforeClock, at: 0),
            frame.hasBytes(beforeCount, at: body.clock.upperBound)
        else { return nil }
        let middleStart = endOfDigits(from: body.clock.upperBound + beforeCount.count, in: frame)
        let tailStart = body.source.lowerBound - beforeSource.count
        guard tailStart > middleStart, frame.hasBytes(beforeSource, at: tailStart) else { return nil }
        var middleEnd = tailStart
        while middleEnd > middleStart, isDigit(frame[middleEnd - 1]) { middleEnd -= 1 }
        guard middleEnd - beforeSequence.count >= middleStart,
            frame.hasBytes(beforeSequence, at: middleEnd - beforeSequence.count)
        else { return nil }
        let tailEnd = body.values?.lowerBound ?? frame.count
        let middle = middleStart..<middleEnd
        let tail = tailStart..<max(tailStart, tailEnd)
        guard [body.device, body.epoch, body.fields].allSatisfy({ middle.contains($0.lowerBound) }),
            [body.source, body.stream, body.types ?? body.stream].allSatisfy({ tail.contains($0.lowerBound) })
        else { return nil }
        return Layout(
            body: body, middle: Array(frame[middle]), middleStart: middleStart, tail: Array(frame[tail]),
            tailStart: tailStart)
    }

    private static func endOfDigits(from start: Int, in frame: UnsafeRawBufferPointer) -> Int {
        var place = start
        while place < frame.count, isDigit(frame[place]) { place += 1 }
        return place
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
}

extension SampleBody {
    /// Moves the ranges between the count and the sequence.
    @inline(__always)
    fileprivate mutating func moveMiddle(by distance: Int) {
        device = device.moved(by: distance)
        epoch = epoch.moved(by: distance)
        fields = fields.moved(by: distance)
    }

    /// Moves the ranges behind the sequence.
    @inline(__always)
    fileprivate mutating func moveTail(by distance: Int) {
        source = source.moved(by: distance)
        stream = stream.moved(by: distance)
        types = types?.moved(by: distance)
    }
}

extension Range<Int> {
    @inline(__always)
    fileprivate func moved(by distance: Int) -> Range<Int> { lowerBound + distance..<upperBound + distance }
}

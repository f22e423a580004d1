package import SampleSources

/// The messages of a datagram, one a line.
package struct Datagram: Sendable {
    /// The most lines that one datagram may have.
    private static let maximumLines = 1_000

    /// The sender's address, without the port.
    package let source: String
    /// The size in bytes.
    package let size: Int
    package private(set) var messages: [PushMessage] = []
    /// The error of the last unreadable line.
    package private(set) var problem: PublisherError?
    /// The number of unreadable lines.
    package private(set) var unreadable = 0

    /// - Parameters:
    ///   - source: the sender's address; it names a device that has no name of its own.
    ///   - arrival: on the monotonic clock, in nanoseconds.
    package init(_ bytes: [UInt8], from source: String, at arrival: Int64) {
        self.source = source
        size = bytes.count
        // HyperIMU ends lines with CR LF, or with #.
        let ends: Set = [UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "#")]
        let isJSON = bytes.first == UInt8(ascii: "{")
        let lines = bytes.split { isJSON ? $0 == UInt8(ascii: "\n") : ends.contains($0) }
        for line in lines.prefix(Self.maximumLines) {
            do throws(PublisherError) {
                messages.append(try PushMessage(unanswered: Array(line), from: Self.name(of: source), at: arrival))
            } catch {
                problem = error
                unreadable += 1
            }
        }
        if lines.isEmpty || lines.count > Self.maximumLines {
            problem = PublisherError(
                .invalidInput, "a datagram has 1 to \(Self.maximumLines) lines, not \(lines.count)")
            unreadable += 1
        }
        join()
    }

    /// Joins consecutive unnumbered messages of one device.
    private mutating func join() {
        guard messages.count > 1 else { return }
        var joined: [PushMessage] = []
        for message in messages {
            if case .unnumbered(let more) = message, case .unnumbered(var samples)? = joined.last,
                samples.device == more.device
            {
                samples.add(more)
                joined[joined.count - 1] = .unnumbered(samples)
            } else {
                joined.append(message)
            }
        }
        messages = joined
    }

    /// The name of a device without one. An IPv6 address has colons, which names cannot have, and perhaps a zone.
    private static func name(of address: String) -> String {
        "udp-" + address.prefix { $0 != "%" }.replacing(":", with: "-")
    }
}

extension PushMessage {
    /// Reads a message whose sender expects no answer: it cannot be asked for older samples.
    /// - Parameters:
    ///   - device: the device's name, if the message has none.
    ///   - arrival: on the monotonic clock, in nanoseconds.
    ///   - mayBeKept: whether the message may have been kept on its way: then it did not arrive when it was sent.
    /// - Throws: `invalidInput` or `invalidParameter`, naming the part that is wrong.
    package init(
        unanswered body: [UInt8], from device: String, at arrival: Int64, mayBeKept: Bool = false
    ) throws(PublisherError) {
        guard body.first == UInt8(ascii: "{") else {
            self = .unnumbered(try UnnumberedSamples(csv: body, from: device, at: arrival))
            return
        }
        switch try PushedFormat(body) {
        case .numbered:
            var samples = try NumberedSamples(body)
            samples.oldest = nil
            if mayBeKept { samples.sentAt = nil }
            self = .numbered(samples)
        case .sensorLogger: self = .sensorLogger(try SensorLoggerMessage(body))
        case .sensaGram: self = .unnumbered(try UnnumberedSamples(sensaGram: body, from: device, at: arrival))
        case .hyperIMU: self = .unnumbered(try UnnumberedSamples(hyperIMU: body, from: device, at: arrival))
        case .phyphox: self = .unnumbered(try UnnumberedSamples(phyphox: body, device: nil))
        }
    }
}

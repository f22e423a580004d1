package import SampleSources

/// What a datagram brings, line by line.
package struct Datagram: Sendable {
    /// The lines of numbers and of JSON that one datagram may have.
    private static let maximumLines = 1_000

    /// The address that it came from, without the port.
    package let source: String
    /// How many bytes it has.
    package let size: Int
    package private(set) var messages: [PushMessage] = []
    /// Why a line could not be read: the last one.
    package private(set) var problem: PublisherError?
    /// Lines that could not be read.
    package private(set) var unreadable = 0

    /// - Parameters:
    ///   - source: the address that it came from, which is what a device is called that has no name.
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

    /// Joins what needs no order.
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

    /// What a device is called by its address: one of version 6 has colons, which names can't have, and perhaps a zone.
    private static func name(of address: String) -> String {
        "udp-" + address.prefix { $0 != "%" }.replacing(":", with: "-")
    }
}

extension PushMessage {
    /// Reads a message that nobody waits for an answer to, so that nothing can be asked for again.
    /// - Parameters:
    ///   - device: what to call the device, if the message does not say it.
    ///   - arrival: on the monotonic clock, in nanoseconds.
    /// - Throws: `invalidInput` or `invalidParameter` saying which part is wrong.
    package init(unanswered body: [UInt8], from device: String, at arrival: Int64) throws(PublisherError) {
        guard body.first == UInt8(ascii: "{") else {
            self = .unnumbered(try UnnumberedSamples(csv: body, from: device, at: arrival))
            return
        }
        switch try PushedFormat(body) {
        case .numbered:
            var samples = try NumberedSamples(body)
            samples.oldest = nil
            self = .numbered(samples)
        case .sensorLogger: self = .sensorLogger(try SensorLoggerMessage(body))
        case .sensaGram: self = .unnumbered(try UnnumberedSamples(sensaGram: body, from: device, at: arrival))
        case .hyperIMU: self = .unnumbered(try UnnumberedSamples(hyperIMU: body, from: device, at: arrival))
        case .phyphox: self = .unnumbered(try UnnumberedSamples(phyphox: body, device: nil))
        }
    }
}

package import Messages

/// A NATS message: consecutive batches of a stream, or one description of it.
///
/// The data are the concatenated frames of the events: each event's `body`, then its `packed` if present. The headers hold the
/// rest and are also read by other programs:
///
/// | header | value |
/// | --- | --- |
/// | `Holdfast-Schema` | `samples.v1`; `stream.v1` for a description |
/// | `Holdfast-Epoch` | the run of the publisher |
/// | `Holdfast-From`, `Holdfast-Count` | the first sample, and the number of samples |
/// | `Holdfast-Parts` | for each event the sizes of its body and matrix (or 0) in bytes, and its publication time:
/// `214,320,1795219200.123456;…` |
///
/// Combining a stream's events of a tenth of a second in one message costs servers a tenth of one message per batch.
package struct RelayedMessage: Hashable, Sendable {
    package enum Header {
        package static let schema = "Holdfast-Schema"
        package static let epoch = "Holdfast-Epoch"
        package static let from = "Holdfast-From"
        package static let count = "Holdfast-Count"
        package static let parts = "Holdfast-Parts"

        package static let all = [schema, epoch, from, count, parts]
    }

    /// The exclusive upper bound of a stream's sequence numbers.
    private static let maximumSequence = 1 << 53

    package let name: StreamName
    /// The contiguous range of samples in the message; nil for a description.
    package let place: BatchPlace?
    /// At least one event.
    package let events: [RelayedEvent]

    /// Creates a message of one stream's events: either consecutive batches or a single description.
    package init(_ events: [RelayedEvent]) {
        precondition(!events.isEmpty, "A message has an event.")
        self.events = events
        name = events[0].name
        place = events[0].place.map { first in
            BatchPlace(epoch: first.epoch, from: first.from, count: (events.last?.place?.end ?? first.end) - first.from)
        }
    }

    package var isDescription: Bool { place == nil }

    package func subject(at site: String) -> String {
        let subject = RelaySubject(site: site, name: name)
        return isDescription ? subject.descriptions : subject.samples
    }

    package var data: [UInt8] {
        var data: [UInt8] = []
        for event in events {
            data += event.body
            if let packed = event.packed { data += packed }
        }
        return data
    }

    package var headers: [(name: String, value: String)] {
        let parts = events.map { event in
            "\(event.body.count),\(event.packed?.count ?? 0),\(String(decoding: event.time, as: UTF8.self))"
        }
        var headers = [
            (Header.schema, isDescription ? StreamDescription.schema : SampleBatch.schema),
            (Header.parts, parts.joined(separator: ";")),
        ]
        if let place {
            headers += [(Header.epoch, place.epoch), (Header.from, "\(place.from)"), (Header.count, "\(place.count)")]
        }
        return headers
    }

    /// - Returns: nil if the message does not belong to a stream.
    package init?(subject: String, headers: [String: String], data: [UInt8]) {
        guard let name = RelaySubject(subject)?.name, let parts = headers[Header.parts] else { return nil }
        var events: [RelayedEvent] = []
        var place: BatchPlace?
        if !RelaySubject.isDescription(subject) {
            guard let read = Self.place(of: headers) else { return nil }
            place = read
        }
        var start = 0
        // Splits bytes instead of characters: a message may have thousands of parts, and characters take ten times as long.
        for part in parts.utf8.split(separator: UInt8(ascii: ";")) {
            let words = part.split(separator: UInt8(ascii: ","))
            guard words.count == 3, let body = Int(Substring(words[0])), let packed = Int(Substring(words[1])),
                body > 0, packed >= 0, body <= data.count - start, packed <= data.count - start - body
            else { return nil }
            let middle = start + body
            // `place` is the range of the whole message; a part's own range is in its body.
            events.append(
                RelayedEvent(
                    name: name, place: place, body: Array(data[start..<middle]),
                    packed: packed > 0 ? Array(data[middle..<(middle + packed)]) : nil, time: Array(words[2])))
            start = middle + packed
        }
        guard !events.isEmpty, start == data.count else { return nil }
        self.name = name
        self.place = place
        self.events = events
    }

    /// The range of samples according to a message's headers; nil for a description.
    package static func place(of headers: [String: String]) -> BatchPlace? {
        guard let epoch = headers[Header.epoch], let from = headers[Header.from].flatMap({ Int($0) }),
            let count = headers[Header.count].flatMap({ Int($0) }), from >= 0, count > 0, count <= maximumSequence,
            from <= maximumSequence - count
        else { return nil }
        return BatchPlace(epoch: epoch, from: from, count: count)
    }
}

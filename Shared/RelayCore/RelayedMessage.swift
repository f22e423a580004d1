package import Messages

/// A message of NATS: batches of a stream that follow one another, or a description of it.
///
/// The data are the events' frames one after the other, `body` and then `packed` of each if there is one. Headers say the rest; others
/// read them too:
///
/// | header | of samples |
/// | --- | --- |
/// | `Holdfast-Schema` | `samples.v1`; `stream.v1` for a description |
/// | `Holdfast-Epoch` | the publisher's run |
/// | `Holdfast-From`, `Holdfast-Count` | its first sample, and how many there are |
/// | `Holdfast-Parts` | of each event the bytes of its body, those of its matrix or 0, and the time of its publication: `214,320,1795219200.123456;…` |
///
/// One message for all that arrived of a stream within a tenth of a second costs servers a tenth of what one for each batch does.
package struct RelayedMessage: Hashable, Sendable {
    package enum Header {
        package static let schema = "Holdfast-Schema"
        package static let epoch = "Holdfast-Epoch"
        package static let from = "Holdfast-From"
        package static let count = "Holdfast-Count"
        package static let parts = "Holdfast-Parts"

        package static let all = [schema, epoch, from, count, parts]
    }

    /// The end of the last sample that a stream can have.
    private static let maximumSequence = 1 << 53

    package let name: StreamName
    /// Which samples it has, without a hole; nil for a description.
    package let place: BatchPlace?
    /// At least one.
    package let events: [RelayedEvent]

    /// A message of events of one stream: batches of which each begins where the one before it ends, or a single description.
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

    /// Reads a message.
    /// - Returns: nil if it is none of a stream.
    package init?(subject: String, headers: [String: String], data: [UInt8]) {
        guard let name = RelaySubject(subject)?.name, let parts = headers[Header.parts] else { return nil }
        var events: [RelayedEvent] = []
        var place: BatchPlace?
        if !RelaySubject.isDescription(subject) {
            guard let read = Self.place(of: headers) else { return nil }
            place = read
        }
        var start = 0
        // Bytes: a message may have thousands of parts, and characters take ten times as long.
        for part in parts.utf8.split(separator: UInt8(ascii: ";")) {
            let words = part.split(separator: UInt8(ascii: ","))
            guard words.count == 3, let body = Int(Substring(words[0])), let packed = Int(Substring(words[1])),
                body > 0, packed >= 0, body <= data.count - start, packed <= data.count - start - body
            else { return nil }
            let middle = start + body
            // Which of the message's samples a part has, its body says.
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

    /// Which samples a message has, as its headers say it; nil for a description.
    package static func place(of headers: [String: String]) -> BatchPlace? {
        guard let epoch = headers[Header.epoch], let from = headers[Header.from].flatMap({ Int($0) }),
            let count = headers[Header.count].flatMap({ Int($0) }), from >= 0, count > 0, count <= maximumSequence,
            from <= maximumSequence - count
        else { return nil }
        return BatchPlace(epoch: epoch, from: from, count: count)
    }
}

import Messages

/// A message that Sensor Logger pushes over HTTP or MQTT.
///
/// tszheichoi/awesome-sensor-logger, PUSHING.md: `messageId` counts from 0 in a `sessionId`; messages may arrive out of order.
package struct SensorLoggerMessage: Hashable, Sendable {
    /// Samples of one sensor that have the same fields, in their order in the message.
    package struct Readings: Hashable, Sendable {
        /// The app's name for it: `accelerometer`, `wrist motion`.
        package let sensor: String
        package var rows: PushedRows

        package var stream: String { PhonePlatform.stream(sensor) }

        package init(sensor: String, rows: PushedRows) {
            self.sensor = sensor
            self.rows = rows
        }
    }

    /// The most different sensors in one message: the app has about thirty.
    private static let maximumSensors = 64

    package var number: Int
    package var session: String
    package var device: String
    package var readings: [Readings]

    package init(number: Int, session: String, device: String, readings: [Readings]) {
        self.number = number
        self.session = session
        self.device = device
        self.readings = readings
    }

    /// Reads a message.
    /// - Throws: `invalidInput` or `invalidParameter`, naming the part that is wrong.
    package init(_ body: [UInt8]) throws(PublisherError) {
        self = try body.withUnsafeBufferPointer { (bytes) throws(PublisherError) in
            try Self.read(JSONParts(UnsafeRawBufferPointer(bytes)))
        }
    }

    private static func read(_ parts: JSONParts) throws(PublisherError) -> SensorLoggerMessage {
        var (session, device): (String?, String?)
        var number: Int?
        var payload: Range<Int>?
        try parts.forEachMember(of: parts.whole, "the body") { (name, value) throws(PublisherError) in
            switch name {
            case "messageId": number = try parts.count(value, "messageId")
            case "sessionId": session = try parts.text(value, "sessionId")
            case "deviceId": device = try parts.text(value, "deviceId")
            case "payload": payload = value
            default: break
            }
        }
        guard let number, let session, let device, let payload, session.utf8.count <= 100 else {
            throw PublisherError(
                .invalidInput,
                "the body needs messageId, sessionId (at most 100 bytes), deviceId and payload, as Sensor Logger sends them"
            )
        }
        _ = try StreamName(pushed: device, "any")
        var message = SensorLoggerMessage(number: number, session: session, device: device, readings: [])
        // The index of each sensor's latest readings.
        var places: [String: Int] = [:]
        var index = 0
        try parts.forEachElement(of: payload, "payload") { (entry) throws(PublisherError) in
            try message.add(entry, "payload[\(index)]", of: parts, places: &places)
            index += 1
        }
        return message
    }

    private mutating func add(
        _ entry: Range<Int>, _ place: String, of parts: JSONParts, places: inout [String: Int]
    ) throws(PublisherError) {
        var sensor: String?
        var time: Int64?
        var values: Range<Int>?
        try parts.forEachMember(of: entry, place) { (name, value) throws(PublisherError) in
            switch name {
            case "name": sensor = try parts.text(value, "name in \(place)")
            case "time": time = try parts.time(value, "time in \(place)")
            case "values": values = value
            default: break
            }
        }
        guard let sensor, let time, let values else {
            throw PublisherError(.invalidInput, "\(place) needs name, time and values")
        }
        var members: [(name: String, value: Range<Int>)] = []
        try parts.forEachMember(of: values, "values in \(place)") { (name, value) throws(PublisherError) in
            members.append((name, value))
        }
        guard !members.isEmpty, members.count <= FieldChoice.maximumCount else { return }
        guard !members.contains(where: { FieldName.isTooLong($0.name) }) else {
            throw PublisherError(
                .invalidInput, "\(place) has a name of more than \(FieldName.maximumBytes) bytes in its values")
        }
        members.sort { $0.name < $1.name }
        for (one, next) in zip(members, members.dropFirst()) where one.name == next.name {
            throw PublisherError(.invalidInput, "\(place) has \"\(one.name.prefix(40))\" twice")
        }
        if let known = places[sensor], readings[known].rows.append(members, time: time, of: parts) { return }
        // Another sensor, or changed fields.
        var rows = PushedRows(members, of: parts)
        guard rows.append(members, time: time, of: parts) else { return }
        guard places[sensor] != nil || places.count < Self.maximumSensors else {
            throw PublisherError(.invalidInput, "a message has at most \(Self.maximumSensors) sensors")
        }
        _ = try StreamName(pushed: device, PhonePlatform.stream(sensor))
        places[sensor] = readings.count
        readings.append(Readings(sensor: sensor, rows: rows))
    }
}

extension PushedRows {
    /// No samples, with the fields of a first one.
    fileprivate init(_ members: [(name: String, value: Range<Int>)], of parts: JSONParts) {
        let areNumbers = members.allSatisfy { (try? parts.number($0.value, "")) != nil }
        self.init(
            fields: members.map { $0.name.lowercased() == FieldOrder.reserved ? "\($0.name)_" : $0.name },
            types: areNumbers ? nil : members.map { Self.type(of: parts[$0.value]) })
    }

    private static func type(of value: UnsafeRawBufferPointer) -> FieldType {
        switch value.first {
        case UInt8(ascii: "\""): .text
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .boolean
        case UInt8(ascii: "n"), UInt8(ascii: "["), UInt8(ascii: "{"): .json
        default: .number
        }
    }

    /// Adds a sample and returns true, unless its fields differ or a value is not of its field's type.
    fileprivate mutating func append(
        _ members: [(name: String, value: Range<Int>)], time: Int64, of parts: JSONParts
    ) -> Bool {
        guard members.count == fields.count, zip(members, fields).allSatisfy({ $0.name == $1 || "\($0.name)_" == $1 })
        else { return false }
        guard let types else {
            let numbers = members.compactMap { try? parts.number($0.value, "") }
            guard numbers.count == members.count else { return false }
            append(numbers, time: time)
            return true
        }
        var record: [UInt8] = []
        for (member, type) in zip(members, types) {
            guard type.accepts(parts[member.value]) else { return false }
            if !record.isEmpty { record.append(UInt8(ascii: ",")) }
            record += JSONScanner.withoutBlanks(parts[member.value])
        }
        append(record: record, time: time)
        return true
    }
}

import Messages

extension UnnumberedSamples {
    /// The member with the experiment's clock: `<send id="clock" type="time"/>`.
    package static let phyphoxClock = "clock"
    /// The member with the phone's own identifier: `<send id="device" type="meta">uniqueID</send>`.
    package static let phyphoxDevice = "device"
    /// The stream of arrays whose names have no `_`.
    private static let unnamed = "samples"
    private static let timeFields: Set = ["t", "time"]

    /// The experiment's time at a start, and nanoseconds to add to its times to get dates.
    private struct Start {
        let experimentTime: Int64
        let offset: Int64
    }

    /// Reads a message of a phyphox network experiment:
    /// `{"accelerometer_t":[…],"accelerometer_x":[…],"clock":{"now":…,"events":[…]}}`.
    ///
    /// An array `STREAM_FIELD` is a field of a stream, and `STREAM_t` or `STREAM_time` has the times of its samples, in seconds
    /// of the experiment; arrays without `_` are fields of the stream `samples`. Arrays of one stream begin with the same sample;
    /// the extra values of a longer one are ignored. NaN is sent as null: a sample with null is left out.
    ///
    /// phyphox/phyphox-android, NetworkService.java: `clock.events` has the date of each start of the experiment, to convert
    /// times to dates.
    /// - Parameter device: the phone's name in the address; nil to use the identifier that the phone sends.
    /// - Throws: `invalidInput` or `invalidParameter`, naming the part that is wrong.
    package init(phyphox body: [UInt8], device: String?) throws(PublisherError) {
        self = try body.withUnsafeBufferPointer { (bytes) throws(PublisherError) in
            try Self.phyphox(JSONParts(UnsafeRawBufferPointer(bytes)), device: device)
        }
    }

    static func phyphox(_ parts: JSONParts, device given: String?) throws(PublisherError) -> UnnumberedSamples {
        var identifier: String?
        var starts: [Start]?
        var arrays: [String: [String: Range<Int>]] = [:]
        try parts.forEachMember(of: parts.whole, "the body") { (name, value) throws(PublisherError) in
            switch (name, parts[value].first) {
            case (phyphoxClock, UInt8(ascii: "{")): starts = try self.starts(parts, value)
            case (phyphoxDevice, UInt8(ascii: "\"")): identifier = try parts.text(value, name)
            case (_, UInt8(ascii: "[")):
                let place = name.lastIndex(of: "_")
                let stream = place.map { String(name[..<$0]) } ?? unnamed
                let field = place.map { String(name[name.index(after: $0)...]) } ?? name
                arrays[stream, default: [:]][field] = value
            default: break
            }
        }
        guard
            let device = given
                ?? identifier.map({ "phyphox-\($0.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(16))" })
        else {
            throw PublisherError(
                .invalidInput,
                "the body has no \"\(phyphoxDevice)\": send the phone's uniqueID with it, or add device=NAME to the address"
            )
        }
        var read: [Part] = []
        for (stream, fields) in arrays.sorted(by: { $0.key < $1.key }) {
            if let part = try part(stream, fields, parts, starts) { read.append(part) }
        }
        return try UnnumberedSamples(device: device, parts: read)
    }

    private static func part(
        _ stream: String, _ fields: [String: Range<Int>], _ parts: JSONParts, _ starts: [Start]?
    ) throws(PublisherError) -> Part? {
        let names = fields.keys.filter { !timeFields.contains($0) }.sorted()
        guard let times = fields.first(where: { timeFields.contains($0.key) })?.value, !names.isEmpty,
            names.count <= FieldChoice.maximumCount, !names.contains(FieldOrder.reserved), !names.contains(""),
            !names.contains(where: FieldName.isTooLong)
        else {
            throw PublisherError(
                .invalidInput,
                "\(stream.prefix(100)) needs an array of times that ends in _t, and 1 to "
                    + "\(FieldChoice.maximumCount) of values, whose names have at most \(FieldName.maximumBytes) bytes"
            )
        }
        var columns: [[Double?]] = []
        for name in names {
            guard let array = fields[name] else { continue }
            columns.append(try numbers(parts, array, name))
        }
        let count = columns.map(\.count).min() ?? 0
        var rows = PushedRows(fields: names)
        var row = 0
        try parts.forEachElement(of: times, "\(stream.prefix(100))_t") { (value) throws(PublisherError) in
            defer { row += 1 }
            guard row < count else { return }
            let time = try parts.time(value, "each time of \(stream.prefix(100))")
            let values = columns.compactMap { $0[row] }
            if values.count == columns.count { rows.append(values, time: date(of: time, starts)) }
        }
        guard rows.count > 0 else { return nil }
        let sensor = AndroidSensor(stream)
        return Part(
            stream: stream, unit: sensor.unit,
            description: "phyphox, \(stream.prefix(100)); not numbered: what is lost is estimated from times",
            clock: starts == nil ? .device : .date, rows: rows)
    }

    private static func numbers(
        _ parts: JSONParts, _ array: Range<Int>, _ name: String
    ) throws(PublisherError) -> [Double?] {
        var numbers: [Double?] = []
        try parts.forEachElement(of: array, name) { (value) throws(PublisherError) in
            if parts[value].first == UInt8(ascii: "n") {
                numbers.append(nil)
            } else {
                numbers.append(try parts.number(value, "each value of \(name.prefix(100))"))
            }
        }
        return numbers
    }

    /// The starts of the experiment, sorted by its time, which stands still during a pause.
    private static func starts(_ parts: JSONParts, _ clock: Range<Int>) throws(PublisherError) -> [Start]? {
        var starts: [Start] = []
        try parts.forEachMember(of: clock, phyphoxClock) { (name, value) throws(PublisherError) in
            guard name == "events" else { return }
            try parts.forEachElement(of: value, "events") { (event) throws(PublisherError) in
                var isStart = false
                var (experiment, system): (Int64?, Int64?)
                try parts.forEachMember(of: event, "each of the events") { (name, value) throws(PublisherError) in
                    switch name {
                    case "event": isStart = try parts.text(value, name) == "START"
                    case "experimentTime": experiment = try parts.time(value, name)
                    case "systemTime": system = try parts.time(value, name)
                    default: break
                    }
                }
                guard isStart, let experiment, let system else { return }
                starts.append(Start(experimentTime: experiment, offset: system - experiment))
            }
        }
        starts.sort { $0.experimentTime < $1.experimentTime }
        return starts.isEmpty ? nil : starts
    }

    private static func date(of time: Int64, _ starts: [Start]?) -> Int64 {
        guard let starts, let first = starts.first else { return time }
        let sum = time.addingReportingOverflow((starts.last { $0.experimentTime <= time } ?? first).offset)
        return sum.overflow || sum.partialValue.magnitude > Nanoseconds.limit.magnitude ? time : sum.partialValue
    }
}

import Messages

extension UnnumberedSamples {
    /// From this number on, in September 2001, a number is taken for a date in milliseconds since 1970.
    private static let firstMillisecond: Int64 = 1_000_000_000_000
    private static let lastMillisecond = Nanoseconds.limit / 1_000_000
    private static let axes = ["x", "y", "z"]

    /// Reads HyperIMU's JSON: `{"os":"hyperimu","Timestamp":1518819953744,"Accelerometer":[0.09,0.14,9.8],…}`: three values for
    /// each sensor that its user chose, under the phone's names for them.
    ///
    /// ianovir.com/works/mobile/hyperimu/hyperimu-help (the page says that JSON is for TCP; JSON in datagrams is accepted too).
    /// - Throws: `invalidInput`, naming the part that is wrong.
    static func hyperIMU(
        _ parts: JSONParts, from device: String, at arrival: Int64
    ) throws(PublisherError) -> UnnumberedSamples {
        var date: Int64?
        var readings: [(sensor: String, values: [Double])] = []
        try parts.forEachMember(of: parts.whole, "the line") { (name, value) throws(PublisherError) in
            if name.lowercased() == "timestamp" {
                date = try nanoseconds(ofMilliseconds: parts.wholeTime(value, name))
                return
            }
            guard parts[value].first == UInt8(ascii: "[") else { return }
            var values: [Double] = []
            var areNumbers = true
            try parts.forEachElement(of: value, name) { (value) throws(PublisherError) in
                // The values of NMEA are texts.
                if let number = try? parts.number(value, "") { values.append(number) } else { areNumbers = false }
            }
            if areNumbers, !values.isEmpty, values.count <= FieldChoice.maximumCount { readings.append((name, values)) }
        }
        guard !readings.isEmpty else {
            throw PublisherError(.invalidInput, "the line has no values of a sensor, as HyperIMU sends them")
        }
        return try hyperIMU(readings, from: device, date: date, at: arrival)
    }

    /// Reads a line of HyperIMU's CSV: `1518819953744,0.123,0.586,0.2637,0.259,-0.5963,9.815`: three values for each sensor, in
    /// the order of the app's list, optionally preceded by the time and the phone's address, and followed by NMEA texts.
    ///
    /// ianovir/HIMUServer, README.md and HIMUServer.py. A line does not name its sensors.
    /// - Throws: `invalidInput` if it is not such a line.
    static func hyperIMU(
        csv line: UnsafeRawBufferPointer, from device: String, at arrival: Int64
    ) throws(PublisherError) -> UnnumberedSamples {
        var cells = line.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map {
            DecimalParser.parse(UnsafeRawBufferPointer(rebasing: $0.trimmed))
        }
        var date: Int64?
        if let first = cells.first, let first, first >= Double(firstMillisecond), first <= Double(lastMillisecond) {
            date = nanoseconds(ofMilliseconds: Int64(first))
            cells.removeFirst()
        }
        // The phone's hardware address.
        if cells.count % 3 == 1, cells.first == .some(nil) { cells.removeFirst() }
        var readings: [(sensor: String, values: [Double])] = []
        for start in stride(from: 0, to: cells.count - cells.count % 3, by: 3) {
            let values = cells[start..<start + 3].compactMap(\.self)
            guard values.count == 3, values.allSatisfy(\.isFinite) else { continue }
            readings.append(("sensor\(start / 3 + 1)", values))
        }
        guard !readings.isEmpty, readings.count <= FieldChoice.maximumCount, cells.count % 3 == 0 else {
            throw PublisherError(
                .invalidInput, "the line is neither JSON nor three numbers for each sensor, as HyperIMU sends them")
        }
        return try hyperIMU(readings, from: device, date: date, at: arrival)
    }

    private static func hyperIMU(
        _ readings: [(sensor: String, values: [Double])], from device: String, date: Int64?, at arrival: Int64
    ) throws(PublisherError) -> UnnumberedSamples {
        let parts = readings.map { reading in
            let isPosition = reading.sensor == "GPS" && reading.values.count == 3
            let sensor = AndroidSensor(reading.sensor.lowercased().replacing(" ", with: "_"))
            var rows = PushedRows(
                fields: isPosition
                    ? ["latitude", "longitude", "altitude"]
                    : reading.values.count == 3 ? axes : sensor.fields(reading.values.count))
            rows.append(reading.values, time: date ?? arrival)
            let clock = date == nil ? Clock.arrival : .date
            return Part(
                stream: isPosition
                    ? "location" : sensor.unit == nil ? PhonePlatform.camelCase(reading.sensor) : sensor.stream,
                unit: sensor.unit,
                description: "HyperIMU, \(reading.sensor.prefix(100)); Android's units and signs; \(clock.losses)",
                clock: clock, rows: rows)
        }
        return try UnnumberedSamples(device: device, parts: parts)
    }

    private static func nanoseconds(ofMilliseconds milliseconds: Int64) -> Int64? {
        (firstMillisecond...lastMillisecond).contains(milliseconds) ? milliseconds * 1_000_000 : nil
    }
}

extension UnsafeRawBufferPointer.SubSequence {
    /// Without blanks at both ends.
    var trimmed: Self {
        var rest = self
        while let first = rest.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\r") { rest.removeFirst() }
        while let last = rest.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\r") { rest.removeLast() }
        return rest
    }
}

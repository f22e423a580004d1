import Messages

extension UnnumberedSamples {
    /// Reads a datagram of SensaGram: one event of one sensor, `{"timestamp":3925657519043709,"values":[0.3,-0.9,10.0],
    /// "type":"android.sensor.accelerometer"}`, or a position, `{"type":"android.gps","longitude":…,"latitude":…}`.
    ///
    /// umer0586/SensaGram, SensorStreamer.kt (2025): `timestamp` is `SensorEvent.timestamp`, nanoseconds of the phone's own
    /// clock. There is no sequence number and no device name.
    /// - Parameters:
    ///   - device: the name to give the phone.
    ///   - arrival: on this machine's monotonic clock, in nanoseconds.
    /// - Throws: `invalidInput`, naming the part that is wrong.
    static func sensaGram(
        _ parts: JSONParts, from device: String, at arrival: Int64
    ) throws(PublisherError) -> UnnumberedSamples {
        var type: String?
        var time: Int64?
        var values: [Double] = []
        var position: [(name: String, value: Double)] = []
        try parts.forEachMember(of: parts.whole, "the line") { (name, value) throws(PublisherError) in
            switch name {
            case "type": type = try parts.text(value, "type")
            case "timestamp", "elapsedRealtimeNanos": time = try parts.wholeTime(value, name)
            case "values":
                try parts.forEachElement(of: value, "values") { (value) throws(PublisherError) in
                    values.append(try parts.number(value, "each of the values"))
                }
            case "longitude", "latitude", "altitude", "bearing", "speed", "accuracy":
                position.append((name, try parts.number(value, name)))
            default: break
            }
        }
        guard let type, !values.isEmpty || !position.isEmpty, values.count <= FieldChoice.maximumCount else {
            throw PublisherError(.invalidInput, "the line needs type and values, as SensaGram sends them")
        }
        var rows: PushedRows
        let sensor = AndroidSensor(type)
        if values.isEmpty {
            rows = PushedRows(fields: position.map(\.name))
            values = position.map(\.value)
        } else {
            rows = PushedRows(fields: sensor.fields(values.count))
        }
        rows.append(values, time: time ?? arrival)
        let clock = time == nil ? Clock.arrival : .device
        let part = Part(
            stream: type == "android.gps" ? "location" : sensor.stream, unit: sensor.unit,
            description: "SensaGram, \(type.prefix(100)); Android's signs; \(clock.losses)",
            clock: clock, rows: rows)
        return try UnnumberedSamples(device: device, parts: [part])
    }
}

package import Messages
package import SessionOverview

/// Writes a plot as JSON: `{"device","stream","width","times","columns":{FIELD:[[least,most],…]},"gaps":[{"from","to"}]}`.
package enum PlotText {
    /// - Parameters:
    ///   - gaps: where samples are missing; nil for an unknown end.
    ///   - start: the origin of the times, in nanoseconds since 1970.
    package static func json(
        of stream: StreamName, fields: [String], _ part: Envelope.Part, gaps: [(from: Int64?, to: Int64?)], start: Int64
    ) -> [UInt8] {
        var text = ByteBuffer(capacity: 64 * (part.times.count + 1) * (fields.count + 1))
        text.append(utf8: #"{"device":"#)
        text.append(jsonString: stream.device)
        text.append(utf8: #","stream":"#)
        text.append(jsonString: stream.stream)
        text.append(utf8: #","width":"#)
        text.append(json: Double(part.width) / 1e9)
        text.append(utf8: #","times":["#)
        for (index, time) in part.times.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text.append(unixTime: time.addingClamped(start))
        }
        text.append(utf8: #"],"columns":{"#)
        for (field, columns) in zip(fields, part.fields) {
            if field != fields.first { text.append(UInt8(ascii: ",")) }
            text.append(jsonString: field)
            text.append(utf8: ":[")
            for (index, extremes) in columns.enumerated() {
                text.append(utf8: index > 0 ? ",[" : "[")
                text.append(numberOrNull: extremes.least)
                text.append(UInt8(ascii: ","))
                text.append(numberOrNull: extremes.most)
                text.append(UInt8(ascii: "]"))
            }
            text.append(UInt8(ascii: "]"))
        }
        text.append(utf8: #"},"gaps":["#)
        for (index, gap) in gaps.enumerated() {
            text.append(utf8: index > 0 ? #",{"from":"# : #"{"from":"#)
            text.append(time: gap.from?.addingClamped(start))
            text.append(utf8: #","to":"#)
            text.append(time: gap.to?.addingClamped(start))
            text.append(UInt8(ascii: "}"))
        }
        text.append(utf8: "]}")
        return text.withUnsafeBytes { Array($0) }
    }
}

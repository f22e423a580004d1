package import Messages

/// An LSL outlet's description of itself, with or without its `desc`.
package struct LSLInfo: Hashable, Sendable {
    /// The most channels of a stream.
    private static let maximumChannels = 10_000
    /// The longest `desc` to include in a stream's description, which is published each second, in bytes.
    private static let longestDescription = 1 << 16
    private static let longestUnit = 32

    package let name: String
    package let type: String
    package let channelCount: Int
    package let format: LSLFormat
    /// Identifies the outlet across restarts of its program; empty if the program gives none.
    package let sourceID: String
    /// In Hz; nil if samples are irregular.
    package let rate: Double?
    /// New at each start of the outlet.
    package let uid: String
    package let host: String
    /// The TCP port of its samples, and the UDP port of its clock.
    package let dataPort: UInt16
    package let servicePort: UInt16
    /// The program's own metadata, as XML; empty if there is none.
    package let desc: String
    private let labels: [String]
    private let units: [String]

    /// - Parameter xml: an `info` element.
    /// - Throws: `invalidInput`, naming what is missing or impossible.
    package init(xml: String) throws(PublisherError) {
        let info = try LSLElement(xml: xml)
        func text(_ name: String) -> String { info[name]?.text ?? "" }
        func required<Value>(_ name: String, _ value: (String) -> Value?) throws(PublisherError) -> Value {
            guard let value = value(text(name)) else {
                throw PublisherError(.invalidInput, "the outlet's \(name) can't be '\(text(name).prefix(64))'")
            }
            return value
        }
        name = text("name")
        type = text("type")
        sourceID = text("source_id")
        host = text("hostname")
        uid = try required("uid") { $0.isEmpty || $0.utf8.contains { $0 <= 0x20 } ? nil : $0 }
        format = try required("channel_format") { LSLFormat(rawValue: $0) }
        channelCount = try required("channel_count") {
            Int($0).flatMap { (1...Self.maximumChannels).contains($0) ? $0 : nil }
        }
        let rate = try required("nominal_srate") { Double($0).flatMap { $0 >= 0 && $0 <= 1e9 ? $0 : nil } }
        self.rate = rate > 0 ? rate : nil
        dataPort = try required("v4data_port") { UInt16($0) }
        servicePort = try required("v4service_port") { UInt16($0) }
        let element = info["desc"]
        desc =
            element.map {
                $0.children.isEmpty && $0.text.isEmpty ? "" : String(decoding: Array(xml.utf8)[$0.place], as: UTF8.self)
            } ?? ""
        let channels = element?["channels"]?.children.filter { $0.name == "channel" } ?? []
        labels = channels.map { $0["label"]?.text ?? "" }
        units = channels.map { $0["unit"]?.text ?? "" }
    }

    /// The labels of the channels if they are all different and can be names of fields; otherwise `value`, or `ch1`,
    /// `ch2` and so on.
    package var fields: [String] {
        if labels.count == channelCount, Set(labels).count == channelCount,
            !labels.contains(where: { $0.isEmpty || $0.lowercased() == FieldOrder.reserved }),
            !labels.contains(where: FieldName.isTooLong)
        {
            return labels
        }
        return channelCount == 1 ? ["value"] : (1...channelCount).map { "ch\($0)" }
    }

    package var types: [FieldType]? { format.type.map { Array(repeating: $0, count: channelCount) } }

    /// The unit, if all channels have the same.
    package var unit: String? {
        guard units.count == channelCount, Set(units).count == 1, let unit = units.first, !unit.isEmpty,
            unit.utf8.count <= Self.longestUnit
        else { return nil }
        return unit
    }

    /// A description for people, with the `desc`.
    package var description: String {
        let rest =
            desc.utf8.count <= Self.longestDescription ? desc : "its desc of \(desc.utf8.count) bytes is left out"
        let source = sourceID.isEmpty ? "" : ", source_id \(sourceID)"
        return "lsl:\(name) (\(type)) on \(host)\(source); LSL does not number samples: gaps are estimated"
            + (rest.isEmpty ? "" : "; \(rest)")
    }

    /// How many samples the outlet should buffer: those of `seconds`, at 100 Hz if there is no rate; 1,000 to 10 million.
    package func samples(inSeconds seconds: Double) -> Int { max(1_000, Int(min(1e7, (rate ?? 100) * seconds))) }
}

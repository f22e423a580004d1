/// The contents of an IIO device's files in sysfs, by their paths below it: `scan_elements/in_accel_x_type` (Linux,
/// Documentation/ABI/testing/sysfs-bus-iio): the channels, their scales, rotations and units.
package struct IIOAttributes: Hashable, Sendable {
    /// The units of IIO after scaling, by the kind of quantity.
    private static let units = ["accel": "m/s2", "gravity": "m/s2", "anglvel": "rad/s", "magn": "gauss", "rot": "rad"]
    private static let prefix = "in_"

    private let texts: [String: String]

    /// - Parameter texts: the content of each file; surrounding blanks are ignored.
    package init(_ texts: [String: String]) {
        self.texts = texts.mapValues { String($0.trimmingBlanks) }
    }

    package subscript(_ path: String) -> String? { texts[path] }

    /// The directory of the scan elements: newer kernels also have a directory for each buffer.
    package var elements: String {
        texts.keys.contains { $0.hasPrefix("scan_elements/") } ? "scan_elements" : "buffer0"
    }

    /// The channels that the buffer can have, without `in_`, sorted: with the time.
    package var channels: [String] {
        texts.keys.compactMap { path in
            let name = path.split(separator: "/").last.map(String.init) ?? ""
            guard path == "\(elements)/\(name)", name.hasPrefix(Self.prefix), name.hasSuffix("_en") else { return nil }
            return String(name.dropFirst(Self.prefix.count).dropLast("_en".count))
        }.sorted()
    }

    /// The scan of some channels.
    /// - Throws: `invalidInput`, naming the file whose content cannot be read.
    package func scan(of names: [String]) throws(PublisherError) -> IIOScan {
        var channels: [IIOScan.Channel] = []
        var matrices: [String: [Double]] = [:]
        for name in names {
            let path = "\(elements)/\(Self.prefix)\(name)"
            guard let text = texts["\(path)_type"], let index = texts["\(path)_index"].flatMap(Int.init) else {
                throw PublisherError(.invalidInput, "\(path)_type and \(path)_index can't be read")
            }
            let type: IIOChannelType
            do throws(PublisherError) { type = try IIOChannelType(text) } catch { throw error.at("\(path)_type") }
            channels.append(
                IIOScan.Channel(
                    name, index: index, type: type, scale: try number("scale", of: name) ?? 1,
                    offset: try number("offset", of: name) ?? 0))
            let kind = Self.kind(of: name)
            if matrices[kind] == nil { matrices[kind] = try matrix(of: kind) }
        }
        return try IIOScan(channels, matrices: matrices)
    }

    /// The quantity that a channel measures: `accel` of `accel_x`, `voltage` of `voltage3`.
    private static func kind(of name: String) -> String {
        String(name.prefix { $0 != "_" && $0 != "-" && !($0.isASCII && $0.isNumber) })
    }

    /// The number in an attribute of the channel, or of all channels of its kind.
    private func number(_ attribute: String, of channel: String) throws(PublisherError) -> Double? {
        for name in [channel, Self.kind(of: channel)] {
            let path = "\(Self.prefix)\(name)_\(attribute)"
            guard let text = texts[path] else { continue }
            guard let number = Double(text), number.isFinite else {
                throw PublisherError(.invalidInput, "\(path): '\(text)' is not a number")
            }
            return number
        }
        return nil
    }

    /// A mount matrix: `0, 1, 0; 1, 0, 0; 0, 0, -1`. Nil if there is none for this kind.
    private func matrix(of kind: String) throws(PublisherError) -> [Double]? {
        for path in ["\(Self.prefix)\(kind)_mount_matrix", "\(Self.prefix)mount_matrix", "mount_matrix"] {
            guard let text = texts[path] else { continue }
            let rows = text.split(separator: ";")
            let numbers = rows.flatMap { $0.split(separator: ",").map { Double(String($0.trimmingBlanks)) } }
                .compactMap(\.self)
            guard rows.count == 3, numbers.count == 9, numbers.allSatisfy(\.isFinite) else {
                throw PublisherError(.invalidInput, "\(path): '\(text)' is not a matrix of three rows")
            }
            return numbers
        }
        return nil
    }

    // MARK: The rate

    /// The files with the sampling frequency of some channels: of the whole device, or else of the channels or their kinds.
    package func rateFiles(of channels: [String]) -> [String] {
        let whole = "sampling_frequency"
        if texts[whole] != nil { return [whole] }
        return Set(channels.flatMap { [$0, Self.kind(of: $0)] }).map { "\(Self.prefix)\($0)_\(whole)" }
            .filter { texts[$0] != nil }.sorted()
    }

    /// The text of a rate for a file: as the file's list of available rates writes it, if the rate is in that list.
    package func typed(rate: Double, for file: String) -> String {
        let known = texts["\(file)_available"].map { $0.split(separator: " ").map(String.init) } ?? []
        return known.first { Double($0) == rate } ?? (rate == rate.rounded() && rate < 1e9 ? "\(Int(rate))" : "\(rate)")
    }

    // MARK: Publishing

    /// The published names of fields: x, y and z alone if all are of one kind.
    package static func published(_ fields: [String]) -> [String] {
        let kinds = Set(fields.map(kind(of:)))
        guard kinds.count == 1, let kind = kinds.first,
            fields.allSatisfy({ $0.hasPrefix("\(kind)_") && $0.count == kind.count + 2 })
        else { return fields }
        return fields.map { String($0.dropFirst(kind.count + 1)) }
    }

    /// The unit of all values; nil if units differ or a kind is unknown.
    package static func unit(of fields: [String]) -> String? {
        let units = Set(fields.map { Self.units[kind(of: $0)] })
        return units.count == 1 ? units.first ?? nil : nil
    }

    /// The kinds and their units, for people: `accel m/s2, anglvel rad/s`.
    package static func summary(of fields: [String]) -> String {
        var kinds: [String] = []
        for kind in fields.map(kind(of:)) where !kinds.contains(kind) { kinds.append(kind) }
        return kinds.map { kind in units[kind].map { "\(kind) \($0)" } ?? kind }.joined(separator: ", ")
    }
}

extension StringProtocol {
    /// Without surrounding blanks and line ends.
    var trimmingBlanks: SubSequence {
        var rest = self[...]
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }
}

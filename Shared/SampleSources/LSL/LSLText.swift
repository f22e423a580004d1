import Messages

/// The messages of LSL's protocol for finding outlets and connecting to them (liblsl, udp_server.cpp, tcp_server.cpp,
/// data_receiver.cpp): ASCII, with `\r\n` at the end of each line.
package enum LSLText {
    /// The port at which all outlets listen for multicast and broadcast.
    package static let multicastPort: UInt16 = 16_571
    package static let multicastAddresses = ["255.255.255.255", "224.0.0.1", "224.0.0.183", "239.255.172.215"]
    /// The ports of a host's outlets: each outlet uses the first free one.
    package static let ports: ClosedRange<UInt16> = 16_572...16_604
    /// The protocol version of this client.
    private static let version = 110

    // MARK: Finding outlets

    /// The predicate for the outlet: the user's query and the default session.
    /// - Parameter sourceID: the source ID of the outlet connected before; empty if there was none.
    package static func predicate(_ query: String, sourceID: String = "") -> String {
        let known = sourceID.isEmpty || sourceID.contains("'") ? "" : " and source_id='\(sourceID)'"
        return "session_id='default' and (\(query))\(known)"
    }

    /// A search for outlets with this predicate.
    /// - Parameters:
    ///   - port: the UDP port for the answer.
    ///   - identifier: the text with which the answer begins.
    package static func search(_ predicate: String, port: UInt16, identifier: String) -> [UInt8] {
        Array("LSL:shortinfo\r\n\(predicate)\r\n\(port) \(identifier)\r\n".utf8)
    }

    /// The outlet that answered; nil if the answer is to another question or cannot be read.
    package static func found(_ answer: [UInt8], identifier: String) -> LSLInfo? {
        let start = Array("\(identifier)\r\n".utf8)
        guard answer.starts(with: start) else { return nil }
        return try? LSLInfo(xml: String(decoding: answer.dropFirst(start.count), as: UTF8.self))
    }

    // MARK: Connecting to one

    /// Requests an outlet's full description.
    package static let information = Array("LSL:fullinfo\r\n".utf8)

    /// Requests samples.
    /// - Parameter buffer: how many samples the outlet keeps while they cannot be sent.
    package static func feed(of outlet: LSLInfo, buffer: Int) -> [UInt8] {
        var lines = [
            "LSL:streamfeed/\(version) \(outlet.uid)", "Native-Byte-Order: 1234", "Endian-Performance: 0",
            "Has-IEEE754-Floats: 1", "Supports-Subnormals: 1",
        ]
        // Without this line the outlet uses its own size; for text, that depends on its compiler.
        if let size = outlet.format.size { lines.append("Value-Size: \(size)") }
        lines += ["Max-Buffer-Length: \(buffer)", "Max-Chunk-Length: 0", "Protocol-Version: \(version)", "", ""]
        return Array(lines.joined(separator: "\r\n").utf8)
    }

    /// The outlet's answer before its samples.
    package struct Accepted: Hashable, Sendable {
        package let isBigEndian: Bool
        /// The length of the answer in bytes.
        package let length: Int
    }

    private static let longestAnswer = 1 << 14

    /// Reads the outlet's answer; nil while it is incomplete.
    /// - Throws: `unreadable` if the outlet refuses, `invalidInput` if the answer cannot be read.
    package static func accepted(_ bytes: [UInt8]) throws(PublisherError) -> Accepted? {
        let text = String(decoding: bytes.prefix(longestAnswer), as: UTF8.self)
        guard let first = text.split(separator: "\r\n", maxSplits: 1, omittingEmptySubsequences: false).first else {
            return nil
        }
        let words = first.split(separator: " ")
        // A refusal has no end of line.
        if words.count > 1, words[1].count >= 3, words[1] != "200" {
            throw PublisherError(
                .unreadable,
                "the outlet refuses: \(first.prefix(64)); it has restarted meanwhile, or speaks another version of LSL")
        }
        let end = Array("\r\n\r\n".utf8)
        guard let length = bytes.indices.first(where: { bytes[$0...].starts(with: end) }).map({ $0 + end.count }) else {
            guard bytes.count < longestAnswer else {
                throw PublisherError(.invalidInput, "the outlet does not answer as LSL does")
            }
            return nil
        }
        var headers: [String: String] = [:]
        for line in String(decoding: bytes.prefix(length), as: UTF8.self).split(separator: "\r\n").dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            headers[parts[0].lowercased()] = String(parts[1].trimmingBlanks)
        }
        guard first.hasPrefix("LSL/"), headers["data-protocol-version"].flatMap(Int.init) == version else {
            throw PublisherError(
                .invalidInput,
                "the outlet sends its samples by version \(headers["data-protocol-version"] ?? "?") of the protocol, not \(version): "
                    + "update its liblsl")
        }
        return Accepted(isBigEndian: headers["byte-order"] == "4321", length: length)
    }

    // MARK: Its clock

    /// A question for the outlet's time.
    /// - Parameters:
    ///   - wave: the number with which the answer begins.
    ///   - sent: this machine's time, in seconds.
    package static func clock(wave: Int32, sent: Double) -> [UInt8] {
        Array("LSL:timedata\r\n\(wave) \(sent)\r\n".utf8)
    }
}

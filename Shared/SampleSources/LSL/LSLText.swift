import Messages

/// The texts of LSL's protocol, by which outlets are found and connected to (liblsl, udp_server.cpp, tcp_server.cpp,
/// data_receiver.cpp). All is ASCII with `\r\n` at each line's end.
package enum LSLText {
    /// Where outlets listen together, for multicast and broadcast.
    package static let multicastPort: UInt16 = 16_571
    package static let multicastAddresses = ["255.255.255.255", "224.0.0.1", "224.0.0.183", "239.255.172.215"]
    /// Where each outlet of a host listens: the first that is free.
    package static let ports: ClosedRange<UInt16> = 16_572...16_604
    /// The protocol that is spoken here.
    private static let version = 110

    // MARK: Finding outlets

    /// What an outlet must be: what the user asks for, and of the session that is the usual one.
    /// - Parameter sourceID: of the outlet that was connected before; empty if there was none.
    package static func predicate(_ query: String, sourceID: String = "") -> String {
        let known = sourceID.isEmpty || sourceID.contains("'") ? "" : " and source_id='\(sourceID)'"
        return "session_id='default' and (\(query))\(known)"
    }

    /// Asks who is such an outlet.
    /// - Parameters:
    ///   - port: where the answer is awaited, over UDP.
    ///   - identifier: with which the answer begins.
    package static func search(_ predicate: String, port: UInt16, identifier: String) -> [UInt8] {
        Array("LSL:shortinfo\r\n\(predicate)\r\n\(port) \(identifier)\r\n".utf8)
    }

    /// The outlet that answered; nil if the answer is to another question or can't be read.
    package static func found(_ answer: [UInt8], identifier: String) -> LSLInfo? {
        let start = Array("\(identifier)\r\n".utf8)
        guard answer.starts(with: start) else { return nil }
        return try? LSLInfo(xml: String(decoding: answer.dropFirst(start.count), as: UTF8.self))
    }

    // MARK: Connecting to one

    /// Asks for everything that an outlet says of itself.
    package static let information = Array("LSL:fullinfo\r\n".utf8)

    /// Asks for samples.
    /// - Parameter buffer: how many samples the outlet keeps while they can't be sent.
    package static func feed(of outlet: LSLInfo, buffer: Int) -> [UInt8] {
        var lines = [
            "LSL:streamfeed/\(version) \(outlet.uid)", "Native-Byte-Order: 1234", "Endian-Performance: 0",
            "Has-IEEE754-Floats: 1", "Supports-Subnormals: 1",
        ]
        // Without it the outlet takes its own size; of text that is a matter of its compiler.
        if let size = outlet.format.size { lines.append("Value-Size: \(size)") }
        lines += ["Max-Buffer-Length: \(buffer)", "Max-Chunk-Length: 0", "Protocol-Version: \(version)", "", ""]
        return Array(lines.joined(separator: "\r\n").utf8)
    }

    /// The outlet's answer before its samples.
    package struct Accepted: Hashable, Sendable {
        package let isBigEndian: Bool
        /// Bytes of the answer.
        package let length: Int
    }

    private static let longestAnswer = 1 << 14

    /// Reads the outlet's answer; nil while its end did not come.
    /// - Throws: `unreadable` if the outlet refuses, `invalidInput` for what can't be read.
    package static func accepted(_ bytes: [UInt8]) throws(PublisherError) -> Accepted? {
        let text = String(decoding: bytes.prefix(longestAnswer), as: UTF8.self)
        guard let first = text.split(separator: "\r\n", maxSplits: 1, omittingEmptySubsequences: false).first else {
            return nil
        }
        let words = first.split(separator: " ")
        // A refusal has no line end.
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

    /// Asks what time it is.
    /// - Parameters:
    ///   - wave: with which the answer begins.
    ///   - sent: the time here, in seconds.
    package static func clock(wave: Int32, sent: Double) -> [UInt8] {
        Array("LSL:timedata\r\n\(wave) \(sent)\r\n".utf8)
    }
}

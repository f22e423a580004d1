/// The packets of MQTT 3.1.1 that tests send and read.
enum MQTTPacket: Hashable {
    case connack(code: UInt8)
    case publish(topic: String, payload: [UInt8], identifier: UInt16?)
    case puback(UInt16)
    case connect(client: String, isClean: Bool)
    case subscribe(UInt16, topics: [String])
    case suback(UInt16, granted: [UInt8])
    case other(UInt8)

    var bytes: [UInt8] {
        switch self {
        case .connack(let code): Self.packet(0x20, [0, code])
        case .publish(let topic, let payload, let identifier):
            Self.packet(
                identifier == nil ? 0x30 : 0x32,
                Self.text(topic) + (identifier.map(Self.number) ?? []) + payload)
        case .puback(let identifier): Self.packet(0x40, Self.number(identifier))
        case .connect(let client, let isClean):
            Self.packet(0x10, Self.text("MQTT") + [4, isClean ? 2 : 0] + Self.number(60) + Self.text(client))
        case .subscribe(let identifier, let topics):
            Self.packet(0x82, Self.number(identifier) + topics.flatMap { Self.text($0) + [1] })
        case .suback(let identifier, let granted): Self.packet(0x90, Self.number(identifier) + granted)
        case .other(let kind): [kind, 0]
        }
    }

    /// Takes the first packet off the bytes; nil while it is incomplete.
    init?(takingFrom bytes: inout [UInt8]) {
        var (length, shift, place) = (0, 0, 1)
        repeat {
            guard place < bytes.count else { return nil }
            length |= Int(bytes[place] & 127) << shift
            shift += 7
            place += 1
        } while bytes[place - 1] & 128 != 0
        guard bytes.count >= place + length else { return nil }
        let kind = bytes[0]
        var body = bytes[place..<place + length]
        bytes.removeFirst(place + length)
        switch kind & 0xF0 {
        case 0x20: self = .connack(code: body.last ?? 255)
        case 0x30:
            let topic = Self.takeText(&body)
            let identifier = kind & 0x06 == 0 ? nil : Self.takeNumber(&body)
            self = .publish(topic: topic, payload: Array(body), identifier: identifier)
        case 0x40: self = .puback(Self.takeNumber(&body))
        case 0x10:
            _ = Self.takeText(&body)
            let flags = body.dropFirst().first ?? 0
            body = body.dropFirst(4)
            self = .connect(client: Self.takeText(&body), isClean: flags & 2 != 0)
        case 0x80:
            let identifier = Self.takeNumber(&body)
            var topics: [String] = []
            while !body.isEmpty {
                topics.append(Self.takeText(&body))
                body = body.dropFirst()
            }
            self = .subscribe(identifier, topics: topics)
        case 0x90: self = .suback(Self.takeNumber(&body), granted: Array(body))
        default: self = .other(kind)
        }
    }

    private static func packet(_ kind: UInt8, _ body: [UInt8]) -> [UInt8] {
        var (length, rest) = ([UInt8](), body.count)
        repeat {
            length.append(UInt8(rest & 127) | (rest > 127 ? 128 : 0))
            rest >>= 7
        } while rest > 0
        return [kind] + length + body
    }

    private static func number(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }
    private static func text(_ text: String) -> [UInt8] { number(UInt16(text.utf8.count)) + text.utf8 }

    private static func takeNumber(_ body: inout ArraySlice<UInt8>) -> UInt16 {
        let number = body.prefix(2).reduce(0) { $0 << 8 | UInt16($1) }
        body = body.dropFirst(2)
        return number
    }

    private static func takeText(_ body: inout ArraySlice<UInt8>) -> String {
        let count = Int(takeNumber(&body))
        defer { body = body.dropFirst(count) }
        return String(decoding: body.prefix(count), as: UTF8.self)
    }
}

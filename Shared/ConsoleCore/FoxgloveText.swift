import Export
import Messages
import ServiceKit
import WebServer

/// Writes and reads the JSON messages of Foxglove's protocol: `foxglove.sdk.v1`, and its predecessor `foxglove.websocket.v1`,
/// which does not differ in what is used here.
package enum FoxgloveText {
    /// The subprotocols, in order of preference.
    package static let protocols = ["foxglove.sdk.v1", "foxglove.websocket.v1"]

    /// A message from a client.
    struct Command: Decodable {
        struct Subscription: Decodable {
            var id: UInt32
            var channelId: UInt32
        }

        var op: String
        var subscriptions: [Subscription]?
        var subscriptionIds: [UInt32]?
        var parameterNames: [String]?
        var parameters: [FoxgloveParameter]?
        var id: String?
    }

    private struct ServerInfo: Encodable {
        var op = "serverInfo"
        var name = "holdfast"
        var capabilities: [String]
        var supportedEncodings = ["json"]
        var metadata: [String: String]
        var sessionId: String
    }

    private struct Advertisement: Encodable {
        var op = "advertise"
        var channels: [FoxgloveChannel.Wire]
    }

    private struct Withdrawal: Encodable {
        var op = "unadvertise"
        var channelIds: [UInt32]
    }

    private struct Services: Encodable {
        var op = "advertiseServices"
        var services: [FoxgloveService.Wire]
    }

    private struct Status: Encodable {
        var op = "status"
        var level: Int
        var message: String
        var id: String?
    }

    private struct ParameterValues: Encodable {
        var op = "parameterValues"
        var parameters: [FoxgloveParameter]
        var id: String?
    }

    private struct Failure: Encodable {
        var op = "serviceCallFailure"
        var serviceId: UInt32
        var callId: UInt32
        var message: String
    }

    private static func frame(_ value: some Encodable) -> [UInt8] {
        // Texts and numbers can always be encoded.
        WebSocketFrame.text((try? WireCoding.encode(value)) ?? Array("{}".utf8))
    }

    static func serverInfo(session: String, mayCommand: Bool) -> [UInt8] {
        frame(
            ServerInfo(
                capabilities: ["parameters", "parametersSubscribe"] + (mayCommand ? ["services"] : []),
                metadata: ["version": Version.current], sessionId: session))
    }

    static func advertise(_ channels: [FoxgloveChannel]) -> [UInt8] {
        frame(Advertisement(channels: channels.map(\.wire)))
    }

    static func unadvertise(_ channels: [UInt32]) -> [UInt8] { frame(Withdrawal(channelIds: channels)) }

    static func advertiseServices() -> [UInt8] { frame(Services(services: FoxgloveService.allCases.map(\.wire))) }

    /// Reports that samples were left out for a slow client.
    package static func behind(samples: Int) -> [UInt8] {
        frame(
            Status(
                level: 1, message: "this client is too slow: \(samples) samples were left out, the newest are next",
                id: "behind"))
    }

    static func error(_ message: String) -> [UInt8] { frame(Status(level: 2, message: message)) }

    static func parameterValues(_ parameters: [FoxgloveParameter], id: String?) -> [UInt8] {
        frame(ParameterValues(parameters: parameters, id: id))
    }

    static func failure(service: UInt32, call: UInt32, _ message: String) -> [UInt8] {
        frame(Failure(serviceId: service, callId: call, message: message))
    }

    static func response(service: UInt32, call: UInt32, _ json: [UInt8]) -> [UInt8] {
        var body: [UInt8] = [3]
        let encoding = Array("json".utf8)
        for number in [service, call, UInt32(encoding.count)] {
            withUnsafeBytes(of: number.littleEndian) { body += $0 }
        }
        return WebSocketFrame.binary(body + encoding + json)
    }

    /// Parses a client's service request: service, call, and body.
    static func request(_ message: [UInt8]) -> (service: UInt32, call: UInt32, body: [UInt8])? {
        func number(_ place: Int) -> UInt32 {
            message[place..<place + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
        guard message.count >= 13, message[0] == 2, message.count - 13 >= Int(number(9)) else { return nil }
        let start = 13 + Int(number(9))
        guard message[13..<start].elementsEqual("json".utf8) else { return nil }
        return (number(1), number(5), Array(message[start...]))
    }

    /// Messages of a stream for one subscription, each a frame.
    static func frames(_ batch: StreamMessages.Batch, at times: [Int64], subscription: UInt32) -> [UInt8] {
        var frames: [UInt8] = []
        frames.reserveCapacity(batch.bytes.count + 24 * batch.ends.count)
        var start = 0
        for (end, time) in zip(batch.ends, times) {
            WebSocketFrame.beginBinary(13 + end - start, in: &frames)
            frames.append(1)
            withUnsafeBytes(of: subscription.littleEndian) { frames += $0 }
            withUnsafeBytes(of: UInt64(clamping: time).littleEndian) { frames += $0 }
            frames += batch.bytes[start..<end]
            start = end
        }
        return frames
    }
}

/// A parameter in Foxglove's form.
struct FoxgloveParameter: Codable, Hashable {
    var name: String
    var value: JSONValue?

    static let running = "recording.running"
    static let session = "recording.session"
    static let annotation = "recording.annotation"
}

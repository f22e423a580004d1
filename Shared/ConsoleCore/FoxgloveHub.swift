import Export
import Messages
import WebServer

/// The Foxglove clients: available channels, subscriptions, and replies to messages. A pure value.
struct FoxgloveHub {
    /// Limit of subscriptions for each client.
    private static let maximumSubscriptions = 20_000

    private struct Client {
        var mayCommand: Bool
        /// Channels by subscription.
        var subscriptions: [UInt32: FoxgloveChannel] = [:]
        var wantsParameters = false
    }

    /// Determines a stream's channels.
    private struct Shape: Equatable {
        var fields: [String]
        var types: [FieldType]?
        var unit: String?
    }

    private var clients: [Int: Client] = [:]
    private var channels: [UInt32: FoxgloveChannel] = [:]
    private var byStream: [StreamName: [FoxgloveChannel]] = [:]
    private var shapes: [StreamName: Shape] = [:]
    private var lastChannel: UInt32 = 0
    private var topics = TopicNames()
    /// The number of subscriptions, by stream.
    private(set) var subscribers: [StreamName: Int] = [:]

    var count: Int { clients.count }
    var isEmpty: Bool { clients.isEmpty }
    var parameterListeners: [Int] { clients.filter(\.value.wantsParameters).map(\.key) }

    // MARK: Channels

    /// Takes a description of a stream.
    /// - Returns: the messages to send to clients; nil if nothing changed.
    mutating func describe(_ stream: StreamDescription) -> (frames: [UInt8], clients: [Int])? {
        let shape = Shape(fields: stream.fields, types: stream.types, unit: stream.unit)
        guard shapes[stream.name] != shape else { return nil }
        shapes[stream.name] = shape
        let old = byStream[stream.name] ?? []
        for channel in old { topics.remove(channel.topic) }
        var new = FoxgloveChannel.all(of: stream, topics: &topics)
        var frames: [UInt8] = []
        if !old.isEmpty {
            frames = FoxgloveText.unadvertise(old.map(\.id))
            for channel in old { channels[channel.id] = nil }
            for (number, client) in clients {
                for (id, channel) in client.subscriptions where channel.stream == stream.name {
                    unsubscribe(id, of: number)
                }
            }
        }
        for index in new.indices {
            lastChannel += 1
            new[index].id = lastChannel
            channels[lastChannel] = new[index]
        }
        byStream[stream.name] = new
        return (frames + FoxgloveText.advertise(new), Array(clients.keys))
    }

    // MARK: Clients

    /// Adds a client.
    /// - Returns: the first messages to send.
    mutating func join(_ number: Int, as role: Role, session: String) -> [UInt8] {
        clients[number] = Client(mayCommand: role >= .command)
        let all = channels.values.sorted { $0.id < $1.id }
        return FoxgloveText.serverInfo(session: session, mayCommand: role >= .command)
            + (all.isEmpty ? [] : FoxgloveText.advertise(all))
            + (role >= .command ? FoxgloveText.advertiseServices() : [])
    }

    mutating func leave(_ numbers: Set<Int>) {
        for number in numbers {
            for id in (clients[number]?.subscriptions ?? [:]).keys { unsubscribe(id, of: number) }
            clients[number] = nil
        }
    }

    private mutating func unsubscribe(_ id: UInt32, of number: Int) {
        guard let channel = clients[number]?.subscriptions.removeValue(forKey: id) else { return }
        subscribers[channel.stream, default: 1] -= 1
        if subscribers[channel.stream] == 0 { subscribers[channel.stream] = nil }
    }

    /// The consequence of a client's message.
    enum Outcome {
        /// Send these frames to the client.
        case tell([UInt8])
        /// Send the named parameters to the client, or all if none are named.
        case tellParameters([String], id: String?)
        /// Send a request to a program, and its reply to the client.
        case ask(FoxgloveRequest)
    }

    /// Takes a message from a client.
    mutating func take(_ message: WebSocketReader.Message, of number: Int) -> [Outcome] {
        switch message {
        case .text(let text):
            guard let command = try? WireCoding.decode(FoxgloveText.Command.self, from: text) else {
                return [.tell(FoxgloveText.error("this is not a message of foxglove.sdk.v1"))]
            }
            return take(command, of: number)
        case .binary(let bytes):
            guard let request = FoxgloveText.request(bytes) else {
                return [.tell(FoxgloveText.error("this is not a service request in JSON"))]
            }
            guard let service = FoxgloveService(rawValue: request.service) else {
                return [
                    .tell(
                        FoxgloveText.failure(
                            service: request.service, call: request.call, "there is no such service"))
                ]
            }
            return [
                .ask(
                    FoxgloveRequest(
                        method: service.method, params: request.body,
                        answer: .service(request.service, call: request.call)))
            ]
        case .ping, .close: return []
        }
    }

    private mutating func take(_ command: FoxgloveText.Command, of number: Int) -> [Outcome] {
        switch command.op {
        case "subscribe":
            return (command.subscriptions ?? []).compactMap { subscription in
                guard let channel = channels[subscription.channelId],
                    let count = clients[number]?.subscriptions.count, count < Self.maximumSubscriptions,
                    clients[number]?.subscriptions[subscription.id] == nil
                else {
                    return .tell(
                        FoxgloveText.error(
                            "there is no channel \(subscription.channelId), or already a subscription \(subscription.id)"
                        ))
                }
                clients[number]?.subscriptions[subscription.id] = channel
                subscribers[channel.stream, default: 0] += 1
                return nil
            }
        case "unsubscribe":
            for id in command.subscriptionIds ?? [] { unsubscribe(id, of: number) }
            return []
        case "getParameters": return [.tellParameters(command.parameterNames ?? [], id: command.id)]
        case "setParameters":
            return (command.parameters ?? []).map { parameter in
                guard let (method, params) = Self.request(parameter) else {
                    return .tell(FoxgloveText.error("\(parameter.name) can't be set to this"))
                }
                return .ask(FoxgloveRequest(method: method, params: params, answer: .parameters(id: command.id)))
            }
        case "subscribeParameterUpdates":
            clients[number]?.wantsParameters = true
            // Otherwise the client would miss changes since it requested the parameters.
            return [.tellParameters(command.parameterNames ?? [], id: nil)]
        case "unsubscribeParameterUpdates":
            clients[number]?.wantsParameters = false
            return []
        default: return [.tell(FoxgloveText.error("\(command.op) is not offered here"))]
        }
    }

    /// The request that setting a parameter stands for.
    private static func request(_ parameter: FoxgloveParameter) -> (String, [UInt8])? {
        switch (parameter.name, parameter.value) {
        case (FoxgloveParameter.running, .boolean(true)): (RecordingStart.method, Array("{}".utf8))
        case (FoxgloveParameter.running, .boolean(false)): (RecordingStop.method, Array("{}".utf8))
        case (FoxgloveParameter.annotation, .string(let label)):
            (try? WireCoding.encode(["label": label])).map { (RecordingAnnotate.method, $0) }
        default: nil
        }
    }

    /// The current parameters.
    static func parameters(_ names: [String], running: [String]) -> [FoxgloveParameter] {
        [
            FoxgloveParameter(name: FoxgloveParameter.running, value: .boolean(!running.isEmpty)),
            FoxgloveParameter(name: FoxgloveParameter.session, value: .string(running.joined(separator: ", "))),
            FoxgloveParameter(name: FoxgloveParameter.annotation, value: .string("")),
        ].filter { names.isEmpty || names.contains($0.name) }
    }

    // MARK: Samples

    /// The frames that each subscription of a stream receives.
    func frames(
        of stream: StreamName, _ messages: borrowing StreamMessages
    ) -> [(client: Int, frames: [UInt8], samples: Int)] {
        let (json, imu) = (messages.jsonBatch, messages.imuBatch)
        let times = messages.times
        return clients.flatMap { number, client in
            client.subscriptions.compactMap { id, channel in
                guard channel.stream == stream else { return nil }
                let batch = channel.kind == .json ? json : imu
                return (
                    number, FoxgloveText.frames(batch, at: times, subscription: id), batch.ends.count
                )
            }
        }
    }
}

/// A Foxglove client's request for a program.
package struct FoxgloveRequest: Sendable {
    /// The form of the reply to the client.
    package enum Answer: Sendable {
        case service(UInt32, call: UInt32)
        case parameters(id: String?)
    }

    package let method: String
    /// A JSON object.
    package let params: [UInt8]
    package let answer: Answer

    /// The request's parameters, with defaults: all streams if none are named, and the running session.
    /// - Throws: `RequestError` if they are not an object, or if several sessions could be meant.
    package func completed(running: [String]) throws -> [UInt8] {
        guard
            case .object(var fields)? = try? WireCoding.decode(
                JSONValue.self, from: params.isEmpty ? Array("{}".utf8) : params)
        else { throw RequestError.notJSON("the request is not a JSON object") }
        if method == RecordingStart.method {
            if fields["streams"] == nil { fields["streams"] = .array([.string("*")]) }
        } else if fields["session"] == nil {
            guard running.count == 1 else {
                throw RequestError(
                    .invalidParameter,
                    "\(running.isEmpty ? "no session runs" : "\(running.count) sessions run"): name one as \"session\"")
            }
            fields["session"] = .string(running[0])
        }
        return try WireCoding.encode(JSONValue.object(fields))
    }
}

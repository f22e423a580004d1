import ConsoleCore
import MessageBus
import Messages
import Runtime
import SessionOverview
import WebServer

/// The reply of `/api/history`: the past samples of a stream that its publisher still keeps.
struct ConsoleHistory: Sendable {
    /// Limit of requested samples; the latest are requested.
    private static let maximumSamples = 500_000
    /// Limit of requests for one reply.
    private static let maximumRequests = 200
    /// How long a publisher may take for each request.
    private static let limit = Duration.seconds(5)

    private let engine: ConsoleEngine
    private let publishers: Publishers
    /// Thread for parsing samples, which may be many.
    private let reader: OwnThread<Void>

    init(engine: ConsoleEngine, publishers: Publishers) throws {
        self.engine = engine
        self.publishers = publishers
        reader = try OwnThread(name: "history", ())
    }

    func answer(_ request: WebRequest) async -> WebResponse {
        guard let device = request.arguments["device"], let stream = request.arguments["stream"],
            let range = PlotRange(request)
        else {
            return .refusal(400, "invalidParams", "write device, stream, and from, to and columns as numbers")
        }
        let name = StreamName(device: device, stream: stream)
        guard let (description, now) = await engine.description(of: name) else {
            return .refusal(404, "unknownStream", "no publisher has a stream of this name")
        }
        do {
            return WebResponse(body: try await history(of: description, range, now: now))
        } catch {
            let error = error as? RequestError ?? RequestError(.timedOut, "its publisher does not answer: \(error)")
            return .json(["error": error], status: ConsoleRoutes.status(of: error))
        }
    }

    private func history(of stream: StreamDescription, _ range: PlotRange, now: Moment) async throws -> [UInt8] {
        var next = first(of: stream, range, now: now)
        let end = stream.nextSequence
        var plot = StreamHistory(stream, range.since(0), columns: range.columns)
        for _ in 0..<Self.maximumRequests where next < end && !plot.isBehindItsEnd {
            let request = SamplesReplay(
                device: stream.device, stream: stream.stream, epoch: stream.epoch, from: next, count: end - next)
            let (reply, frames) = try await publishers.ask(stream.replay) { client in
                try await client.sendForFrames(request, timeout: Self.limit)
            }
            guard reply.count > 0 else { break }
            let before = plot
            plot = try await reader.run { (_) throws(MessageError) in
                var plot = before
                try plot.take(frames)
                return plot
            }
            guard let place = plot.next, place > next else { break }
            next = place
        }
        return plot.text
    }

    /// The first sample to request: a second before the range begins, according to the rate.
    private func first(of stream: StreamDescription, _ range: PlotRange, now: Moment) -> Int {
        let least = max(0, stream.nextSequence - Self.maximumSamples)
        guard let rate = stream.rate, rate > 0, let from = range.from else { return least }
        let seconds = Double(now.date.nanosecondsSince1970.subtractingClamped(from)) / 1e9 + 1
        let count = max(0, seconds) * rate * 1.05
        return count < Double(stream.nextSequence - least) ? stream.nextSequence - Int(count) : least
    }
}

import Messages
import PublisherCore
import SampleSources
import ServiceKit
import WebServer

/// Answers clients that push over HTTP. Bodies are parsed here, off the engine's thread.
struct PushRoutes: Sendable {
    private struct Reply: Encodable {
        struct Failure: Encodable {
            var code: String
            var message: String
        }

        var next: Int?
        var error: Failure?
    }

    let engine: SamplingEngine
    /// The link to the page for phones.
    let phoneLink: String
    let experiment: PhyphoxExperiment

    func answer(_ request: WebRequest) async -> WebResponse {
        do throws(PublisherError) {
            switch (request.method, request.path) {
            case ("POST", "/samples"): return await push(.numbered(try NumberedSamples(request.body)))
            case ("POST", "/sensor-logger"): return await push(.sensorLogger(try SensorLoggerMessage(request.body)))
            case ("POST", "/phyphox"):
                return await push(
                    .unnumbered(try UnnumberedSamples(phyphox: request.body, device: request.arguments["device"])))
            case (_, "/phyphox"): return try phyphox(request)
            case (_, "/samples"), (_, "/sensor-logger"):
                return .refusal(405, "notAllowed", "send samples with POST")
            case (_, "/recording"):
                return Self.response(200, await engine.recording(of: request.arguments["device"] ?? ""))
            case (_, "/phone-link.svg"):
                return WebResponse(type: "image/svg+xml", body: Array((QRCode(phoneLink)?.svg ?? "").utf8))
            default:
                return PhonePages.response(request.path)
                    ?? .refusal(
                        404, "notFound",
                        "send samples to /samples, and Sensor Logger's messages to /sensor-logger; a phone opens /phone"
                    )
            }
        } catch {
            return Self.response(400, Reply(error: Reply.Failure(code: error.code.rawValue, message: error.message)))
        }
    }

    private func phyphox(_ request: WebRequest) throws(PublisherError) -> WebResponse {
        let device = request.arguments["device"]
        if let device { _ = try StreamName(pushed: device, "any") }
        let file = experiment.file(for: request.headers["host"], device: device)
        var response = WebResponse(type: "application/xml; charset=utf-8", body: Array(file.utf8))
        response.headers = [("Content-Disposition", "attachment; filename=\"holdfast.phyphox\"")]
        return response
    }

    private func push(_ message: PushMessage) async -> WebResponse {
        switch await engine.push(message) {
        case .accepted(let next): return Self.response(200, Reply(next: next))
        case .unstored(let sentence):
            return WebResponse(status: 499, type: "text/plain; charset=utf-8", body: Array(sentence.utf8))
        case .wanted(let next):
            return Self.response(
                409,
                Reply(next: next, error: Reply.Failure(code: "wanted", message: "send the samples from \(next) on")))
        case .refused(let refusal):
            return Self.response(
                refusal.status,
                Reply(next: refusal.next, error: Reply.Failure(code: refusal.kind.rawValue, message: refusal.message)))
        }
    }

    private static func response(_ status: UInt32, _ reply: some Encodable) -> WebResponse {
        guard let body = try? WireCoding.encode(reply) else {
            return .refusal(500, "internalError", "the answer can't be written as JSON")
        }
        return WebResponse(status: status, body: body)
    }
}

extension PushRefusal {
    /// The closest HTTP status.
    fileprivate var status: UInt32 {
        switch kind {
        case .invalid: 400
        case .conflict: 409
        case .tooLate: 410
        case .tooMany, .stopping: 503
        }
    }
}

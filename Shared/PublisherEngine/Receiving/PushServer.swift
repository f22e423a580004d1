import Glibc
import Messages
import ServiceKit
import SystemPackage
import WebIdentity
import WebServer

/// The HTTP server that devices push to, who may push, and the addresses that are printed at the start.
struct PushServer: Sendable {
    /// Whom a token is made for.
    private static let users = ["device"]

    let server: WebServer
    private let admission: DeviceAdmission
    /// What is printed at the start.
    let greeting: String
    /// What a phone opens. The token is behind the #, so that no server and no log sees it.
    let phoneLink: String
    /// What phyphox is given.
    let experiment: PhyphoxExperiment
    /// What the identity's owner should know; nil if there is nothing.
    let notice: String?

    /// Starts to listen; nil without `listen-http`.
    /// - Throws: `ServiceError` if the address can't be listened on, or the identity can't be used.
    init?(_ settings: PublisherSettings, at date: WallTime) throws {
        guard let listen = settings.listenHTTP else { return nil }
        let identity = try settings.httpIdentity.map { path throws(ServiceError) in
            try WebIdentity(in: path, users: Self.users, host: listen.host, names: [], at: date)
        }
        do {
            server = try WebServer(
                host: listen.host, port: listen.port, limits: .devices, credentials: identity?.credentials)
        } catch let error as Errno {
            throw ServiceError(
                error == .addressNotAvailable || error == .invalidArgument ? .badConfiguration : .inputOutput,
                "devices can't be listened to at \(listen): \(error); give --listen-http another port or host")
        }
        admission = DeviceAdmission(port: server.port, tokens: identity?.tokens ?? [:], open: PhonePages.paths)
        notice = identity?.notice
        let place = listen.place(
            port: server.port, forAll: identity == nil ? "127.0.0.1" : ThisMachine.address)
        let address = "\(identity == nil ? "http" : "https")://\(place)"
        let token = identity?.tokens.values.first
        let query = token.map { "?token=\($0)" } ?? ""
        phoneLink = "\(address)/phone\(token.map { "#token=\($0)" } ?? "")"
        experiment = PhyphoxExperiment(isSecure: identity != nil, place: place, token: token)
        var lines = [
            "sensor-publisher: devices push to \(address)/samples\(query)",
            "sensor-publisher: Sensor Logger pushes to \(address)/sensor-logger\(query)",
        ]
        if let identity { lines.append("sensor-publisher: \(identity.introduction)") }
        lines.append("sensor-publisher: a phone is a sensor while it shows \(phoneLink)")
        lines.append("sensor-publisher: phyphox is one while it runs the experiment of \(experiment.link)")
        // Only people point cameras, and only at what other machines can reach.
        let code = identity != nil && isatty(STDOUT_FILENO) == 1 ? QRCode(phoneLink)?.terminalText : nil
        greeting = lines.map { $0 + "\n" }.joined() + (code ?? "")
    }

    /// Serves until the task is cancelled.
    func run(_ routes: PushRoutes) async throws {
        try await server.run(admitting: { admission.answer(to: &$0) }) { await routes.answer($0) }
    }
}

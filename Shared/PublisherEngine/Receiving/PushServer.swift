import Glibc
import Messages
import ServiceKit
import SystemPackage
import WebIdentity
import WebServer

/// The HTTP server that devices push to, its access control, and the addresses printed at the start.
struct PushServer: Sendable {
    /// The users for whom tokens are made.
    private static let users = ["device"]

    let server: WebServer
    private let admission: DeviceAdmission
    /// The text printed at the start.
    let greeting: String
    /// The link for phones. The token follows the #, so that no server or log sees it.
    let phoneLink: String
    let experiment: PhyphoxExperiment
    /// A notice for the identity's owner; nil if there is none.
    let notice: String?

    /// Starts to listen; nil without `listen-http`.
    /// - Throws: `ServiceError` if the address cannot be used to listen, or the identity cannot be used.
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
                error == .invalidArgument ? .badConfiguration : .inputOutput,
                "can't listen for devices at \(listen): \(error); choose another port or host with --listen-http")
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
        // Print the code only on a terminal, and only for an address that other machines can reach.
        lines.append("sensor-publisher: phyphox is a sensor while it runs the experiment of \(experiment.link)")
        let code = identity != nil && isatty(STDOUT_FILENO) == 1 ? QRCode(phoneLink)?.terminalText : nil
        greeting = lines.map { $0 + "\n" }.joined() + (code ?? "")
    }

    /// Serves until the task is cancelled.
    func run(_ routes: PushRoutes) async throws {
        try await server.run(admitting: { admission.answer(to: &$0) }) { await routes.answer($0) }
    }
}

import ArgumentParser
import Messages
import ServiceKit
import SystemPackage
import WebServer

/// The command line of console: serves the page from which a lab sees what the programs do, and controls recordings.
@main
struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console", abstract: "Serve a web page that shows and controls the running programs.",
        discussion: """
            The page is served on this machine alone, at http://127.0.0.1:5500. Everybody with an account on this machine can open \
            it; with --login, only who has the link that is printed at the start.
            """, version: Version.current)

    @Option(help: ArgumentHelp("Serve the page's files from this folder.", valueName: "folder"), completion: .directory)
    var pages: String

    @Option(help: "Serve on this port; 0 for any that is free.")
    var port: UInt16 = 5500

    @Flag(help: "Ask for a token, which the link printed at the start has.")
    var login = false

    @Option(help: "What the page may do: listen, command or delete.", transform: Role.init(typed:))
    var role = Role.delete

    @Option(help: "Ask sensor-publisher at this endpoint.")
    var sensorPublisher = Program.sensorPublisher.defaultReply

    @Option(help: "Ask recorder at this endpoint.")
    var recorder = Program.recorder.defaultReply

    @Option(help: "Ask step-counter at this endpoint.")
    var stepCounter = Program.stepCounter.defaultReply

    @Option(help: "Ask log-manager at this endpoint.")
    var logManager = Program.logManager.defaultReply

    @Option(help: "Ask archiver at this endpoint.")
    var archiver = Program.archiver.defaultReply

    func run() async throws {
        do {
            let routes = ConsoleRoutes(
                pages: try ConsolePages(in: FilePath(pages)), programs: try ConsolePrograms(endpoint), role: role)
            let token = login ? Self.token() : nil
            let server: WebServer
            do {
                server = try WebServer(port: port, token: token)
            } catch let error as Errno {
                throw ServiceError(.inputOutput, "port \(port) of 127.0.0.1 can't be served: \(error)")
            }
            let link = "http://127.0.0.1:\(server.port)/\(token.map { "?token=\($0)" } ?? "")"
            StandardStream.output.print("console: open \(link)\n")
            try await server.run { await routes.answer($0) }
        } catch {
            StandardStream.error.print("console: \(error)\n")
            throw ExitCode(ExitStatus(error).rawValue)
        }
    }

    private func endpoint(of program: Program) -> Endpoint {
        switch program {
        case .sensorPublisher: sensorPublisher
        case .recorder: recorder
        case .stepCounter: stepCounter
        case .logManager: logManager
        case .archiver: archiver
        }
    }

    /// 128 random bits as text.
    private static func token() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}

import ArchiverCore
import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// Sends requests to log-manager to mark and remove stream files.
struct LogManagerClient {
    /// The timeout for marking a batch, which waits for the disk several times.
    private static let markLimit = Duration.seconds(10)
    /// The timeout for removing files.
    private static let removalLimit = Duration.seconds(30)

    private let endpoint: String
    private let client: RequestClient

    init(on host: ServiceHost, endpoint: Endpoint) throws {
        self.endpoint = endpoint.description
        client = try host.peers.client(of: .logManager, at: endpoint)
    }

    /// - Returns: the files that were refused.
    func ask(_ request: Deliveries.LogManagerRequest) async -> Result<[LogFileOutcome.Refusal], ArchiveFailure> {
        do {
            switch request {
            case .mark(let files, let receipt):
                let request = LogsMarkUploaded(paths: files.map(\.path), receipt: receipt, files: files)
                return .success(try await client.send(request, timeout: Self.markLimit).refused)
            case .remove(let paths):
                let request = LogsRemoveUploaded(paths: paths)
                return .success(try await client.send(request, timeout: Self.removalLimit).refused)
            }
        } catch let error as ZeroMQError where error.code == .timedOut {
            return .failure(.away(endpoint, after: Deliveries.awayPause))
        } catch let error as RequestError {
            return .failure(
                ArchiveFailure(
                    code: error.data?.reason ?? "refused", reason: "log-manager at \(endpoint) refused: \(error)",
                    retry: .backingOff, isRefusal: true))
        } catch {
            return .failure(
                ArchiveFailure(code: "inputOutput", reason: "\(error)", retry: .backingOff, isRefusal: true))
        }
    }
}

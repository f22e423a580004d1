import Files
package import MessageBus
package import Metrics
package import ServiceKit

extension RunningService {
    /// Creates a program's service from its engine.
    package init(_ engine: some Engine, router: RequestRouter, listener: Listener? = nil) async {
        let loss = await engine.loss
        self.init(
            router: router, outcome: { loss.isRaised ? .doneWithLoss : .done },
            metrics: {
                var page = await engine.page
                if let listener { page.add(listener) }
                return page
            },
            parts: { _ in [engine] })
    }

    /// Opens a program's files in its data directory, for example while creating its engine.
    /// - Throws: `ServiceError` if another program uses the directory (bad configuration), or it can't be read or written.
    package static func opening<Opened>(_ open: () async throws -> Opened) async throws -> Opened {
        do {
            return try await open()
        } catch let error as RecordingError {
            throw ServiceError(error.code == .locked ? .badConfiguration : .inputOutput, "\(error)")
        }
    }
}

extension Engine {
    fileprivate var loss: LossFlag { runtime.loss }

    /// The counts that are computed only on demand. This also updates those in health.
    package var page: MetricsPage {
        measure()
        return metrics
    }
}

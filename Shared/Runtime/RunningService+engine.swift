package import MessageBus
package import Metrics
package import ServiceKit

extension RunningService {
    /// A program that is an engine.
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
}

extension Engine {
    fileprivate var loss: LossFlag { runtime.loss }

    /// What is counted only when somebody asks. Health has the rest then, as it is now.
    package var page: MetricsPage {
        measure()
        return metrics
    }
}

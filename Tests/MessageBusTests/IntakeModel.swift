import MessageBus
import Messages

/// Uses a reorder buffer as a recording does, and keeps the outcome for each sample.
final class IntakeModel {
    private(set) var intake = ReorderBuffer()
    private let maximumHeldBytes: Int
    /// The written samples of each epoch, in order.
    private(set) var taken: [String: [Int]] = [:]
    /// The epochs in the order in which their samples were written.
    private(set) var order: [String] = []
    /// The gaps that were given up.
    private(set) var lost: [Gap] = []

    init(maximumHeldBytes: Int = .max) {
        self.maximumHeldBytes = maximumHeldBytes
    }

    func start(_ epoch: String, at sequence: Int) { intake.start(epoch: epoch, at: sequence) }
    func end(_ epoch: String, before sequence: Int) { intake.end(epoch: epoch, before: sequence) }
    func expect(_ epoch: String, upTo sequence: Int) -> Bool { intake.expect(epoch: epoch, upTo: sequence) }
    func expectEnd() -> Bool { intake.expectEnd() }
    func searchEnd(of epoch: String) -> Bool { intake.searchEnd(of: epoch) }

    /// The buffer's decision about a batch.
    func admit(_ epoch: String, _ samples: Range<Int>) -> ReorderBuffer.Admission {
        intake.admit(epoch: epoch, sequence: samples.lowerBound, count: samples.count)
    }

    var missing: Range<Int>? { intake.recovery?.missing }

    func arrive(_ epoch: String, _ samples: Range<Int>) {
        switch admit(epoch, samples) {
        case .take(let rows): take(epoch, samples, rows)
        case .duplicate, .late: break
        case .wait, .gap:
            let frame = [UInt8](repeating: 0, count: 100)
            let batch = ReorderBuffer.HeldBatch(
                epoch: epoch, sequence: samples.lowerBound, count: samples.count, frames: [frame])
            if intake.heldBytes < maximumHeldBytes {
                intake.hold(batch)
            } else {
                intake.noteUnheld(epoch: epoch, upTo: samples.upperBound)
            }
        }
    }

    func bring(_ epoch: String, _ samples: Range<Int>) {
        guard
            let rows = intake.admitRecovered(epoch: epoch, sequence: samples.lowerBound, count: samples.count)
        else { return }
        take(epoch, samples, rows)
        goOn()
    }

    /// The requested samples are not available.
    func giveUp(before sequence: Int? = nil, _ reason: Gap.Reason = .notRetained) {
        if let gap = intake.giveUp(before: sequence, reason: reason) { lost.append(gap) }
        goOn()
    }

    /// The search for an unknown end is over: an answer was empty.
    func finishSearch() {
        intake.finishSearch()
        goOn()
    }

    /// Nothing is missing any more: takes the waiting batches.
    func goOn() {
        while let (batch, rows) = intake.takeHeld() {
            take(batch.epoch, batch.sequence..<batch.sequence + batch.count, rows)
        }
    }

    private func take(_ epoch: String, _ samples: Range<Int>, _ rows: Range<Int>) {
        if !rows.isEmpty, order.last != epoch { order.append(epoch) }
        taken[epoch, default: []] += rows.map { samples.lowerBound + $0 }
    }
}

import MessageBus
import Messages

/// Does with an intake what a recording does, and remembers what became of each sample.
final class IntakeModel {
    private(set) var intake = ReorderBuffer()
    private let maximumHeldBytes: Int
    /// The samples that were written, in the order in which they were.
    private(set) var taken: [String: [Int]] = [:]
    /// The epochs in the order in which their samples were written.
    private(set) var order: [String] = []
    /// The samples that were given up.
    private(set) var lost: [Gap] = []

    init(maximumHeldBytes: Int = .max) {
        self.maximumHeldBytes = maximumHeldBytes
    }

    func start(_ epoch: String, at sequence: Int) { intake.start(epoch: epoch, at: sequence) }
    func end(_ epoch: String, before sequence: Int) { intake.end(epoch: epoch, before: sequence) }
    func expect(_ epoch: String, upTo sequence: Int) -> Bool { intake.expect(epoch: epoch, upTo: sequence) }
    func expectEnd() -> Bool { intake.expectEnd() }
    func searchEnd(of epoch: String) -> Bool { intake.searchEnd(of: epoch) }

    /// What the intake says of a batch.
    func admit(_ epoch: String, _ samples: Range<Int>) -> ReorderBuffer.Admission {
        intake.admit(epoch: epoch, sequence: samples.lowerBound, count: samples.count)
    }

    /// What is being asked for.
    var missing: Range<Int>? { intake.recovery?.missing }

    /// A batch arrives.
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

    /// A replay brings a batch.
    func bring(_ epoch: String, _ samples: Range<Int>) {
        guard
            let rows = intake.admitRecovered(epoch: epoch, sequence: samples.lowerBound, count: samples.count)
        else { return }
        take(epoch, samples, rows)
        goOn()
    }

    /// What is being asked for can't be had.
    func giveUp(before sequence: Int? = nil, _ reason: Gap.Reason = .notRetained) {
        if let gap = intake.giveUp(before: sequence, reason: reason) { lost.append(gap) }
        goOn()
    }

    /// An end that is searched for was found: an answer brought nothing.
    func finishSearch() {
        intake.finishSearch()
        goOn()
    }

    /// What was missing is not any more: continue what waited.
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

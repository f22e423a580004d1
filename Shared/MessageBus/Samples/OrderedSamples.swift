package import Messages

/// One stream's samples in order, of one run of its publisher, an epoch, at a time: which batches are of it, which wait for
/// others, what is missing, and where that is replayed.
package struct OrderedSamples {
    /// So many starts of the publisher are remembered, to know another publisher of the same stream by.
    private static let rememberedEpochs = 64

    package let name: StreamName
    package private(set) var epoch: String
    /// Where missing samples are replayed.
    package var replay: String
    package var buffer = ReorderBuffer()
    /// The epoch as it stands in a body.
    private var token: [UInt8]
    private var pastEpochs: [String] = []
    private let held: HeldBytes
    private var accountedBytes = 0

    /// - Parameter held: counts what waits, of several streams.
    package init(_ description: StreamDescription, held: HeldBytes) {
        name = description.name
        epoch = description.epoch
        replay = description.replay
        token = Self.token(of: description.epoch)
        self.held = held
    }

    private static func token(of epoch: String) -> [UInt8] { Array("\"\(epoch)\"".utf8) }

    // MARK: Epochs

    /// Whether an epoch was left before: another publisher has a stream of this name.
    package func hasLeft(_ epoch: String) -> Bool { pastEpochs.contains(epoch) }

    /// Leaves the epoch for another one. What is missing of it must be given up before.
    /// - Parameter first: the first sample of that one.
    package mutating func begin(_ epoch: String, at first: Int) {
        if pastEpochs.count == Self.rememberedEpochs { pastEpochs.removeFirst() }
        pastEpochs.append(self.epoch)
        self.epoch = epoch
        token = Self.token(of: epoch)
        buffer = ReorderBuffer()
        buffer.start(epoch: epoch, at: first)
        account()
    }

    /// Whether a batch is of the epoch.
    package mutating func isOfEpoch(_ batch: ReceivedBatch) -> Bool {
        let token = UnsafeRawBufferPointer(rebasing: batch.frame[batch.body.epoch])
        if token.isSame(as: self.token) { return true }
        guard SampleBody.string(at: batch.body.epoch, in: batch.frame) == epoch else { return false }
        self.token = Array(token)
        return true
    }

    // MARK: Batches

    /// Places a batch of the epoch. One that must wait is held if there is room for it; it is replayed if not.
    package mutating func admit(_ batch: ReceivedBatch) -> ReorderBuffer.Admission {
        let admission = buffer.admit(epoch: epoch, sequence: batch.body.sequence, count: batch.body.count)
        if admission == .wait || admission == .gap {
            if held.hasRoom { buffer.hold(ReorderBuffer.HeldBatch(batch, epoch: epoch)) }
            account()
        }
        return admission
    }

    /// Refuses what a replay may not bring.
    package mutating func checkReplayed(_ batch: ReceivedBatch) throws(MessageError) {
        guard isOfEpoch(batch), batch.isOf(name) else {
            throw MessageError(.malformed, "a replay brought another stream's samples")
        }
    }

    /// The rows of a replayed batch that are missing next; nil if none are.
    package mutating func admitReplayed(_ batch: ReceivedBatch) -> Range<Int>? {
        buffer.admitRecovered(epoch: epoch, sequence: batch.body.sequence, count: batch.body.count)
    }

    /// What is to be replayed next; nil if nothing is missing.
    package var missing: MissingSamples? { buffer.recovery.map { MissingSamples($0, of: name, at: replay) } }

    /// Counts what waits, after batches were taken from the buffer.
    package mutating func account() { held.account(for: buffer, &accountedBytes) }
}

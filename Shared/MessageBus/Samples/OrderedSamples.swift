package import Messages

/// One stream's samples in order, one epoch at a time: it sorts out batches of the epoch, those that wait, and missing samples,
/// and has the endpoint that replays them.
package struct OrderedSamples {
    /// The number of past epochs to remember, in order to detect another publisher of the same stream.
    private static let rememberedEpochs = 64

    package let name: StreamName
    package private(set) var epoch: String
    /// The endpoint that replays missing samples.
    package var replay: String
    package var buffer = ReorderBuffer()
    /// The epoch as a body spells it.
    private var token: [UInt8]
    private var pastEpochs: [String] = []
    private let held: HeldBytes
    private var accountedBytes = 0

    /// - Parameter held: counts the waiting bytes of several streams.
    package init(_ description: StreamDescription, held: HeldBytes) {
        name = description.name
        epoch = description.epoch
        replay = description.replay
        token = Self.token(of: description.epoch)
        self.held = held
    }

    private static func token(of epoch: String) -> [UInt8] { Array("\"\(epoch)\"".utf8) }

    // MARK: Epochs

    /// Whether the stream left this epoch before. If so, another publisher has a stream of the same name.
    package func hasLeft(_ epoch: String) -> Bool { pastEpochs.contains(epoch) }

    /// Changes to another epoch. Missing samples of the current one must be given up before.
    /// - Parameter first: the first sample of the new epoch.
    package mutating func begin(_ epoch: String, at first: Int) {
        if pastEpochs.count == Self.rememberedEpochs { pastEpochs.removeFirst() }
        pastEpochs.append(self.epoch)
        self.epoch = epoch
        token = Self.token(of: epoch)
        buffer = ReorderBuffer()
        buffer.start(epoch: epoch, at: first)
        account()
    }

    /// Whether a batch belongs to the current epoch.
    package mutating func isOfEpoch(_ batch: ReceivedBatch) -> Bool {
        let token = UnsafeRawBufferPointer(rebasing: batch.frame[batch.body.epoch])
        if token.isSame(as: self.token) { return true }
        guard SampleBody.string(at: batch.body.epoch, in: batch.frame) == epoch else { return false }
        self.token = Array(token)
        return true
    }

    // MARK: Batches

    /// Decides about a batch of the epoch. A batch that must wait is held if there is room, and replayed later if not.
    package mutating func admit(_ batch: ReceivedBatch) -> ReorderBuffer.Admission {
        let admission = buffer.admit(epoch: epoch, sequence: batch.body.sequence, count: batch.body.count)
        if admission == .wait || admission == .gap {
            if held.hasRoom { buffer.hold(ReorderBuffer.HeldBatch(batch, epoch: epoch)) }
            account()
        }
        return admission
    }

    /// Refuses batches of other streams or epochs in a replay.
    /// - Throws: `malformed`.
    package mutating func checkReplayed(_ batch: ReceivedBatch) throws(MessageError) {
        guard isOfEpoch(batch), batch.isOf(name) else {
            throw MessageError(.malformed, "a replay brought another stream's samples")
        }
    }

    /// The rows of a replayed batch that are missing next; nil if there are none.
    package mutating func admitReplayed(_ batch: ReceivedBatch) -> Range<Int>? {
        buffer.admitRecovered(epoch: epoch, sequence: batch.body.sequence, count: batch.body.count)
    }

    /// The request for the next missing samples; nil if none are missing.
    package var missing: MissingSamples? { buffer.recovery.map { MissingSamples($0, of: name, at: replay) } }

    /// Updates the count of held bytes after batches were taken from the buffer.
    package mutating func account() { held.account(for: buffer, &accountedBytes) }
}

import ArchiveStorage
import Messages
import Upload

/// A receiver of archives in virtual time: it may be busy, refuse, break off, receive other bytes than were sent, or lose its
/// answers. It never replaces an object.
final class SimulatedReceiver {
    private let simulation: Simulation
    /// The percentage of tries that fail.
    var faults: Int
    private(set) var objects: [String: String] = [:]

    init(faults: Int, of simulation: Simulation) {
        self.faults = faults
        self.simulation = simulation
    }

    private var isFault: Bool { simulation.number(0...99) < faults }

    /// Takes an archive.
    /// - Parameter sha256: the hash of the sent bytes.
    func receive(
        _ archive: ArchiveRecord.Archive, sha256: String, at date: WallTime
    ) -> Result<UploadConfirmation, UploadError> {
        simulation.counts.uploads += 1
        if isFault { return .failure(refusal()) }
        let before = objects[archive.name]
        if let before, before != sha256 {
            simulation.violate("archiver: \(archive.name) would be another object than the receiver has")
            return .failure(error(.different, "it has another file of this name", .never))
        }
        // The received bytes are compared with the announced hash.
        if isFault { return .failure(error(.corrupted, "it received other bytes", .later)) }
        objects[archive.name] = sha256
        // The answer is lost.
        if isFault { return .failure(error(.timedOut, "there was no answer", .later)) }
        return .success(
            UploadConfirmation(
                location: "out/\(archive.name)", bytes: archive.bytes, sha256: sha256, proof: .sha256, checksum: sha256,
                wasThere: before != nil, date: date))
    }

    private func refusal() -> UploadError {
        switch simulation.number(0...4) {
        case 0: error(.busy, "it is busy", .after(.seconds(simulation.number(1...30))))
        case 1: error(.refused, "it refuses", .never)
        default: error(.unreachable, "it was not reached", .later)
        }
    }

    private func error(_ code: UploadError.Code, _ reason: String, _ retry: UploadError.Retry) -> UploadError {
        UploadError(code, at: "out", reason, advice: "Wait.", retry: retry)
    }
}

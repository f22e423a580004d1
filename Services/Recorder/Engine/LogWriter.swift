import Files
import Recording
import ZeroMQ

/// Appends to the write-ahead log, on a thread that may wait for the disk.
actor LogWriter {
    private let thread: SocketThread
    private let log: WriteAheadLog

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(_ log: sending WriteAheadLog) throws(ZeroMQError) {
        thread = try SocketThread(name: "commit")
        self.log = log
    }

    /// Makes a block durable.
    /// - Returns: why it is not.
    func append(_ block: LogBlock) -> RecordingError? {
        RecordingError.thrown { () throws(RecordingError) in try log.append(block) }
    }

    /// Deletes segments that no session needs any more.
    /// - Parameter current: the position at which the segment begins that is being written.
    /// - Returns: the bytes that are left; nil if that could not be found out.
    func remove(before position: Int, current: Int) -> Int? { try? log.remove(before: position, current: current) }
}

extension Actor {
    /// Returns when what was asked of it before is done, if it has a thread that does one thing after the other.
    func settle() {
        // Without anything that needs the thread, the optimiser leaves out the way there.
        preconditionIsolated()
    }
}

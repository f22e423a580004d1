package import Files
import MessageBus
import Messages
package import Recording

extension Sending.Spool {
    /// Opens the spool left by a previous run of the program.
    /// - Parameter log: the identifier of the log for new events.
    /// - Returns: the spool, and the damage that prevents reading all of it.
    package static func open(
        _ directory: Directory, log: String, calls: FileCalls = .system
    ) throws(RecordingError) -> (spool: Sending.Spool, damage: LogReader.Damage?) {
        try WriteAheadLog.sync(directory, calls: calls)
        var reader = LogReader(directory)
        var spool = Sending.Spool(log: log, start: 0, end: 0, synced: 0)
        // Acknowledged segments are deleted, so a log that does not begin at 0 is not damaged.
        let first = try WriteAheadLog.segments(in: directory).first
        func note(_ frame: LogFrame) {
            guard let event = frame.event.flatMap({ RelayedEvent($0) }), let place = event.place else { return }
            spool.note(place, of: event.name)
        }
        try reader.forEachFrame(from: first ?? 0, note)
        spool.end = reader.end
        spool.synced = reader.synced
        spool.holes = reader.holes
        spool.start = first ?? spool.end
        if reader.damage != nil {
            // Later segments are sent too, so streams continue after them.
            spool.streams = [:]
            _ = try LogCursor(in: directory, at: spool.start).read(
                from: spool.start, upTo: spool.synced, limit: .max, note)
        }
        return (spool, reader.damage)
    }
}

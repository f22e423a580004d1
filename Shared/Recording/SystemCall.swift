import Glibc
import SystemPackage

/// How calls of the system are made: again, when a signal interrupted them.
enum SystemCall {
    /// Makes a call that answers 0 when it succeeded.
    static func perform(_ action: String, _ path: FilePath, _ body: () -> Int32) throws(RecordingError) {
        do throws(Errno) {
            try repeating { () throws(Errno) in if body() != 0 { throw .last } }
        } catch {
            throw RecordingError(error, action: action, path: path)
        }
    }

    /// Makes a call until it was not interrupted.
    static func repeating<Value>(_ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        while true {
            do throws(Errno) {
                return try body()
            } catch {
                if error != .interrupted { throw error }
            }
        }
    }
}

extension Errno {
    /// What the last call on this thread answered.
    static var last: Errno { Errno(rawValue: Glibc.errno) }
}

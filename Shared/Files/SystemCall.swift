import Glibc
import SystemPackage

/// How calls of the system are made: again, when a signal interrupted them.
enum SystemCall {
    /// Makes a call that answers 0 when it succeeded.
    static func perform(_ action: String, _ path: FilePath, _ body: () -> Int32) throws(RecordingError) {
        try attempt(action, path) { () throws(Errno) in try check(body()) }
    }

    /// Makes a call that throws what the system answered.
    static func attempt<Value>(
        _ action: String, _ path: FilePath, _ body: () throws(Errno) -> Value
    ) throws(RecordingError) -> Value {
        do throws(Errno) {
            return try repeating(body)
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

    /// Throws what the last call answered, unless it succeeded with 0.
    static func check(_ result: Int32) throws(Errno) {
        if result != 0 { throw .last }
    }
}

extension Errno {
    static var last: Errno { Errno(rawValue: Glibc.errno) }
}

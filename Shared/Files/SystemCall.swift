import Glibc
import SystemPackage

/// Makes system calls, and repeats them if a signal interrupted them.
enum SystemCall {
    /// Makes a call that returns 0 on success.
    static func perform(_ action: String, _ path: FilePath, _ body: () -> Int32) throws(RecordingError) {
        try attempt(action, path) { () throws(Errno) in try check(body()) }
    }

    /// Makes a call that throws the system's error.
    static func attempt<Value>(
        _ action: String, _ path: FilePath, _ body: () throws(Errno) -> Value
    ) throws(RecordingError) -> Value {
        do throws(Errno) {
            return try repeating(body)
        } catch {
            throw RecordingError(error, action: action, path: path)
        }
    }

    /// Repeats a call as long as it is interrupted.
    static func repeating<Value>(_ body: () throws(Errno) -> Value) throws(Errno) -> Value {
        while true {
            do throws(Errno) {
                return try body()
            } catch {
                if error != .interrupted { throw error }
            }
        }
    }

    /// Throws the last call's error, unless it returned 0.
    static func check(_ result: Int32) throws(Errno) {
        if result != 0 { throw .last }
    }
}

extension Errno {
    static var last: Errno { Errno(rawValue: Glibc.errno) }
}

import Glibc
import Messages
import ServiceKit
import SystemPackage
import ZeroMQ

/// Keys on standard input: on a terminal as they are pressed, otherwise as they arrive.
actor KeyInput {
    /// A key with a label, and when it was pressed.
    struct Press: Sendable {
        let label: String
        let date: WallTime
    }

    private let labels: [String]
    /// The keys and their labels, for the user.
    nonisolated let legend: String
    private let thread: SocketThread
    private let input: FileDescriptor
    /// The terminal's previous mode; nil if the input is no terminal.
    private let terminal: termios?

    /// - Parameter labels: the labels of the keys 1 to 9.
    init(_ labels: [String], thread: SocketThread, input: FileDescriptor = .standardInput) {
        self.labels = labels
        legend = labels.enumerated().map { "\($0 + 1) \($1)" }.joined(separator: "  ")
        self.thread = thread
        self.input = input
        var mode = termios()
        guard tcgetattr(input.rawValue, &mode) == 0 else {
            terminal = nil
            return
        }
        terminal = mode
        mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(input.rawValue, TCSANOW, &mode)
    }

    deinit { restore() }

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Restores the terminal's previous mode.
    nonisolated func restore() {
        guard var mode = terminal else { return }
        tcsetattr(input.rawValue, TCSANOW, &mode)
    }

    /// Reads keys until the input's end, and hands over each that has a label.
    func read(_ take: @Sendable (Press) -> Void) async throws {
        var chunk = [UInt8](repeating: 0, count: 64)
        while true {
            _ = try await thread.readable(descriptor: input.rawValue)
            do {
                // The input is readable, so this does not wait.
                let count = try chunk.withUnsafeMutableBytes { try input.read(into: $0) }
                if count == 0 { return }
                let date = WallTime.now
                for label in chunk[..<count].compactMap({ Self.label(of: $0, among: labels) }) {
                    take(Press(label: label, date: date))
                }
            } catch let error as Errno where error == .resourceTemporarilyUnavailable || error == .interrupted {
                continue
            }
        }
    }

    /// The label of a key; nil if it has none.
    static func label(of key: UInt8, among labels: [String]) -> String? {
        let index = Int(key) - Int(UInt8(ascii: "1"))
        return labels.indices.contains(index) ? labels[index] : nil
    }
}

import Logging
import MessageBus
import Messages
import Runtime
import ServiceKit
import TestSupport
import ZeroMQ

/// A core whose effects a test decides.
final class ScriptedCore: ProgramCore {
    enum Effect: CoreEffect, Sendable {
        /// Carried out in succession.
        case write(Int)
        /// Carried out in a task of its own.
        case ask(Int)
        /// Only the latest one is carried out.
        case look(Int)
        case count
        /// Publishes a number, together with the turn's other publications.
        case publish(Int)
        indirect case notice(Notice)
    }

    var effects: [Effect] = []
    var nextDeadline = Int64.max
    /// The time of each wake-up, and the deadline at that time.
    private(set) var wakes: [(time: Int64, deadline: Int64)] = []
    /// The effects that are being carried out, and those that were.
    var underWay: Set<Int> = []
    var done: [Int] = []
    var counted = 0

    func wake(at now: Moment) {
        wakes.append((now.monotonic, nextDeadline))
        nextDeadline = .max
    }
}

actor ScriptedEngine: Engine {
    enum Queue: Int, EffectQueueName {
        case writes, questions, looks

        var order: EffectOrder {
            switch self {
            case .writes: .inTurn
            case .questions: .atOnce
            case .looks: .newestOnly
            }
        }
    }

    let thread: SocketThread
    let core = ScriptedCore()
    let runtime: Runtime<ScriptedCore.Effect, Queue>
    /// Effects that take time end when the gate is open.
    nonisolated let gate = Gate()
    private(set) var measured = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(health: Health = Health(), events: EventPublisher? = nil) throws {
        thread = try SocketThread(name: "scripted")
        runtime = Runtime(
            events: events, health: health, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    static func queue(of effect: ScriptedCore.Effect) -> Queue? {
        switch effect {
        case .write: .writes
        case .ask: .questions
        case .look: .looks
        case .count, .publish, .notice: nil
        }
    }

    func carryOutQueued(_ effect: ScriptedCore.Effect) async throws {
        switch effect {
        case .write(let number), .ask(let number), .look(let number):
            core.underWay.insert(number)
            perform()
            await gate.pass()
            core.underWay.remove(number)
            core.done.append(number)
        case .count, .publish, .notice: return
        }
    }

    func carryOut(_ effect: ScriptedCore.Effect) {
        switch effect {
        case .count: core.counted += 1
        case .publish(let number):
            var body = ByteBuffer(capacity: 8)
            body.append(utf8: "\(number)")
            runtime.outgoing.append(topic: Array("numbers".utf8), body: body, packed: nil, at: runtime.date)
        case .notice(let notice): runtime.tell(notice)
        default: break
        }
    }

    func measure() { measured += 1 }

    func run() async throws { try await serve() }

    /// Returns when the core fulfils a condition.
    func waitUntil(before deadline: Int64 = .max, _ isSo: @escaping @Sendable (ScriptedCore) -> Bool) async throws {
        try await wait(until: deadline) { [core] in isSo(core) }
    }

    /// Changes the core, and carries out its effects.
    func tell(_ body: @Sendable (ScriptedCore) -> Void) {
        body(core)
        perform()
    }

    func read<Value: Sendable>(_ body: @Sendable (ScriptedCore) -> Value) -> Value { body(core) }

}

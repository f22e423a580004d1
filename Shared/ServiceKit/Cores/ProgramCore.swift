package import Messages

/// Where a core puts its effects, for the caller to take.
///
/// Public, as all that is to be inlined in other modules: the compiler does that with nothing that is `package`, and leaves generic
/// code there, which looks up types with each effect.
public protocol EffectSource: AnyObject {
    associatedtype Effect

    /// What is to be done, in this order. The core adds with `emit`, and the caller takes with `takeEffects`.
    var effects: [Effect] { get set }
}

/// What decides in a program. It receives events with their time and returns effects; it reads no clock, starts no task and
/// touches no file or socket, so that tests and the simulator run it in virtual time. Confined to one thread.
package protocol ProgramCore: EffectSource where Effect: CoreEffect {
    /// When to call `wake` next, on the monotonic clock: now, if it has passed; `.max` for never.
    var nextDeadline: Int64 { get }

    /// Does a piece of what is due by time.
    func wake(at now: Moment)
}

extension EffectSource {
    /// Adds an effect behind those that wait.
    @inlinable public func emit(_ effect: Effect) { effects.append(effect) }

    /// Moves the effects to carry out to the end of `taken`.
    /// - Returns: whether there were any.
    @inlinable public func takeEffects(into taken: inout [Effect]) -> Bool {
        if effects.isEmpty { return false }
        if taken.isEmpty { swap(&effects, &taken) } else { taken += effects }
        effects.removeAll(keepingCapacity: true)
        return true
    }

    /// Returns the effects to carry out, in this order, and forgets them.
    package func takeEffects() -> [Effect] {
        var taken: [Effect] = []
        _ = takeEffects(into: &taken)
        return taken
    }
}

package import Messages

/// Collects a core's effects for its caller.
///
/// Public, because the compiler does not inline `package` code in other modules; there it would be generic code that looks up
/// types with each effect.
public protocol EffectSource: AnyObject {
    associatedtype Effect

    /// The effects to carry out, in this order. The core adds with `emit`, and the caller takes with `takeEffects`.
    var effects: [Effect] { get set }
}

/// The decisions of a program. A core receives events with their time and returns effects; it reads no clock, starts no task
/// and touches no file or socket, so that tests and the simulator run it in virtual time. Confined to one thread.
package protocol ProgramCore: EffectSource where Effect: CoreEffect {
    /// When to call `wake` next, on the monotonic clock: at once if it has passed; `.max` for never.
    var nextDeadline: Int64 { get }

    /// Does a part of the work that is due.
    func wake(at now: Moment)
}

extension EffectSource {
    /// Adds an effect behind the waiting ones.
    @inlinable public func emit(_ effect: Effect) { effects.append(effect) }

    /// Moves the waiting effects to the end of `taken`.
    /// - Returns: whether there were any.
    @inlinable public func takeEffects(into taken: inout [Effect]) -> Bool {
        if effects.isEmpty { return false }
        if taken.isEmpty { swap(&effects, &taken) } else { taken += effects }
        effects.removeAll(keepingCapacity: true)
        return true
    }

    /// Removes and returns the waiting effects, in order.
    package func takeEffects() -> [Effect] {
        var taken: [Effect] = []
        _ = takeEffects(into: &taken)
        return taken
    }
}

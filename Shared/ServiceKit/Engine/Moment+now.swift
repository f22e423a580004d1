package import Messages
import ZeroMQ

extension Moment {
    /// What both of this machine's clocks say.
    package static var now: Moment { Moment(monotonic: MonotonicClock.now, date: .now) }
}

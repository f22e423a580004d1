import CZeroMQ
import Glibc
import Synchronization

/// The loop of a `SocketThread`. It runs the jobs of the thread's actors, and between them waits in one zmq_poll(3) for the
/// sockets, descriptors and times that those actors wait for.
///
/// zmq_poll is level-triggered, so no event can be missed. A socket is polled only while a task waits for it, and that task
/// keeps the socket's owner alive, so the set never contains a closed socket.
final class PollLoop: SerialExecutor, TaskExecutor {
    /// The wait of one task.
    private struct Watch {
        let identifier: UInt64
        /// A socket, or nil for only a file descriptor or a time.
        let socket: UnsafeMutableRawPointer?
        let descriptor: Int32
        let events: Int16
        /// The wait ends at this instant of CLOCK_MONOTONIC in nanoseconds at the latest.
        let deadline: Int64?
        let wake: Wake<Bool>
    }

    /// Jobs wait here until the loop takes them; `isStopping` ends the loop after the last one.
    private struct Inbox {
        var jobs: [UnownedJob] = []
        var isStopping = false
    }

    /// How long, in nanoseconds, jobs may run before the loop polls: polling costs more than most jobs, and most work would
    /// need many polls.
    private static let longestBusyTime: Int64 = 200_000

    private let inbox = Mutex(Inbox())
    private let eventDescriptor: Int32
    private let timerDescriptor: Int32
    /// The loop's thread, stored by that thread before it takes a job.
    private let thread = Atomic<UInt>(0)
    /// Accessed only on the loop's thread: by the loop, and by `watch` and `unwatch`, which assert it.
    nonisolated(unsafe) private var watches: [Watch] = []
    nonisolated(unsafe) private var lastIdentifier: UInt64 = 0
    nonisolated(unsafe) private var pollItems: [zmq_pollitem_t] = []

    init() throws(ZeroMQError) {
        eventDescriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard eventDescriptor >= 0 else { throw ZeroMQError(.init(rawValue: errno), during: "eventfd") }
        timerDescriptor = timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC | TFD_NONBLOCK))
        guard timerDescriptor >= 0 else {
            let error = ZeroMQError(.init(rawValue: errno), during: "timerfd_create")
            close(eventDescriptor)
            throw error
        }
    }

    deinit {
        close(eventDescriptor)
        close(timerDescriptor)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isFirst = inbox.withLock { inbox in
            inbox.jobs.append(job)
            return inbox.jobs.count == 1
        }
        if isFirst, !isCurrentThread { wakeUp() }
    }

    func checkIsolated() {
        precondition(isCurrentThread, "this code must run on its socket thread")
    }

    func isIsolatingCurrentContext() -> Bool? { isCurrentThread }

    /// Ends the loop once its jobs are done. Callable on any thread.
    func stop() {
        inbox.withLock { $0.isStopping = true }
        wakeUp()
    }

    /// Runs until `stop()`, on the thread that becomes the executor.
    func run() {
        thread.store(UInt(pthread_self()), ordering: .releasing)
        var polledAt = MonotonicClock.now
        while true {
            let (jobs, isStopping) = inbox.withLock { inbox in
                defer { inbox.jobs = [] }
                return (inbox.jobs, inbox.isStopping)
            }
            for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
            if jobs.isEmpty, isStopping { return }
            if jobs.isEmpty || MonotonicClock.now - polledAt > Self.longestBusyTime {
                poll(wait: jobs.isEmpty)
                polledAt = MonotonicClock.now
            }
        }
    }

    /// Adds a wait for a socket or descriptor to become ready, or for a time.
    /// - Returns: the identifier for `unwatch`. `wake` is told true when ready, false at the deadline.
    func watch(
        socket: UnsafeMutableRawPointer? = nil, descriptor: Int32 = -1, events: Int16 = Int16(ZMQ_POLLIN),
        deadline: Int64? = nil, wake: Wake<Bool>
    ) -> UInt64 {
        checkIsolated()
        lastIdentifier += 1
        watches.append(
            Watch(
                identifier: lastIdentifier, socket: socket, descriptor: descriptor, events: events,
                deadline: deadline, wake: wake))
        return lastIdentifier
    }

    /// Ends a wait; does nothing if it has already ended.
    func unwatch(_ identifier: UInt64) {
        checkIsolated()
        watches.removeAll { $0.identifier == identifier }
    }

    private var isCurrentThread: Bool { UInt(pthread_self()) == thread.load(ordering: .acquiring) }

    private func wakeUp() {
        eventfd_write(eventDescriptor, 1)
    }

    /// Waits for a job, a ready socket or a deadline, and wakes the tasks that wait for it.
    private func poll(wait: Bool = true) {
        pollItems.removeAll(keepingCapacity: true)
        pollItems.append(zmq_pollitem_t(socket: nil, fd: eventDescriptor, events: Int16(ZMQ_POLLIN), revents: 0))
        pollItems.append(zmq_pollitem_t(socket: nil, fd: timerDescriptor, events: Int16(ZMQ_POLLIN), revents: 0))
        var earliest: Int64?
        for watch in watches {
            if watch.socket != nil || watch.descriptor >= 0 {
                pollItems.append(
                    zmq_pollitem_t(socket: watch.socket, fd: watch.descriptor, events: watch.events, revents: 0))
            }
            if let deadline = watch.deadline { earliest = min(earliest ?? deadline, deadline) }
        }
        setTimer(to: earliest)
        let ready = zmq_poll(&pollItems, Int32(pollItems.count), wait ? -1 : 0)
        // After EINTR there is nothing to read; the loop polls again.
        guard ready > 0 else { return }
        if pollItems[0].revents != 0 {
            var count: eventfd_t = 0
            eventfd_read(eventDescriptor, &count)
        }
        let now = MonotonicClock.now
        var item = 2
        watches.removeAll { watch in
            var isReady = false
            if watch.socket != nil || watch.descriptor >= 0 {
                isReady = pollItems[item].revents != 0
                item += 1
            }
            let isOver = watch.deadline.map { $0 <= now } ?? false
            if isReady || isOver { watch.wake.tell(isReady) }
            return isReady || isOver
        }
    }

    /// Arms the timer for an instant of CLOCK_MONOTONIC, which is exact, whereas zmq_poll counts milliseconds.
    private func setTimer(to deadline: Int64?) {
        var setting = itimerspec()
        if let deadline {
            // A zero time would disarm the timer (timerfd_settime(2)).
            setting.it_value = timespec(nanoseconds: max(1, deadline))
        }
        timerfd_settime(timerDescriptor, Int32(TFD_TIMER_ABSTIME), &setting, nil)
    }
}

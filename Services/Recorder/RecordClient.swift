import MessageBus
import Messages
import Recording
import ServiceKit
import UnixSignals
import ZeroMQ

/// Drives one session of a running recorder from a terminal.
struct RecordClient {
    /// How often the progress line moves on a terminal; elsewhere a line is printed every `plainInterval`.
    private static let interval = TimeSpan.milliseconds(250)
    private static let plainInterval = TimeSpan.seconds(5)
    /// How long a recorder may take to start a session: it asks its publishers first.
    private static let startTimeout = Duration.seconds(6)
    /// How long a recorder may take to stop one: it waits for missing samples, and finishes its files.
    private static let stopTimeout = Duration.seconds(30)

    private let recorder: RequestClient
    private let publisher: RequestClient

    /// Connects to both programs.
    init(recorder: Endpoint, sensorPublisher: Endpoint) throws {
        let peers = Peers(context: try Context(), thread: try SocketThread(name: "record"))
        self.recorder = try peers.client(of: .recorder, at: recorder)
        publisher = try peers.client(of: .sensorPublisher, at: sensorPublisher)
    }

    /// Records, and prints the report.
    /// - Returns: `done`, or `doneWithLoss`.
    func record(_ request: RecordingStart, steps: [StepChange], duration: TimeSpan?) async throws -> ExitStatus {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let started: RecordingStart.Reply
        do {
            started = try await recorder.send(request, timeout: Self.startTimeout)
        } catch let error as ZeroMQError where error.code == .timedOut {
            throw ServiceError(
                .peerUnavailable, "no recorder answers at \(recorder.endpoint): start one, or say --reply ENDPOINT")
        }
        StandardStream.output.print("recording session \(started.session)\n")
        if started.logs.isEmpty {
            StandardStream.output.print("no such stream is there yet: its log is opened when it appears\n")
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in signals { return } }
            group.addTask { try await follow(started.session, steps: steps, duration: duration) }
            // Whichever ends first: a signal, the duration, or the session itself.
            try await group.next()
            group.cancelAll()
            // What the other one was doing is of no interest any more.
            while let result = await group.nextResult() { _ = result }
        }
        let result = try await recorder.send(RecordingStop(session: started.session), timeout: Self.stopTimeout)
        StandardStream.output.print("\n\(result.report.table)files are in \(result.directory)\n")
        return result.report.isWhole ? .done : .doneWithLoss
    }

    /// Shows progress and changes steps, until the duration is over or the session has ended.
    private func follow(_ session: String, steps: [StepChange], duration: TimeSpan?) async throws {
        let clock = ContinuousClock()
        let start = clock.now
        let line = ProgressLine()
        var remaining = steps.sorted { $0.time < $1.time }[...]
        var tick = start
        let interval = line.isMoving ? Self.interval : Self.plainInterval
        while duration.map({ clock.now < start + $0.duration }) ?? true {
            tick += interval.duration
            // The next step, the end or the next line, whichever comes first.
            let stop = [tick, duration.map { start + $0.duration }, remaining.first.map { start + $0.time.duration }]
                .compactMap(\.self).min()
            try await clock.sleep(until: stop ?? tick)
            while let next = remaining.first, clock.now >= start + next.time.duration {
                remaining.removeFirst()
                _ = try await recorder.send(RecordingMoveTo(session: session, step: next.step), timeout: .seconds(5))
            }
            guard clock.now >= tick || line.isMoving else {
                tick -= interval.duration
                continue
            }
            let state = try await recorder.send(RecordingStatus(session: session), timeout: .seconds(5))
            let health = try? await publisher.send(ServiceHealth(), timeout: .milliseconds(200))
            line.show(state, after: clock.now - start, of: duration?.duration, lateness: health?.lateness)
            if SessionStatus(name: state.status)?.isOver ?? false { return }
        }
    }
}

extension ServiceHealth.Reply {
    /// The median and the 99th percentile of how late samples were taken, in seconds.
    fileprivate var lateness: (median: Double, percentile99: Double)? {
        guard let median = measures?["latenessMedianSeconds"], let late = measures?["lateness99PercentSeconds"] else {
            return nil
        }
        return (median, late)
    }
}

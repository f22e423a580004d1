import DequeModule
package import Messages
package import SampleSources
import ServiceKit

/// Requests: each has a number and is answered once, unless it is forgotten.
extension Publication {
    /// The number of stream names that an error lists.
    private static let namesInError = 20

    /// Lists the requested streams when their samples so far are published.
    package func list(_ question: StreamsList, as request: Int, at now: Moment) {
        let patterns = question.streams ?? [StreamName.everything]
        guard patterns.count <= StreamsList.maximumPatterns else {
            return refuse(
                request, .invalidParameter,
                "streams has \(patterns.count) names: write at most \(StreamsList.maximumPatterns), \"device/\" for all of a "
                    + "device, or none for all")
        }
        let wanted = Set(patterns)
        let listed = streams.filter { $0.name.matches(anyOf: wanted) }
        lists[request] = (listed, listed.count)
        if listed.isEmpty { return answerList(request, at: now) }
        for stream in listed { add(.list(request: request), to: stream, at: now) }
    }

    func noteListed(for request: Int, at now: Moment) {
        lists[request]?.remaining -= 1
        if lists[request]?.remaining == 0 { answerList(request, at: now) }
    }

    private func answerList(_ request: Int, at now: Moment) {
        guard let list = lists.removeValue(forKey: request) else { return }
        let clock = reading(at: now)
        let descriptions = list.streams.filter(\.isKnown).map { description(of: $0, clock) }
        emit(.answer(request: request, .success(.streams(descriptions))))
    }

    package func start(_ question: StreamsStart, as request: Int, at now: Moment) {
        guard !isStopping else { return refuse(request, .stopping, "the program is stopping") }
        guard let stream = known(question.stream, for: request) else { return }
        guard stream.starting == nil else {
            return refuse(request, .alreadyRunning, "\(stream.name): another request is starting the stream")
        }
        stream.starting = request
        if stream.sampler.needsRewind { emit(.rewind(stream)) } else { rewound(stream, nil, at: now) }
    }

    /// Starts a stream for a request, when its source is at its first sample.
    /// - Parameter failure: why the source could not be rewound.
    package func rewound(_ stream: PublishedStream, _ failure: PublisherError?, at now: Moment) {
        guard let request = stream.starting else { return }
        if isStopping {
            stream.starting = nil
            refuse(request, .stopping, "the program is stopping")
        } else if let error = failure ?? start(stream, at: now) {
            stream.starting = nil
            emit(.answer(request: request, .failure(RequestError(error, of: stream.name))))
        }
    }

    /// Stops a stream: samples due by now are published, later ones are not.
    package func stop(_ question: StreamsStop, as request: Int, at now: Moment) {
        guard let stream = known(question.stream, for: request) else { return }
        guard stream.sampler.state == .running else {
            return refuse(
                request, .notRunning, "\(stream.name) is not running: it is \(stream.state.rawValue)")
        }
        add(.stop(request: request), to: stream, at: now)
    }

    func answer(_ request: Int, with stream: PublishedStream, at now: Moment) {
        emit(.answer(request: request, .success(.stream(description(of: stream, reading(at: now))))))
    }

    /// Forgets a request whose client no longer waits. Its `streams.stop` is not carried out.
    package func forget(_ request: Int) {
        lists[request] = nil
        for stream in streams {
            if stream.starting == request { stream.starting = nil }
            stream.goals.removeAll { goal in
                switch goal.purpose {
                case .list(let other), .stop(let other): other == request
                case .describe, .finish: false
                }
            }
        }
    }

    private func known(_ name: StreamName, for request: Int) -> PublishedStream? {
        do throws(RequestError) {
            return try known(name)
        } catch {
            emit(.answer(request: request, .failure(error)))
            return nil
        }
    }

    func known(_ name: StreamName) throws(RequestError) -> PublishedStream {
        if let index = indexes[name], streams[index].isKnown { return streams[index] }
        let names = streams.filter(\.isKnown).map(\.name.description)
        let shown = names.prefix(Self.namesInError).joined(separator: ", ")
        let others = names.count > Self.namesInError ? " and \(names.count - Self.namesInError) others" : ""
        let there = names.isEmpty ? "there are none yet" : "the streams are \(shown)\(others)"
        throw RequestError(.unknownStream, "there is no stream \(name); \(there)")
    }

    private func refuse(_ request: Int, _ reason: RequestError.Reason, _ message: String) {
        emit(.answer(request: request, .failure(RequestError(reason, message))))
    }
}

extension RequestError {
    /// The error of a stream that could not be started.
    fileprivate init(_ error: PublisherError, of stream: StreamName) {
        let reason: Reason =
            switch error.code {
            case .alreadyRunning: .alreadyRunning
            case .finished: .finished
            case .invalidParameter: .invalidParameter
            default: .inputOutput
            }
        self.init(reason, "\(stream): \(error)")
    }
}

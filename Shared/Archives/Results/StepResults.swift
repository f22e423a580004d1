import Encryption
import Files
import Messages
import Recording
import StepDetection
import StepRecordings
import TextInput

/// The steps in a session's streams, as results for `taskResult.json`.
///
/// Counted from the session's files, as by `step-counter count`: the results do not depend on whether a step-counter is running.
enum StepResults {
    /// The results of streams with these names, in the order of the session's logs; empty if the session has none of them.
    /// - Throws: `stopped`.
    static func results(of session: SessionDirectory, _ streams: [String]) throws(ArchiveError) -> [JSONValue] {
        guard let record = try? session.record(),
            let inputs = try? CountInput.recordings(inSession: session.directory.path, streams: streams)
        else { return [] }
        var results: [JSONValue] = []
        for input in inputs {
            if Task.isCancelled { throw ArchiveError(.stopped, "No archive was made: the program is stopping.") }
            results.append(result(of: input, record))
        }
        return results
    }

    private static func result(of input: CountInput, _ record: SessionRecord) -> JSONValue {
        let stream = input.stream?.description ?? input.name
        var fields: [String: JSONValue] = [
            "identifier": .string("steps \(stream)"), "type": .string("steps"), "stream": .string(stream),
            "startDate": .string(record.startDate.utcText),
            "endDate": .string((record.endDate ?? record.startDate).utcText),
        ]
        do throws(TextInputError) {
            let count = try StepCount(input)
            let counted = CountedRecording(input, count, StepDetectorSettings())
            func date(_ seconds: Double) -> JSONValue {
                .string(record.startDate.adding(seconds: seconds).utcText)
            }
            fields["numberOfSteps"] = .integer(count.steps.count)
            fields["samples"] = .integer(count.samples)
            if let cadence = count.cadence { fields["cadence"] = .number(cadence) }
            if let coverage = count.coverage { fields["coverage"] = .number(coverage) }
            fields["expectedError"] = .object([
                "falseSteps": .number(counted.expectedError.falseSteps),
                "missedSteps": .number(counted.expectedError.missedSteps),
            ])
            fields["gait"] = value(of: counted.gait)
            fields["bouts"] = .array(
                counted.bouts.map { bout in
                    .object([
                        "startDate": date(bout.start), "endDate": date(bout.end),
                        "numberOfSteps": .integer(bout.steps), "confidence": .number(bout.confidence),
                        "gait": value(of: bout.gait),
                    ])
                })
        } catch {
            fields["reason"] = .string("\(error)")
        }
        if !input.losses.isEmpty { fields["losses"] = .array(input.losses.map { .string($0) }) }
        return .object(fields)
    }

    private static func value(of gait: GaitMeasures) -> JSONValue {
        let numbers = [
            "walkingTime": gait.walkingTime, "cadence": gait.cadence, "stepTime": gait.stepTime,
            "strideTime": gait.strideTime, "strideTimeVariability": gait.strideTimeVariability,
        ]
        return .object(
            numbers.compactMapValues { $0.map { .number($0) } }.merging(["strides": .integer(gait.strides)]) { $1 })
    }
}

extension WallTime {
    fileprivate func adding(seconds: Double) -> WallTime {
        let (sum, overflow) = nanosecondsSince1970.addingReportingOverflow(
            Int64(nanosecondsIn: seconds))
        return overflow ? self : WallTime(nanosecondsSince1970: sum)
    }
}

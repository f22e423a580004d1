package import Messages

/// The names of a session's files in a Motion-BIDS data set.
package struct MotionNames: Sendable {
    package let subject: String
    package let task: String
    package let run: Int?
    /// The label of each stream's tracking system. In BIDS, a tracking system has one clock, rate and number of samples.
    private let systems: [StreamName: String]

    /// - Parameter streams: all streams of the session, in order.
    package init(subject: String, task: String, run: Int?, streams: [StreamName]) {
        self.subject = Self.label(subject, or: "01")
        self.task = Self.label(task, or: "recording")
        self.run = run
        var systems: [StreamName: String] = [:]
        var taken: Set<String> = []
        for stream in streams {
            let label = Self.label(stream.device + stream.stream, or: "stream")
            var unique = label
            var number = 2
            while !taken.insert(unique).inserted {
                unique = "\(label)\(number)"
                number += 1
            }
            systems[stream] = unique
        }
        self.systems = systems
    }

    /// The letters and digits of a text, since a label may contain nothing else.
    private static func label(_ text: String, or other: String) -> String {
        let label = text.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return label.isEmpty ? other : label
    }

    package func system(of stream: StreamName) -> String { systems[stream] ?? "stream" }

    private var runPart: String { run.map { "_run-\($0)" } ?? "" }

    /// The path of a stream's file with a suffix such as `motion.tsv`.
    package func path(of stream: StreamName, _ suffix: String) -> String {
        "sub-\(subject)/motion/sub-\(subject)_task-\(task)_tracksys-\(system(of: stream))\(runPart)_\(suffix)"
    }

    package var scans: String { "sub-\(subject)/sub-\(subject)_scans.tsv" }

    package var provenance: String {
        "sourcedata/holdfast/sub-\(subject)_task-\(task)\(runPart)_provenance.json"
    }
}

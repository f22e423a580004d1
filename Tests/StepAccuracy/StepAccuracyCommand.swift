import ArgumentParser
import FoundationEssentials
import Glibc
import StepDetection

/// Runs the step detector over labelled recordings and prints its errors, beside the peers'.
@main
struct StepAccuracyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "step-accuracy",
        abstract: "Counts the steps of labelled recordings, and prints the errors beside those of other counters.")

    @Argument(help: "The directory with open/ (recordings and truth.csv tables) and peers/ (their counts).")
    var directory: String

    @Option(help: "Where the counts are written, as JSON: {recording: count}.")
    var output: String?

    @Option(help: "unknown, phone or wrist.")
    var placement: SensorPlacement = .unknown

    @Option(help: "lenient, normal or strict.")
    var strictness: StepStrictness = .normal

    @Option(help: "Tables of train.py: each person is also counted by one that was learned from others.")
    var leftOut: String?

    @Option(help: "Where a plot of error against cadence is written, as SVG.")
    var plot: String?

    @Option(help: "Where a plot of missed against false steps by strictness is written, as SVG; needs --left-out.")
    var strictnessPlot: String?

    @Option(help: "Where what train.py learns from is written, instead of anything else.")
    var features: String?

    @Option(help: "Where what train.py learns confidence from is written, instead of anything else; needs --left-out.")
    var bouts: String?

    @Flag(help: "Also what resampling, jitter, missing samples, bias and turning change.")
    var robustness = false

    @Flag(help: "Also the delay of credit, against the times of the detected steps and of the true ones.")
    var delays = false

    @Flag(help: "Also samples a second, by rate, on one thread.")
    var speed = false

    mutating func run() throws {
        let recordings = try LabelledRecording.all(in: directory + "/open")
        guard !recordings.isEmpty else {
            throw ValidationError("no truth.csv tables in \(directory)/open")
        }
        if let features { return try writeFeatures(of: recordings, to: features) }
        let tables = try leftOut.map(LearnedTable.read) ?? []
        if let bouts {
            let table = try BoutTable(recordings, tables, placement, strictness)
            return try table.csv.write(toFile: bouts, atomically: true, encoding: .utf8)
        }
        var counts: [String: Double] = [:]
        var first: [Double] = []
        var later: [Double] = []
        var afterTrue: [Double] = []
        for recording in recordings {
            let count = try StepCount(
                ofFile: recording.path, placement: placement, strictness: strictness)
            counts[recording.name] = Double(count.steps.count)
            collectDelays(count, &first, &later)
            for bout in recording.bouts {
                // Some true times are off by a second.
                let steps = count.steps.filter { bout.lowerBound - 1...bout.upperBound + 1 ~= $0.time }
                afterTrue.append(steps.first.map { $0.creditedAt - bout.lowerBound } ?? .infinity)
            }
        }
        if let output {
            try JSONEncoder().encode(counts).write(to: URL(filePath: output))
        }
        let own = (name: "step-counter", counts: counts)
        for part in LabelledRecording.Part.allCases {
            print("\n\(part.rawValue) half of the people")
            print(AccuracyTable(recordings.filter { $0.part == part }).text([own]))
        }
        print("\nall, MAPE % / bias %")
        print(AccuracyTable(recordings).text([own] + (try peers())))
        print("\nall, with the range for other people")
        print(AccuracyTable(recordings).intervals(counts))
        if !tables.isEmpty {
            try printLeftOut(recordings, tables)
            print("\nsteps missed, in % of the true ones, each person by what was learned from others")
            print(try MissedShares(recordings, tables).text)
            try StrictnessCurve(recordings, tables).print(plot: strictnessPlot)
        }
        if let plot { try ErrorPlot(recordings, counts).svg.write(toFile: plot, atomically: true, encoding: .utf8) }
        if delays {
            print("\ndelay of credit in seconds: median, 95 %, most")
            let all = [
                ("first steps of a bout", first, 4.0), ("first credit of a true bout", afterTrue, 4),
                ("later steps", later, 0.5),
            ]
            for (name, unsorted, limit) in all {
                let delays = unsorted.sorted()
                guard let most = delays.last else { continue }
                print(name, delays.count, delays[delays.count / 2], delays[delays.count * 95 / 100], most)
                print("  within \(limit) s:", Double(delays.filter { $0 <= limit }.count) / Double(delays.count))
            }
        }
        if robustness { try printRobustness(recordings, tables) }
        if speed { try printSpeed(recordings) }
    }

    /// A bout's later steps are those credited after its first credit.
    private func collectDelays(_ count: StepCount, _ first: inout [Double], _ later: inout [Double]) {
        let beginnings = Set(count.bouts.map(\.start))
        var begin = -Double.infinity
        for step in count.steps {
            if beginnings.contains(step.time) {
                first.append(step.creditedAt - step.time)
                begin = step.creditedAt
            } else if step.creditedAt > begin {
                later.append(step.creditedAt - step.time)
            }
        }
    }

    private func peers() throws -> [(name: String, counts: [String: Double])] {
        let directory = directory + "/peers"
        let files = (try? FileManager.default.contentsOfDirectory(atPath: directory).sorted()) ?? []
        return try files.filter { $0.hasSuffix(".json") }.map { file in
            let data = try Data(contentsOf: URL(filePath: "\(directory)/\(file)"))
            return (String(file.dropLast(5)), try JSONDecoder().decode([String: Double].self, from: data))
        }
    }

    /// The results of each person's recordings with a likelihood that was learned from other people.
    private func printLeftOut(_ recordings: [LabelledRecording], _ tables: [LearnedTable]) throws {
        let settings = StepDetectorSettings(placement: placement, strictness: strictness)
        var counts: [String: StepCount] = [:]
        for recording in recordings { counts[recording.name] = try recording.count(settings, tables) }
        let numbers = counts.mapValues { Double($0.steps.count) }
        print("\nall, each person counted by what was learned from others")
        print(AccuracyTable(recordings).intervals(numbers))
        print("\nexpected and found, each person by what was learned from others")
        print(ExpectedErrors(recordings, counts, settings).text)
    }

    /// A row for every third estimate: recording, time, features.
    private func writeFeatures(of recordings: [LabelledRecording], to path: String) throws {
        var text = ""
        for degradation in Degradation.training {
            for recording in recordings {
                var samples: [SIMD4<Double>] = []
                _ = try AccelerationFile.read(recording.path) { samples.append($0) }
                var detector = StepDetector()
                var last = -Double.infinity
                for sample in degradation(samples, perG: StepDetectorSettings.standardGravity) {
                    detector.add(time: sample.x, x: sample.y, y: sample.z, z: sample.w) { _ in }
                    guard let features = detector.features, sample.x - last > 0.7 else { continue }
                    last = sample.x
                    let numbers = (0..<WalkingLikelihood.featureCount).map { "\(features[$0])" }
                    text += "\(recording.name),\(sample.x),\(numbers.joined(separator: ","))\n"
                }
            }
        }
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// - Parameter tables: learned without some people, each used for those; empty to use the table learned from all people.
    private func printRobustness(_ recordings: [LabelledRecording], _ tables: [LearnedTable]) throws {
        var samples: [(LabelledRecording, [SIMD4<Double>])] = []
        for recording in recordings where recording.kind != .unlabelled {
            var all: [SIMD4<Double>] = []
            _ = try AccelerationFile.read(recording.path) { all.append($0) }
            samples.append((recording, all))
        }
        print("\nrobustness: MAPE %, or false steps an hour: the means of \(Degradation.draws) draws")
        let table = AccuracyTable(recordings)
        for degradation in Degradation.all {
            var sums = [Double](repeating: 0, count: table.rows.count)
            for draw in 0..<Degradation.draws {
                var counts: [String: Double] = [:]
                for (recording, samples) in samples {
                    let gravity = StepDetectorSettings.standardGravity
                    let samples = degradation(samples, perG: gravity, draw: draw)
                    counts[recording.name] = Double(count(samples, of: recording, tables))
                }
                for (index, row) in table.rows.enumerated() {
                    sums[index] += AccuracyTable.figure(row, counts)?.size ?? .nan
                }
            }
            let cells = zip(table.rows, sums).map { row, sum in
                let mean = sum / Double(Degradation.draws)
                return "\(row.name) \(row.isFalseSteps ? mean.rounded() : (mean * 100).rounded() / 100)"
            }
            print("\(degradation.name): \(cells.joined(separator: ", "))")
        }
    }

    private func count(_ samples: [SIMD4<Double>], of recording: LabelledRecording, _ tables: [LearnedTable]) -> Int {
        let settings = StepDetectorSettings(placement: placement, strictness: strictness)
        var count = StepCount()
        var detector = tables.isEmpty ? StepDetector(settings) : recording.detector(settings, tables)
        for sample in samples { count.add(sample, to: &detector) }
        return count.steps.count
    }

    private func printSpeed(_ recordings: [LabelledRecording]) throws {
        print("\nmillions of samples a second of processor time, walking in a pocket and in a hand, best of five")
        var walks: [[SIMD4<Double>]] = []
        for recording in recordings where recording.kind == .walk && recording.placementClass != .wrist {
            var all: [SIMD4<Double>] = []
            _ = try AccelerationFile.read(recording.path) { all.append($0) }
            walks.append(all)
        }
        for rate in [12.5, 25, 50, 100, 200, 400] {
            let resampled = walks.map { Degradation(name: "", rate: rate)($0, perG: 1) }
            let samples = resampled.reduce(0) { $0 + $1.count }
            var (steps, least) = (0, Double.infinity)
            for _ in 0..<5 {
                let start = Self.processorSeconds
                steps = 0
                for walk in resampled {
                    var detector = StepDetector()
                    for sample in walk {
                        detector.add(time: sample.x, x: sample.y, y: sample.z, z: sample.w) {
                            if case .step = $0 { steps += 1 }
                        }
                    }
                }
                least = min(least, Self.processorSeconds - start)
            }
            print("\(rate) Hz: \((Double(samples) / least / 1e5).rounded() / 10) (\(steps) steps)")
        }
    }

    /// This thread's processor time, independent of the machine's other load.
    private static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + 1e-9 * Double(time.tv_nsec)
    }
}

extension SensorPlacement: ExpressibleByArgument {}
extension StepStrictness: ExpressibleByArgument {}

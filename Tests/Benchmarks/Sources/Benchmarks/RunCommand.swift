import ArgumentParser
import Glibc
import MessageBus
import Messages
import ZeroMQ

/// Runs the measurements and prints them as tables.
///
/// Floor and program alternate, so that a machine whose speed drifts favours neither; medians are printed.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Throughput, latency and idle cost of the recorder and the publisher.")

    @Option(help: "The directory of the built programs.")
    var programs: String

    @Option(help: "A directory of older programs, to measure in turn: for streams, throughput and publisher.")
    var baseline: String?

    @Option(help: "A file for the rows of streams, throughput and publisher as JSON.")
    var output: String?

    @Option(help: "How often each is measured, in turn.")
    var rounds = 3

    @Option(help: "Samples per measurement with 100 samples a message; a tenth with one.")
    var samples = 10_000_000

    @Option(help: "Where logs are written, and removed again.")
    var directory = "/var/tmp"

    @Option(parsing: .upToNextOption, help: "Samples a message for throughput: 100, 1.")
    var batches: [Int] = [100, 1]

    @Option(
        parsing: .upToNextOption,
        help: """
            Measure these alone: throughput, streams, publisher, latency, idle, recovery, memory, removal, steps, archives,
            exports.
            """)
    var only: [String] = ["throughput", "latency", "idle", "recovery", "steps"]

    @Option(help: "How many files are removed.")
    var files = 100_000

    @Option(help: "How many devices steps are counted of.")
    var devices = 1_000

    @OptionGroup(title: "Throughput") var floor: FloorOptions
    @OptionGroup(title: "Streams") var streams: StreamsOptions

    func run() async throws {
        let bench = try Bench(programs: programs, directory: directory)
        defer { bench.removeRemains() }
        var benches = [bench]
        if let baseline {
            benches.insert(try Bench(programs: baseline, directory: directory, name: "baseline"), at: 0)
        }
        let results = Results(at: output)
        Standard.print("load average \(Text.decimal(try Machine.loadAverage()))\n")
        if only.contains("throughput") { try await throughput(benches, results) }
        if only.contains("streams") { try await streams(benches, results) }
        if only.contains("publisher") { try await publisher(benches, results) }
        if only.contains("memory") { try await memory(bench) }
        if only.contains("latency") { try await latency(bench) }
        if only.contains("idle") { try await idle(bench) }
        if only.contains("recovery") { try await recovery(bench) }
        if only.contains("removal") { try await removal(bench) }
        if only.contains("steps") { try await steps(bench) }
        if only.contains("archives") { try await archives(bench) }
        if only.contains("exports") { try exports(bench) }
    }

    private func memory(_ bench: Bench) async throws {
        Standard.print("| samples in one session | peak MB of the recorder |")
        Standard.print("| --- | --- |")
        for count in [samples / 10, samples, samples * 10] {
            let result = try await bench.recorder(Wire(kind: .packed, batch: 100), samples: count, format: "json")
            Standard.print("| \(count) | \(result.memory) |")
        }
    }

    private func latency(_ bench: Bench) async throws {
        let latency = try await bench.latency(seconds: 20)
        Standard.print("| 100 Hz, one sample per message | ms |")
        Standard.print("| --- | --- |")
        Standard.print("| published to durable, median | \(Text.decimal(latency.median * 1e3)) |")
        Standard.print("| 99 % | \(Text.decimal(latency.p99 * 1e3)) |")
        Standard.print("| longest of \(latency.count) | \(Text.decimal(latency.maximum * 1e3)) |")
    }

    private func idle(_ bench: Bench) async throws {
        Standard.print("| at rest | % of a core | MB |")
        Standard.print("| --- | --- | --- |")
        for (name, cost) in try await bench.idle(seconds: 10) {
            Standard.print("| \(name) | \(Text.decimal(cost.cpuSeconds * 10)) | \(Text.decimal(cost.peakMegabytes)) |")
        }
    }

    private func recovery(_ bench: Bench) async throws {
        Standard.print("| an hour of 10 streams, killed | samples | MB | answers after s | caught up after s |")
        Standard.print("| --- | --- | --- | --- | --- |")
        for round in 1...rounds {
            let result = try await bench.recovery()
            Standard.print(
                "| \(round) | \(result.samples) | \(result.bytes / 1_000_000) | \(Text.decimal(result.answer)) "
                    + "| \(Text.decimal(result.caughtUp)) |")
        }
    }

    private func removal(_ bench: Bench) async throws {
        for _ in 0..<rounds {
            let result = try await bench.removal(files: files)
            Standard.print(
                "\n\(files) files: log-manager is ready after \(Text.decimal(result.start)) s, and has removed them after "
                    + "\(Text.decimal(result.removal)) s; peak \(Text.decimal(result.megabytes)) MB")
            Standard.print("| asked meanwhile | answers | median, ms | 99 %, ms | longest, ms |")
            Standard.print("| --- | --- | --- | --- | --- |")
            for (method, seconds) in result.answers where !seconds.isEmpty {
                let sorted = seconds.sorted()
                func milliseconds(_ part: Double) -> String {
                    Text.decimal(sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))] * 1e3)
                }
                Standard.print(
                    "| \(method) | \(sorted.count) | \(milliseconds(0.5)) | \(milliseconds(0.99)) | \(milliseconds(1)) |"
                )
            }
        }
    }

    private func archives(_ bench: Bench) async throws {
        Standard.print("| archiver | session MB | archive MB | s | MB/s | CPU s | peak MB |")
        Standard.print("| --- | --- | --- | --- | --- | --- | --- |")
        for count in [samples / 10, samples] {
            let archiving = try await bench.archives(samples: count, rounds: rounds)
            let megabytes = Double(archiving.sessionBytes) / 1e6
            for kind in Bench.ArchiveKind.allCases {
                guard let runs = archiving.runs[kind] else { continue }
                let median = Measurement.median(of: runs)
                Standard.print(
                    "| \(kind) | \(Text.decimal(megabytes, places: 0)) "
                        + "| \(Text.decimal(Double(archiving.archiveBytes) / 1e6, places: 0)) "
                        + "| \(Text.decimal(median.seconds)) | \(Text.decimal(megabytes / median.seconds, places: 0)) "
                        + "| \(Text.decimal(median.usage.cpuSeconds)) | \(median.memory) |")
            }
        }
    }

    private func exports(_ bench: Bench) throws {
        let exports = try bench.exports(samples: samples, rounds: rounds)
        let megabytes = Double(exports.sessionBytes) / 1e6
        Standard.print("a session of \(samples) samples, \(Text.decimal(megabytes, places: 0)) MB")
        Standard.print("| | M samples/s | MB/s read | MB/s written | CPU s per M | peak MB |")
        Standard.print("| --- | --- | --- | --- | --- | --- |")
        for row in exports.rows {
            let median = Measurement.median(of: row.runs)
            let reads = row.name == "cp" || row.name.hasPrefix("export ")
            let read = reads ? Text.decimal(megabytes / median.seconds, places: 0) : ""
            let written = Text.decimal(Double(row.bytes) / 1e6 / median.seconds, places: 0)
            Standard.print(
                "| \(row.name) | \(median.rate) | \(read) | \(written) | \(median.cost) | \(median.memory) |")
        }
    }

    private func steps(_ bench: Bench) async throws {
        Standard.print("| step-counter count, a walk of 50 Hz as CSV | M samples/s | CPU s/M | MB |")
        Standard.print("| --- | --- | --- | --- |")
        let runs = try (0..<rounds).map { _ in try bench.offlineSteps(samples: samples / 5) }
        let offline = Measurement.median(of: runs)
        Standard.print("| \(offline.samples) samples | \(offline.rate) | \(offline.cost) | \(offline.memory) |")
        Standard.print(
            "\n| \(devices) devices at 50 Hz | batch | % of a core | MB | delay median, ms | 99 %, ms | lost "
                + "| caught up after a kill, s | publisher, % of a core |")
        Standard.print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        for (isPacked, batch) in [(false, 10), (true, 10), (false, 1), (true, 1)] {
            let live = try await bench.liveSteps(devices: devices, batch: batch, isPacked: isPacked, seconds: 20)
            let delays = "\(Text.decimal(live.medianDelay * 1e3)) | \(Text.decimal(live.delay99 * 1e3))"
            Standard.print(
                "| \(isPacked ? "packed" : "json") | \(batch) | \(Text.decimal(live.load * 100)) "
                    + "| \(Text.decimal(live.megabytes, places: 0)) | \(delays) | \(live.lost) "
                    + "| \(Text.decimal(live.caughtUp)) | \(Text.decimal(live.publisherLoad * 100)) |")
        }
    }
}

import Synchronization
import TestSupport

/// Scrapes the metrics of programs each second, as Prometheus would, and keeps their memory sizes.
final class MemoryWatch: Sendable {
    /// A program's memory at one moment of its life.
    private struct Point {
        /// Seconds since the program's start.
        let age: Double
        let bytes: Double
    }

    private struct State {
        /// The points of each life, by program.
        var lives: [String: [(start: Double, points: [Point])]] = [:]
        var scrapes = 0
    }

    /// The memory of a program over its lives.
    struct Summary {
        /// The largest size, in bytes.
        var peak = 0.0
        /// The median over the program's lives of its growth after the warm-up, in bytes per second; nil if no life was long
        /// enough.
        var growth: Double?
        /// The peaks of the first and of the last life that was long enough, in bytes.
        var first: Double?
        var last: Double?
    }

    private let ports: [String: UInt16]
    private let state = Mutex(State())

    init(ports: [String: UInt16]) { self.ports = ports }

    /// The number of scraped pages.
    var scrapes: Int { state.withLock(\.scrapes) }

    /// Watches until the task is cancelled.
    func run() async throws {
        while true {
            for (name, port) in ports {
                // A killed program does not answer.
                guard let page = try? await WebClient.answer("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n", port: port),
                    let bytes = Self.value("process_resident_memory_bytes", in: page),
                    let start = Self.value("process_start_time_seconds", in: page)
                else { continue }
                let age = Instant.now.wall - start
                state.withLock { state in
                    state.scrapes += 1
                    if state.lives[name]?.last?.start != start { state.lives[name, default: []].append((start, [])) }
                    let last = (state.lives[name]?.count ?? 1) - 1
                    state.lives[name]?[last].points.append(Point(age: age, bytes: bytes))
                }
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// Summarizes a program's memory.
    /// - Parameter warmUp: seconds of each life that do not count.
    func summary(of name: String, warmUp: Double) -> Summary {
        let lives = state.withLock { $0.lives[name] ?? [] }
        var summary = Summary(peak: lives.flatMap(\.points).map(\.bytes).max() ?? 0)
        let warm = lives.map { life in life.points.filter { $0.age >= warmUp } }.filter { $0.count >= 20 }
        let slopes = warm.map(Self.slope).sorted()
        if !slopes.isEmpty { summary.growth = slopes[slopes.count / 2] }
        summary.first = warm.first?.map(\.bytes).max()
        summary.last = warm.last?.map(\.bytes).max()
        return summary
    }

    /// The slope of the least-squares line through these points.
    private static func slope(_ points: [Point]) -> Double {
        let count = Double(points.count)
        let age = points.reduce(0) { $0 + $1.age } / count
        let bytes = points.reduce(0) { $0 + $1.bytes } / count
        let spread = points.reduce(0) { $0 + ($1.age - age) * ($1.age - age) }
        let together = points.reduce(0) { $0 + ($1.age - age) * ($1.bytes - bytes) }
        return spread > 0 ? together / spread : 0
    }

    private static func value(_ name: String, in page: String) -> Double? {
        page.split(separator: "\n").first { $0.hasPrefix("\(name) ") }.flatMap { Double($0.dropFirst(name.count + 1)) }
    }
}

/// The cost of recording one stream at full speed, compared with the floor.
struct ThroughputRow: Encodable {
    /// The directory of the programs: `now`, or `baseline`.
    var programs: String
    var wire: Wire.Kind
    var batch: Int
    var format: String
    var floorRecord: FloorCommand.Record
    var isFloorHashed: Bool
    /// Medians over the rounds.
    var samplesPerSecond: Double
    var cpuSecondsPerMillion: Double
    var megabytes: Double
    var floorSamplesPerSecond: Double
    var floorCPUSecondsPerMillion: Double
    var floorMegabytes: Double
    /// The median over the rounds of recorder ÷ floor.
    var ratio: Double
    /// The values of recorder ÷ floor in each round.
    var ratios: [Double]
    /// CPU of all other processes during the runs, in cores: the median.
    var otherCores: Double

    /// Makes a row from alternating runs: the n-th run of one was beside the n-th of the other.
    init(
        programs: String, wire: Wire, format: String, options: FloorOptions, measured: [Measurement],
        floors: [Measurement]
    ) {
        let program = Measurement.median(of: measured)
        let floor = Measurement.median(of: floors)
        self.programs = programs
        self.wire = wire.kind
        batch = wire.batch
        self.format = format
        floorRecord = options.floor
        isFloorHashed = options.floorHash
        samplesPerSecond = program.samplesPerSecond
        cpuSecondsPerMillion = program.usage.cpuSeconds / Double(program.samples) * 1e6
        megabytes = program.usage.peakMegabytes
        floorSamplesPerSecond = floor.samplesPerSecond
        floorCPUSecondsPerMillion = floor.usage.cpuSeconds / Double(floor.samples) * 1e6
        floorMegabytes = floor.usage.peakMegabytes
        ratios = zip(measured, floors).map { $0.samplesPerSecond / $1.samplesPerSecond }
        ratio = ratios.sorted()[ratios.count / 2]
        otherCores = program.otherCores
    }

    static let header = """
        | programs | wire | batch | file | M samples/s | CPU s/M | MB | floor M/s | floor CPU s/M | floor MB | ratio \
        | of rounds | others, cores |
        | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
        """

    var line: String {
        let cells = [
            programs, wire.rawValue, "\(batch)", format, Text.decimal(samplesPerSecond / 1e6),
            Text.decimal(cpuSecondsPerMillion), Text.decimal(megabytes, places: 0),
            Text.decimal(floorSamplesPerSecond / 1e6), Text.decimal(floorCPUSecondsPerMillion),
            Text.decimal(floorMegabytes, places: 0), Text.decimal(ratio),
            ratios.map { Text.decimal($0) }.joined(separator: " "), Text.decimal(otherCores),
        ]
        return "| " + cells.joined(separator: " | ") + " |"
    }
}

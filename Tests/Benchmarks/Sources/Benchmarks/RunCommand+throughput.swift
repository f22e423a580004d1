extension RunCommand {
    /// Floor and recorder alternate, and swap their order in each round, so that a machine whose speed drifts favours neither.
    func throughput(_ benches: [Bench], _ results: Results) async throws {
        Standard.print(
            "floor: writes \(floor.floor.rawValue), \(floor.floorHash ? "SHA-256" : "no hash"), "
                + "fdatasync every \(floor.floorSync) ms\n")
        Standard.print(ThroughputRow.header)
        for (wire, format) in [
            (Wire(kind: .packed, batch: 100), "json"), (Wire(kind: .packed, batch: 100), "csv"),
            (Wire(kind: .json, batch: 100), "json"), (Wire(kind: .json, batch: 100), "csv"),
            (Wire(kind: .packed, batch: 1), "json"), (Wire(kind: .json, batch: 1), "json"),
        ] where batches.contains(wire.batch) {
            let count = wire.batch == 1 ? samples / 10 : samples
            var floors: [Measurement] = []
            var measured = [[Measurement]](repeating: [], count: benches.count)
            for round in 0..<rounds {
                let isFloorFirst = round % 2 == 0
                if isFloorFirst { floors.append(try benches[0].floor(wire, samples: count, format, floor)) }
                for index in isFloorFirst ? Array(benches.indices) : benches.indices.reversed() {
                    measured[index].append(
                        try await benches[index].recorder(wire, samples: count, format: format))
                }
                if !isFloorFirst { floors.append(try benches[0].floor(wire, samples: count, format, floor)) }
            }
            for (bench, runs) in zip(benches, measured) {
                let row = ThroughputRow(
                    programs: bench.name, wire: wire, format: format, options: floor, measured: runs, floors: floors)
                Standard.print(row.line)
                try results.add(row)
            }
        }
    }
}

import FoundationEssentials
import SampleSources
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct PointsSourceTests {
    private func points(_ json: String) throws -> PointsSource {
        try PointsSource(json: Data(json.utf8))
    }

    @Test func theArrayIsTakenInItsOrder() throws {
        var source = try PointsSource(fields: ["value"], points: [3, 1, 2].map { Point(timestamp: $0, value: $0) })
        #expect(try source.samples().map(\.values) == [[3], [1], [2]])
        #expect(try source.samples().isEmpty)
        source.rewind()
        #expect(try source.samples().count == 3)
    }

    @Test func theAncestorsHundredAndOnePoints() throws {
        let points = (0...100).map {
            Point(timestamp: Double($0) / 10, values: [Double](repeating: Double($0), count: 3))
        }
        var source = try PointsSource(fields: ["x", "y", "z"], points: points)
        let samples = try source.samples()
        #expect(samples.map(\.time) == (0...100).map { Int64($0) * 100_000_000 })
        #expect(samples.last?.values == [100, 100, 100])
    }

    @Test func objectsAreReadByName() throws {
        var source = try points(
            #"[{"z": 3, "x": 1, "y": 2, "t": 0, "note": "start"}, {"t": 0.1, "x": 4, "y": 5, "z": 6e-1}]"#)
        #expect(source.fields == ["x", "y", "z"])
        let samples = try source.samples()
        #expect(samples.map(\.time) == [0, 100_000_000])
        #expect(samples.map(\.values) == [[1, 2, 3], [4, 5, 0.6]])
        #expect(try points(#"[{"timestamp": 1, "value": 7}]"#).fields == ["value"])
    }

    @Test func arraysAreReadByPosition() throws {
        var source = try points("[[0, 1, 2, 3], [0.5, 4, 5, 6]]")
        #expect(source.fields == ["x", "y", "z"])
        #expect(try source.samples().map(\.values) == [[1, 2, 3], [4, 5, 6]])
        #expect(try points("[[0, 1]]").fields == ["value"])
        #expect(try points("[[0, 1,2,3,4,5,6,7,8,9]]").fields == DeviceMotion.fields)
        #expect(try points("[]").fields.isEmpty)
    }

    @Test func objectsWithinObjectsHaveDottedNames() throws {
        let json = #"[{"t": 0, "gravity": {"x": 0, "y": 1, "z": 0}, "userAcceleration": {"x": 0.5}}]"#
        var source = try DeviceMotionSource(try points(json))
        #expect(source.fields == DeviceMotion.fields)
        #expect(try source.samples().map(\.values) == [[0.5, 0, 0, 0, 1, 0, 0, 0, 0]])
    }

    @Test func asDeviceMotionPlainAxesAreUserAcceleration() throws {
        var source = try DeviceMotionSource(try points(#"[{"t": 0, "x": 1, "z": 3, "value": 9}]"#))
        #expect(try source.samples().map(\.values) == [[1, 0, 3, 0, 0, 0, 0, 0, 0]])
        #expect(throws: PublisherError.self) { try DeviceMotionSource(try points("[[0, 1]]")) }
    }

    @Test(arguments: [
        ("[{\"t\": 0, \"x\": 1}, {\"t\": 1}]", "item 1: no number for \"x\""),
        ("[{\"t\": 0, \"x\": 1}, {\"t\": 1, \"x\": \"2\"}]", "item 1: no number for \"x\""),
        ("[{\"x\": 1}]", "item 0: no time"),
        ("[{\"t\": 1}]", "item 0: no numbers"),
        ("[[0, 1], [1, 2, 3]]", "item 1: 3 numbers, but the first item has 2"),
        ("[[0]]", "item 0: 1 numbers"),
        ("[[0, 1], 5]", "item 1: neither an object nor an array"),
        ("[[0, 1], [1e300, 1]]", "item 1: 1e+300 is not a time"),
        ("{\"t\": 0}", "a JSON array"),
        ("[[0, 1]", "this is not JSON"),
    ])
    func aBadItemIsNamedByItsIndex(json: String, problem: String) {
        let error = #expect(throws: PublisherError.self) { try points(json) }
        #expect(error?.code == .invalidInput)
        #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
    }

    @Test func aFileIsReadAndNamedInItsErrors() throws {
        try withFile("walk.json", "[[0, 1], [1, 2]]") { path in
            let source = try PointsSource(path: path, unit: "g", rate: 1)
            #expect(source.unit == "g")
            #expect(source.description == "points:walk.json")
        }
        try withFile("bad.json", "[[0, 1], [1]]") { path in
            let error = #expect(throws: PublisherError.self) { try PointsSource(path: path) }
            #expect(error?.message.hasPrefix("\(path): item 1: ") == true)
        }
        let error = #expect(throws: PublisherError.self) { try PointsSource(path: "no/such/file.json") }
        #expect(error?.message == "no/such/file.json: cannot be opened: No such file or directory")
    }
}

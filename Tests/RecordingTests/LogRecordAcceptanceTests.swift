import Messages
import Recording
import SystemPackage
import Testing

/// The cases of the ancestors' motion and distance records, with their numbers in SEEDS.
///
/// Ours: a record read from a log has the written digits and texts in every format, and no value where none was written. The log
/// copies the publisher's digits.
@Suite(.timeLimit(.minutes(5)))
struct LogRecordAcceptanceTests {
    /// Ours: the time is the session's; the digits are the publisher's.
    @Test(arguments: LogFormat.allCases)
    func case22FiveAccelerometerSamplesAreFiveRecords(format: LogFormat) throws {
        let row = ["1000", "0.1", "0.12", "0.123"]
        let records = try writeFive(format, "accelerometer", ["uptime", "x", "y", "z"], row)
        #expect(records.map(\.sensorType) == Array(repeating: "accelerometer", count: 5))
        for record in records { #expect(["uptime", "x", "y", "z"].map { record[$0] } == row) }
    }

    /// Ours: vectors have dotted names.
    @Test(arguments: LogFormat.allCases)
    func case23FiveMotionSamplesKeepTheirVectorsAndAccuracy(format: LogFormat) throws {
        let fields = [
            "uptime", "attitude.x", "attitude.y", "attitude.z", "attitude.w", "gravity.x", "rotationRate.z",
            "userAcceleration.y", "magneticField.x", "magneticField.accuracy",
        ]
        let row = ["1000", "0.5", "-0.5", "0.25", "1", "-1", "3.75", "0.002", "21.5", "2"]
        let records = try writeFive(format, "deviceMotion", fields, row)
        #expect(records.count == 5)
        for record in records { #expect(fields.map { record[$0] } == row) }
    }

    /// Writes the same sample five times, and reads the log.
    private func writeFive(
        _ format: LogFormat, _ sensorType: String, _ fields: [String], _ row: [String]
    ) throws -> [LogRecord] {
        var formatter = RecordFormatter(format: format, sensorType: sensorType, fields: fields)
        let rows = Array(repeating: "[\(row.joined(separator: ","))]", count: 5).joined(separator: ",")
        let text = try formatter.text(
            json: Array("[\(rows)]".utf8), count: 5, timeline: SessionTimeline(task: "Task", step: "")
        ).text
        return try withTemporaryDirectory { directory in
            let file = try LogFile(
                creating: LogName("five"), in: directory, format: format, root: .array, startDate: "",
                header: formatter.header)
            var buffer = ByteBuffer(capacity: 0)
            buffer.append(utf8: text)
            try file.append(&buffer, samples: 5)
            var scanner = try LogScanner(file.path, format: format, root: .array)
            var records: [LogRecord] = []
            while try scanner.next() != nil { records.append(scanner.record) }
            return records
        }
    }

    /// Ours: a marker that we write has whole nanoseconds; one with the ancestors' digits is read unchanged.
    @Test(arguments: LogFormat.allCases)
    func case39AMarkerKeepsItsDateAndDigits(format: LogFormat) throws {
        let date = "2018-01-30T15:13:20.597-02:30"
        let formatter = RecordFormatter(format: format, sensorType: "gyro", fields: ["uptime"])
        let marker = Marker(.start, time: 1_249_814_083, date: date, stepPath: "Foo Task/step1")
        let text = formatter.text(marker, origin: 37_245_437_080_208)
        let written = try write(format, header: formatter.header, text)
        #expect(written.columns.map(\.text) == ["37246.686894291", "1.249814083", "Foo Task/step1", date, "start"])

        let digits = ["37246.68689429167", "1.2498140833340585"]
        let theirs = text.replacing("37246.686894291", with: digits[0]).replacing("1.249814083", with: digits[1])
        let record = try write(format, header: formatter.header, theirs)
        #expect(record.columns.map(\.text) == digits + ["Foo Task/step1", date, "start"])
        #expect(record.date == (try WallTime(iso8601: date)))
        #expect(record.marker == "start")
        #expect(record.sensorType == nil)
    }

    @Test(arguments: LogFormat.allCases)
    func case40AGyroSampleKeepsItsDigitsAndHasNoDate(format: LogFormat) throws {
        let digits = ["37246.68689429167", "0.064788818359375", "-0.1324615478515625", "1.50"]
        let record = try write(format, sensorType: "gyro", fields: ["x", "y", "z"], row: digits)
        #expect(["uptime", "x", "y", "z"].map { record[$0] } == digits)
        #expect(record.sensorType == "gyro")
        #expect(record["timestampDate"] == nil)
        #expect(record.date == nil)
        #expect(record.marker == nil)
    }

    @Test(arguments: LogFormat.allCases)
    func case41AnAttitudeKeepsItsReferenceAccuracyAndHeading(format: LogFormat) throws {
        let fields = ["referenceCoordinate", "eventAccuracy", "heading", "x", "y", "z", "w"]
        let values = ["North-West-Up", "4", "270.25", "0.064788818359375", "-0.1324615478515625", "0", "1"]
        let record = try write(
            format, sensorType: "attitude", fields: fields,
            row: ["37246.68689429167", "\"North-West-Up\""] + values.dropFirst(),
            types: [.text] + [FieldType](repeating: .number, count: 6))
        #expect(record.sensorType == "attitude")
        #expect(record["uptime"] == "37246.68689429167")
        #expect(record.stepPath == "Task")
        #expect(fields.map { record[$0] } == values)
        #expect(record.date == nil && record.marker == nil)
    }

    /// Ours: a value that a publisher lacks is null on the wire.
    @Test(arguments: LogFormat.allCases)
    func case42WhatADistanceDoesNotHaveIsAbsent(format: LogFormat) throws {
        let record = try write(
            format, sensorType: "distance", fields: ["latitude", "longitude", "totalDistance", "speed"],
            row: ["12.5", "null", "null", "21.4", "0"])
        #expect(record["latitude"] == nil)
        #expect(record["longitude"] == nil)
        #expect(record["totalDistance"] == "21.4")
        #expect(record["speed"] == "0", "nothing is not the same as absent")
    }

    // MARK: Files

    /// Writes one sample as it arrives from a publisher, and reads it.
    private func write(
        _ format: LogFormat, sensorType: String, fields: [String], row: [String], types: [FieldType]? = nil
    ) throws -> LogRecord {
        var formatter = RecordFormatter(
            format: format, sensorType: sensorType, fields: ["uptime"] + fields, types: types.map { [.number] + $0 })
        let text = try formatter.text(
            json: Array("[[\(row.joined(separator: ","))]]".utf8), count: 1,
            timeline: SessionTimeline(task: "Task", step: "")
        ).text
        return try write(format, header: formatter.header, text, types)
    }

    /// Writes one formatted record, and reads it.
    private func write(
        _ format: LogFormat, header: String, _ record: String, _ types: [FieldType]? = nil
    ) throws -> LogRecord {
        try withTemporaryDirectory { directory in
            let file = try LogFile(
                creating: LogName("walk"), in: directory, format: format, root: .array, startDate: "", header: header)
            var buffer = ByteBuffer(capacity: 0)
            buffer.append(utf8: record)
            try file.append(&buffer, samples: 0)
            return try onlyRecord(of: file.path, format, types)
        }
    }

    private func onlyRecord(of path: FilePath, _ format: LogFormat, _ types: [FieldType]?) throws -> LogRecord {
        var scanner = try LogScanner(path, format: format, root: .array, types: types)
        let first = try scanner.next()
        _ = try #require(first)
        let record = scanner.record
        let second = try scanner.next()
        #expect(second == nil)
        let isClean = scanner.isClean
        #expect(isClean)
        return record
    }
}

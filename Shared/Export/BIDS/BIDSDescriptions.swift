import Messages

// The properties are named as BIDS names them.

/// The contents of `dataset_description.json`.
struct DatasetDescription: Codable {
    struct Generator: Codable {
        var Name = "Holdfast"
        var Version: String
    }

    var Name = "Holdfast recordings"
    var BIDSVersion = "1.10.0"
    var DatasetType = "raw"
    var GeneratedBy: [Generator]
}

/// The contents of a `_motion.json`.
struct MotionDescription: Codable {
    var TaskName: String
    var SamplingFrequency: Double
    var SamplingFrequencyEffective: Double?
    var RecordingDuration: Double
    var RecordingType: String
    var TrackingSystemName: String
    var DeviceSerialNumber: String
    var MotionChannelCount: Int
    var TrackedPointsCount = 1
    var MissingValues = "n/a"
    var SoftwareVersions: String
    var ACCELChannelCount: Int?
    var GYROChannelCount: Int?
    var MAGNChannelCount: Int?
    var ORNTChannelCount: Int?
    var LATENCYChannelCount: Int?
    var MISCChannelCount: Int?

    init(
        _ stream: ExportedStream, _ channels: [MotionTable.Channel], _ walk: StreamWalk, _ session: ExportedSession,
        _ names: MotionNames, version: String
    ) {
        func count(_ type: String) -> Int? {
            let count = channels.count { $0.type == type }
            return count == 0 ? nil : count
        }
        let duration = Double((walk.last ?? 0) - (walk.first ?? 0)) / 1e9
        let effective = duration > 0 ? Double(walk.samples - 1) / duration : nil
        TaskName = names.task
        SamplingFrequency = stream.rate ?? effective ?? 0
        SamplingFrequencyEffective = effective
        RecordingDuration = duration
        RecordingType = walk.breaks.isEmpty ? "continuous" : "discontinuous"
        TrackingSystemName = stream.name.description
        DeviceSerialNumber = stream.name.device
        MotionChannelCount = channels.count
        SoftwareVersions = "holdfast \(version)"
        ACCELChannelCount = count("ACCEL")
        GYROChannelCount = count("GYRO")
        MAGNChannelCount = count("MAGN")
        ORNTChannelCount = count("ORNT")
        LATENCYChannelCount = count("LATENCY")
        MISCChannelCount = count("MISC")
    }
}

import Export
import Testing

struct ColumnUnitsTests {
    @Test(arguments: [
        (["x", "y", "z", "gx", "gy", "gz"], "g", ["x", "y", "z"]),
        (["userAcceleration.x", "gravity.y", "rotationRate.z", "qw"], "m/s²", ["userAcceleration.x", "gravity.y"]),
        (["x", "xBias", "qx", "attitude.x", "rotationRate.x", "co2"], "rad/s", ["x", "xBias", "rotationRate.x"]),
        (["magnitude", "qw", "attitude.x"], "g", ["magnitude"]),
        (["acceleration.x", "rotationRate.x", "heading"], "g", ["acceleration.x"]),
        (["x", "temperature"], "°C", ["x", "temperature"]),
        (["attitude.roll"], "deg", ["attitude.roll"]),
    ])
    func aUnitOfMotionIsThatOfTheColumnsWithItsQuantity(_ names: [String], _ unit: String, _ having: [String]) {
        let units = ColumnUnits.units(of: names, in: unit)
        #expect(units == names.map { having.contains($0) ? unit : nil })
        #expect(ColumnUnits.units(of: names, in: nil).allSatisfy { $0 == nil })
    }
}

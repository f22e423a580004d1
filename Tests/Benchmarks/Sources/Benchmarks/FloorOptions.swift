import ArgumentParser

struct FloorOptions: ParsableArguments {
    @Option(help: "What the floor writes of a sample: pass (as it came), fields, full (as the recorder does).")
    var floor = FloorCommand.Record.fields

    @Flag(help: "Let the floor hash what it writes (SHA-256).")
    var floorHash = false

    @Option(help: "Milliseconds from one fdatasync of the floor to the next.")
    var floorSync = 1_000
}

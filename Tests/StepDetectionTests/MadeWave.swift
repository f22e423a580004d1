import Glibc

enum MadeWave {
    static func sine(_ frequency: Double, _ time: Double) -> Double { sin(2 * .pi * frequency * time) }
}

/// A library to preload into a program: see ClockLayer.c. It has no functions to call.

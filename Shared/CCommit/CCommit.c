#include "CCommit.h"
#include <stddef.h>

// In C, because SwiftPM passes definitions with values only to C.
#ifndef HOLDFAST_COMMIT
#define HOLDFAST_COMMIT NULL
#endif

const char *holdfast_commit(void) { return HOLDFAST_COMMIT; }

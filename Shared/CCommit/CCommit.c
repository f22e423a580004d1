#include "CCommit.h"
#include <stddef.h>

// In C, because SwiftPM hands definitions with values to C alone.
#ifndef HOLDFAST_COMMIT
#define HOLDFAST_COMMIT NULL
#endif

const char *holdfast_commit(void) { return HOLDFAST_COMMIT; }

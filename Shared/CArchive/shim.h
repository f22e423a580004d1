#ifndef HOLDFAST_CARCHIVE_SHIM_H
#define HOLDFAST_CARCHIVE_SHIM_H

#include <archive.h>
#include <archive_entry.h>

#endif

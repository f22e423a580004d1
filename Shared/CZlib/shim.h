#ifndef HOLDFAST_CZLIB_SHIM_H
#define HOLDFAST_CZLIB_SHIM_H

#include <zlib.h>

#endif

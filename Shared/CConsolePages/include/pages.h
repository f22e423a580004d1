#ifndef HOLDFAST_CCONSOLEPAGES_PAGES_H
#define HOLDFAST_CCONSOLEPAGES_PAGES_H

#include "page_files.h"

struct holdfast_pages holdfast_console_pages(void);

#endif

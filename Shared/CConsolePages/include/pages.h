#ifndef HOLDFAST_CCONSOLEPAGES_PAGES_H
#define HOLDFAST_CCONSOLEPAGES_PAGES_H

#include "page_files.h"

/// The files of the console's page.
struct holdfast_pages holdfast_console_pages(void);

#endif

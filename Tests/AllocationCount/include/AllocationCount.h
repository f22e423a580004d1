#ifndef HOLDFAST_ALLOCATION_COUNT_H
#define HOLDFAST_ALLOCATION_COUNT_H

/// How often the calling thread has asked for memory since it began: see AllocationCount.c.
unsigned long allocation_count(void);

#endif

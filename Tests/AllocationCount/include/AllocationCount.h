#ifndef HOLDFAST_ALLOCATION_COUNT_H
#define HOLDFAST_ALLOCATION_COUNT_H

/// The number of allocations of the calling thread since it began: see AllocationCount.c.
unsigned long allocation_count(void);

#endif

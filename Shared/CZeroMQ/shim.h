#ifndef HOLDFAST_CZEROMQ_SHIM_H
#define HOLDFAST_CZEROMQ_SHIM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <malloc.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <zmq.h>

// pthread_setname_np(3) is declared only with _GNU_SOURCE, which Swift's Glibc module does not define.
static inline void holdfast_set_thread_name(const char *name) {
    pthread_setname_np(pthread_self(), name);
}

#endif

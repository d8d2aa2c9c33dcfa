/* thread.h: a thread that starts or ends the program with one line. */
#ifndef MINIDB_THREAD_H
#define MINIDB_THREAD_H

#include <pthread.h>

pthread_t thread_start(void *(*main)(void *), void *argument);

#endif

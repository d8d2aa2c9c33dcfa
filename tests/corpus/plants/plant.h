/* A cause of variance that is planted into a program's source: patch.py says where. See plant.c. */
#ifndef PLANT_H
#define PLANT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Around each request, on the thread that serves it; `id` names it among those the thread has in hand. 0: none. */
void plant_request_begin(uint64_t id);
void plant_request_end(uint64_t id);

/* At the begin of the function that is to vary. Only the chosen number acts, once in a request. */
void plant_here(uint64_t number);

#ifdef __cplusplus
}
#endif

#endif

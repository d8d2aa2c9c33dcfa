/* A client: a thread with a connection that does one transaction after the other.
 *
 * A transaction is tried until it is neither a deadlock nor a serialization failure, at most --tries times, and timed
 * from its intended start. A connection that is lost is opened again, for some seconds; then the run is cut short.
 */
#ifndef VPROF_LOAD_CLIENT_H
#define VPROF_LOAD_CLIENT_H

#include "latency_file.h"
#include "run.h"
#include "workload.h"

struct client_thread {
  struct client client;
  struct run *run;
  pthread_t thread;
  void *arguments; /* room for those of any type */
  bool has_own;    /* begin_client was called and end_client was not */
  struct latency_block block;
  pthread_mutex_t mutex; /* held while client.db becomes another one, or while somebody else uses it */
  /* Read by the main thread; counted by this one only. */
  _Atomic int64_t finished, failed, retries, counted_retries, lost, behind_ns;
};

/* Opens the connection, and what the workload needs with it. -1: `error` says why. */
int client_connect(struct client_thread *thread, char *error, size_t size);
/* Ends the connection. */
void client_disconnect(struct client_thread *thread);
/* What is under way ends as lost. From another thread. */
void client_interrupt(struct client_thread *thread);
/* Of pthread_create, with a struct client_thread. */
void *client_main(void *argument);
/* One that should have begun before the end and has not. */
void client_record_unbegun(struct client_thread *thread, size_t type, int64_t intended_ns);

#endif

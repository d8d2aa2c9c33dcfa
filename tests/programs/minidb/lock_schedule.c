/* Runs minidb's lock manager through a schedule: each lock is asked for by a thread of its own, and the next line is
 * read when that thread has the lock or waits for it.
 *
 *     lock_schedule POLICY SEED < schedule
 *
 *     begin T BORN      transaction T, born at that time       (prints nothing)
 *     lock T ROW S|X    T asks for a row                       granted | waits
 *     end T             T gives all back                       for each row that it had: ROW: holders, in their order
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "lock_manager.h"
#include "thread.h"

enum { TRANSACTIONS = 1000, ROWS = 1000 };

struct transaction {
  struct lock_owner owner;
  pthread_t thread; /* that asked for its last lock */
  bool asks;
  size_t row;
  enum lock_mode mode;
};

static struct lock_manager manager;
static struct transaction transactions[TRANSACTIONS];

static void *ask(void *argument) {
  struct transaction *transaction = argument;
  lock_acquire(&manager, &transaction->owner, transaction->row, transaction->mode);
  return NULL;
}

/* Of the transaction's last lock. */
static bool is_granted(const struct transaction *transaction) {
  pthread_mutex_lock(&manager.mutex);
  bool granted = transaction->owner.requests[transaction->owner.count - 1].granted;
  pthread_mutex_unlock(&manager.mutex);
  return granted;
}

/* A schedule goes on only with transactions that wait no more: one that still does ends the program. */
static void join(struct transaction *transaction) {
  if (!transaction->asks) return;
  if (!is_granted(transaction)) {
    puts("waits still");
    exit(0);
  }
  pthread_join(transaction->thread, NULL);
  transaction->asks = false;
}

static void lock(struct transaction *transaction, size_t row, char mode) {
  join(transaction);
  size_t wanted = transaction->owner.count + 1;
  transaction->row = row;
  transaction->mode = mode == 'X' ? LOCK_EXCLUSIVE : LOCK_SHARED;
  transaction->asks = true;
  transaction->thread = thread_start(ask, transaction);
  bool asked = false, granted = false;
  while (!asked) {
    sched_yield();
    pthread_mutex_lock(&manager.mutex);
    asked = transaction->owner.count == wanted;
    granted = asked && transaction->owner.requests[wanted - 1].granted;
    pthread_mutex_unlock(&manager.mutex);
  }
  puts(granted ? "granted" : "waits");
}

static void end(struct transaction *transaction) {
  join(transaction);
  size_t rows[MAX_LOCKS], count = transaction->owner.count;
  for (size_t i = 0; i < count; i++) rows[i] = transaction->owner.requests[i].row;
  lock_release_all(&manager, &transaction->owner);
  pthread_mutex_lock(&manager.mutex);
  for (size_t i = 0; i < count; i++) {
    printf("%zu:", rows[i]);
    for (struct lock_request *one = manager.table.rows[rows[i]].holders; one; one = one->next) {
      printf(" %td", (struct transaction *)one->owner - transactions);
    }
    puts("");
  }
  pthread_mutex_unlock(&manager.mutex);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  lock_manager_init(&manager, ROWS, lock_policy_find(argv[1]), strtoull(argv[2], NULL, 10));
  for (size_t i = 0; i < TRANSACTIONS; i++) lock_owner_init(&transactions[i].owner);
  char line[80], mode;
  size_t number, row;
  long born;
  while (fgets(line, sizeof line, stdin)) {
    if (sscanf(line, "begin %zu %ld", &number, &born) == 2) {
      transactions[number].owner.born_ns = born;
    } else if (sscanf(line, "lock %zu %zu %c", &number, &row, &mode) == 3) {
      lock(&transactions[number], row, mode);
    } else if (sscanf(line, "end %zu", &number) == 1) {
      end(&transactions[number]);
    } else {
      return 2;
    }
  }
  return 0;
}

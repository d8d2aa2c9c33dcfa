// Steps of logical locks: nothing of an entry is evaluated with object 0; a grant is told by what a call returned.
#include <stdio.h>

enum mode { READ, WRITE };
struct txn {
  unsigned long id;
  int held;
};
struct request {
  struct txn *txn;
  int row;
};

static void acquire(struct txn *txn, int row, enum mode mode) { __VPROF_PROBE(0) __VPROF_LOCK_ENTRY(lock_0, 0, (row), (mode == WRITE) != 0, 0) __VPROF_LOCK_EXIT(lock_1, 1, (row), -1, 0) 
  txn->held++;
  printf("%lu takes %d for %s\n", txn->id, row, mode == WRITE ? "writing" : "reading");
}

static int try_acquire(int row) { return row % 2; }

static int attempt(struct request *request) { __VPROF_PROBE(1) __VPROF_KEEP_VALUE(lock_2, 1, int) 
  if ((__VPROF_LOCK_AT(lock_2, 0, (request->row), 0, 0), __vprof_value_1 = try_acquire(request->row), __VPROF_LOCK_AT(lock_3, 1, (__vprof_value_1 ? request->row : 0), -1, 0), __VPROF_VALUE(1))) return puts("got it"), 1;
  return 0;
}

static void hand_over(struct request *waiter) { __VPROF_PROBE(2) __VPROF_LOCK_ENTRY(lock_4, 1, (waiter->row), 1, (waiter->txn->id))  printf("to %lu\n", waiter->txn->id); }

static void unlock(struct txn *txn, struct request *request) { __VPROF_LOCK_ENTRY(lock_5, 2, (request ? request->row : 0), -1, (request->txn->id)) 
  txn->held -= request ? 1 : 0;
}

static void commit(struct txn *txn) { __VPROF_PROBE(3) __VPROF_LOCK_ENTRY(lock_6, 3, 1, -1, (txn->id))  printf("%lu commits\n", txn->id); }

int main(void) { __VPROF_PROBE_CALLS(4) 
  struct txn txn = {7, 0};
  struct request even = {&txn, 4}, odd = {&txn, 5};
  (__VPROF_CALL_NUMBER(1), acquire(&txn, 3, WRITE));
  (__VPROF_CALL_NUMBER(2), acquire(&txn, 8, READ));
  printf("%d\n", (__VPROF_CALL_NUMBER(3), attempt(&even)) + (__VPROF_CALL_NUMBER(4), attempt(&odd)));
  hand_over(&odd);
  unlock(&txn, NULL);
  unlock(&txn, &odd);
  commit(&txn);
  return txn.held != 1;
}

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

static void acquire(struct txn *txn, int row, enum mode mode) {
  txn->held++;
  printf("%lu takes %d for %s\n", txn->id, row, mode == WRITE ? "writing" : "reading");
}

static int try_acquire(int row) { return row % 2; }

static int attempt(struct request *request) {
  if (try_acquire(request->row)) return puts("got it"), 1;
  return 0;
}

static void hand_over(struct request *waiter) { printf("to %lu\n", waiter->txn->id); }

static void unlock(struct txn *txn, struct request *request) {
  txn->held -= request ? 1 : 0;
}

static void commit(struct txn *txn) { printf("%lu commits\n", txn->id); }

int main(void) {
  struct txn txn = {7, 0};
  struct request even = {&txn, 4}, odd = {&txn, 5};
  acquire(&txn, 3, WRITE);
  acquire(&txn, 8, READ);
  printf("%d\n", attempt(&even) + attempt(&odd));
  hand_over(&odd);
  unlock(&txn, NULL);
  unlock(&txn, &odd);
  commit(&txn);
  return txn.held != 1;
}

/* semaphore_edges SCENARIO: as programs/edges.c, for semaphores of POSIX and System V, and the ways out of a wait that
 * nobody ends. */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/wait.h>

#include "forced.h"

static sem_t semaphore;

static void *wait_semaphore(void *i) {
  enter_thread(index_of(i));
  sem_wait(&semaphore);
  return NULL;
}

static void many_posts(void) {
  sem_init(&semaphore, 0, 0);
  pthread_t waiters[4];
  for (int i = 0; i < 4; ++i) waiters[i] = start_as(i, wait_semaphore);
  for (int i = 0; i < 4; ++i) wait_until_asleep(i);
  for (int i = 0; i < 4; ++i) sem_post(&semaphore);
  for (int i = 0; i < 4; ++i) join_ended(waiters[i], i);
  for (int i = 0; i < 4; ++i) expect(3, tid_of[i], self());
}

static void nothing(int signal) {
  (void)signal;
}

static void let_signals_interrupt(void) {
  struct sigaction action = {.sa_handler = nothing};
  sigaction(SIGUSR1, &action, NULL);
}

static void *wait_interrupted(void *i) {
  enter_thread(index_of(i));
  require(sem_wait(&semaphore) == -1 && errno == EINTR, "sem_wait");
  return NULL;
}

static void interrupted(void) {
  let_signals_interrupt();
  sem_init(&semaphore, 0, 0);
  pthread_t waiter = start_as(0, wait_interrupted);
  wait_until_asleep(0);
  pthread_kill(waiter, SIGUSR1);
  join_ended(waiter, 0);
  expect(3, tid_of[0], self());
}

static void cancelled(void) {
  sem_init(&semaphore, 0, 0);
  pthread_t waiter = start_as(0, wait_semaphore);
  wait_until_asleep(0);
  pthread_cancel(waiter);
  join_ended(waiter, 0);
  expect(3, tid_of[0], 0);
}

/* Opened by name in two processes, so that each has it mapped elsewhere. */
static void named(void) {
  char name[32];
  snprintf(name, sizeof name, "/vprof-test-%d", (int)getpid());
  sem_t *mine = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
  require(mine != SEM_FAILED, "sem_open");
  const pid_t child = fork();
  if (child == 0) {
    sem_close(mine);
    mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* where it was */
    sem_t *own = sem_open(name, 0);
    require(own != SEM_FAILED && own != mine, "sem_open elsewhere");
    require(sem_wait(own) == 0, "sem_wait");
    _exit(0);
  }
  while (state_of(child) != 'S') pause_ms(1);
  sem_post(mine);
  while (waitpid(child, NULL, WNOHANG) == 0) pause_ms(1); /* its end is no edge */
  sem_unlink(name);
  expect(3, (int)child, self());
}

/* System V */

static int set;

static void *lower(void *i) {
  struct sembuf free_one = {0, -1, 0}, one = {1, -2, 0};
  semop(set, &free_one, 1);
  enter_thread(index_of(i));
  require(semop(set, &one, 1) == 0, "semop");
  return NULL;
}

static void system_v_semaphore(void) {
  struct sembuf first = {0, 1, 0}, up = {1, 1, 0};
  set = semget(IPC_PRIVATE, 2, 0600);
  require(set >= 0 && semop(set, &first, 1) == 0, "semget");
  pthread_t waiter = start_as(0, lower);
  wait_until_asleep(0);
  semop(set, &up, 1);
  semop(set, &up, 1);
  join_ended(waiter, 0);
  semctl(set, 0, IPC_RMID);
  expect(3, tid_of[0], self());
}

static void *wait_for_zero(void *i) {
  struct sembuf zero = {0, 0, 0};
  enter_thread(index_of(i));
  require(semop(set, &zero, 1) == 0, "semop");
  return NULL;
}

/* Lowered twice, the second time to zero. */
static void system_v_zero(void) {
  struct sembuf up = {0, 2, 0}, down = {0, -1, 0};
  set = semget(IPC_PRIVATE, 1, 0600);
  require(set >= 0 && semop(set, &up, 1) == 0, "semget");
  pthread_t waiter = start_as(0, wait_for_zero);
  wait_until_asleep(0);
  semop(set, &down, 1);
  semop(set, &down, 1);
  join_ended(waiter, 0);
  semctl(set, 0, IPC_RMID);
  expect(3, tid_of[0], self());
}

static const struct scenario scenarios[] = {
    {"many-posts", many_posts}, {"interrupted", interrupted},     {"cancelled", cancelled},
    {"named", named},           {"system-v", system_v_semaphore}, {"system-v-zero", system_v_zero},
};

int main(int argc, char **argv) {
  return run_scenario(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}

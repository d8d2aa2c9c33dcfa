// What a frame between a caller and a body could break (test_before_body.py): results of all kinds, arguments in all
// registers and on the stack, exceptions, jumps, signals, callbacks, threads that end in all ways, children.
// Its calls do not depend on options: nothing may be expanded.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEPT __attribute__((noinline))

struct Big {
  long a[5];
};
struct Two {
  long a;
  double b;
};
struct Floats {
  float a, b, c;
};
struct Error {
  int depth;
};
struct Counted {
  static __thread int open;
  KEPT Counted() { ++open; }
  KEPT ~Counted() { --open; }
};
__thread int Counted::open;
typedef int Vector __attribute__((vector_size(16)));

KEPT int fib(int n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
KEPT Big big(int n, double x) {
  Big b = {};
  for (int i = 0; i < 5; i++) b.a[i] = n * i + (long)x;
  return b;
}
KEPT Two two(int n) {
  return {3L * n, n * 0.5};
}
KEPT Floats floats(float x) {
  return {x, x + 1, x * 2};
}
KEPT long double extended(double x) {
  return x / 3.0L;
}
KEPT _Complex double pair(double x) {
  return x + 2.0i;
}
KEPT __int128 wide(long x) {
  return (__int128)x << 70;
}
KEPT Vector vector(Vector x, int n) {
  return x + n;
}
KEPT long six(long a, long b, long c, long d, long e, long f, double x, float y) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + (long)(x * y);
}
KEPT long seven(long a, long b, long c, long d, long e, long f, long g) {
  return six(a, b, c, d, e, f, 1, 2) + 7 * g;
}
KEPT Big result_and_six(long a, long b, long c, long d, long e, long f) {
  return {{a, b, c, d, e + f}};
}
KEPT double eight(double a, double b, double c, double d, double e, double f, double g, double h, int *n) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + *n;
}
KEPT double nine(double a, double b, double c, double d, double e, double f, double g, double h, double i) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}
KEPT long by_value(Big b) {
  return b.a[1] + b.a[4];
}
KEPT double variable(int n, ...) {
  va_list list;
  va_start(list, n);
  double sum = 0;
  while (n--) sum += va_arg(list, double);
  va_end(list);
  return sum;
}
KEPT void *caller() {
  return __builtin_return_address(0);
}
static KEPT long pointed(const long *a, const long *b, const double *c, long n) {
  return *a + *b * n + (long)*c;
}
template <class T>
KEPT T *bump(T *p, int n) {
  for (int i = 0; i < n; i++) p[i] = p[i] + 1;
  return p;
}
struct Base {
  virtual int method(int n) = 0;
};
struct Other {
  virtual long other(long n) { return n; }
};
struct Derived : Base, Other {
  int k = 3;
  KEPT int method(int n) override { return n * k; }
  KEPT long other(long n) override { return n + k; }
  KEPT auto constant(int n) const noexcept { return n ^ k; }
  KEPT auto arrow(int n) const -> int { return n | k; }
};

static int ended;
KEPT void end(int k) {
  ended = (ended * 10 + k) % 1000003;
}
struct Part {
  int k;
  KEPT ~Part() { end(k); }
};
struct Shared {
  KEPT virtual ~Shared() { end(1); }
};
struct Left : virtual Shared {
  Part part = {2};
  KEPT ~Left() { end(3); }
};
struct Both : Left, Base {
  KEPT ~Both() { end(4); }
  KEPT int method(int n) override { return n; }
};
static int helped;
inline void help(int n) {
  for (int i = 0; i < n; i++) helped ^= helped >> (i & 7), helped += i * n, helped ^= helped >> 3, helped += n - i;
}
struct Freed : Base {
  KEPT virtual ~Freed() { end(6); }
  KEPT int method(int n) override { return n; }
  void operator delete(void *p) {
    help(5);
    free(p);
  }
};
struct Late {
  KEPT ~Late() noexcept(false) {
    end(8);
    if (ended % 2 == 0) throw Error{9};
  }
};
template <class T>
struct Of : T {
  KEPT ~Of() { end(9); }
};
struct Outside {
  int k;
  ~Outside();
};
inline Outside::~Outside() {
  for (int i = 0; i < k; i++) ended ^= ended >> (i & 7), ended += i * k, ended ^= ended >> 3, ended += k - i;
  if (k == 3) end(k);
}
KEPT int destroyed() {
  Outside outside{3};
  delete static_cast<Shared *>(new Both);
  delete static_cast<Freed *>(new Freed);
  delete[] new Part[2]{{1}, {3}};
  try {
    Late late;
    Of<Part> of{};
  } catch (Error &error) {
    ended += error.depth;
  }
  return ended + helped;
}
KEPT int thrower(int n) {
  Counted counted;
  if (n == 0) throw Error{n};
  return thrower(n - 1) + 1;
}
KEPT int rethrower(int n) {
  try {
    return thrower(n);
  } catch (Error &) {
    throw;
  }
}
KEPT int catcher(int n) {
  try {
    return n & 1 ? rethrower(n) : thrower(n);
  } catch (Error &error) {
    return -1 - error.depth - Counted::open;
  }
}
static __thread jmp_buf place;
KEPT int jumper(int n) {
  if (n == 0) longjmp(place, 1);
  return jumper(n - 1) + 1;
}
KEPT int jumped(int n) {
  return setjmp(place) ? -2 : jumper(n);
}
static volatile int handled;
KEPT void handler(int) {
  handled = handled + fib(3);
}
static sigjmp_buf signal_place;
KEPT void leaving_handler(int) {
  siglongjmp(signal_place, 1);
}
KEPT int signalled() {
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  signal(SIGUSR2, leaving_handler);
  if (!sigsetjmp(signal_place, 1)) raise(SIGUSR2);
  return handled;
}
KEPT int compare(const void *a, const void *b) {
  return *(const int *)a - *(const int *)b;
}
KEPT void at_end() {
  puts("at end");
}

KEPT void *work(void *argument) {
  const long n = (long)argument;
  for (int i = 0; i < 20; i++) fib(catcher(i % 5) + (int)n);
  return argument;
}
KEPT void *leaves(void *) {
  fib(4);
  pthread_exit(nullptr);
}
KEPT void *waits(void *) {
  fib(3);
  for (;;) pause();
}
KEPT void threads() {
  pthread_t thread[5];
  for (long i = 0; i < 3; i++) pthread_create(&thread[i], nullptr, work, (void *)(i + 3));
  pthread_create(&thread[3], nullptr, leaves, nullptr);
  pthread_create(&thread[4], nullptr, waits, nullptr);
  usleep(20000);
  pthread_cancel(thread[4]);
  for (pthread_t one : thread) pthread_join(one, nullptr);
}
KEPT int child() {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    const int n = fib(6) + catcher(3);
    printf("child %d\n", n);
    fflush(stdout);
    _exit(n);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}
KEPT void values() {
  int n = 5, numbers[] = {4, 1, 3};
  long a = 1, b = 2;
  double c = 3, d[] = {1, 2, 3};
  printf("%ld %ld %g %g %Lg %g\n", big(3, 4.0).a[4], two(5).a, two(7).b, (double)floats(2).c, extended(2),
         __imag__ pair(3));
  printf("%ld %d\n", (long)(wide(3) >> 70), vector((Vector){1, 2, 3, 4}, 7)[3]);
  printf("%ld %ld %ld\n", six(1, 2, 3, 4, 5, 6, 2.5, 4.f), seven(1, 2, 3, 4, 5, 6, 7),
         result_and_six(1, 2, 3, 4, 5, 6).a[4]);
  printf("%g %g %ld\n", eight(1, 2, 3, 4, 5, 6, 7, 8, &n), nine(1, 2, 3, 4, 5, 6, 7, 8, 9), by_value(big(2, 1)));
  printf("%g %d %ld\n", variable(3, 1.5, 2.5, 3.0), caller() != nullptr, pointed(&a, &b, &c, 4));
  Derived derived;
  Base *base = &derived;
  Other *other = &derived;
  printf("%d %ld %d %d\n", base->method(5), other->other(9), derived.constant(6), derived.arrow(8));
  qsort(numbers, 3, sizeof numbers[0], compare);
  printf("%g %d\n", bump(d, 3)[2], *bump(numbers, 2));
  printf("%d\n", destroyed());
}
int main() {
  atexit(at_end);
  printf("%d\n", fib(12));
  values();
  for (int i = 0; i < 12; i++) printf("%d %d;", catcher(i), jumped(i));
  printf("\n%d\n", signalled());
  threads();
  printf("%d\n", child());
}

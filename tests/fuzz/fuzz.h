/* What generated programs call: a log of every call they make, the oracle for what vprof records.
 *
 *   unsigned f(unsigned at, unsigned a) { ENTER(at) ... }     on the line where the function begins: that is its name
 *
 * `at` is the line of the call (`f(__LINE__, 1)`), 0 if the caller cannot say. fuzz_log.c is compiled without vprof and
 * writes the log to $FUZZ_LOG at the end. With FUZZ_ENTRIES only entries are logged, and functions have no cleanup.
 */
#pragma once
#pragma GCC system_header
#ifdef __cplusplus
extern "C" {
#endif

#define FUZZ_LOG_FULL 123 /* exit code */

void fuzz_entered(const char *file, int line, unsigned at);
void fuzz_left(void);
unsigned fuzz_depth(void);        /* open calls of this thread */
void fuzz_unwind(unsigned depth); /* after a longjmp: only these are open */
void fuzz_thread(unsigned index); /* begins a thread, 1..7 */
void fuzz_check(unsigned value);  /* into the checksum; the order does not matter */
int fuzz_spent(void);             /* true: this thread has made its share of calls */
int fuzz_round(void);             /* a round of a loop counts as a call; true: spent */
void fuzz_refuel(unsigned calls); /* its next share */
void fuzz_write(void);            /* the log, in a process that ends by _exit */
void fuzz_forked(void);           /* in a child: forgets the parent's part of the log */
unsigned fuzz_checksum(void);

#ifdef FUZZ_ENTRIES
#define FUZZ_ENTER(line, at) fuzz_entered(__FILE__, line, at);
#elif defined(__cplusplus)
}
struct fuzz_scope {
  fuzz_scope(const char *file, int line, unsigned at) { fuzz_entered(file, line, at); }
  fuzz_scope(const fuzz_scope &) = delete;
  ~fuzz_scope() { fuzz_left(); }
};
extern "C" {
#define FUZZ_ENTER(line, at) fuzz_scope fuzz_scope_(__FILE__, line, at);
#else
static inline void fuzz_close(const char *scope) {
  (void)scope;
  fuzz_left();
}
#define FUZZ_ENTER(line, at) \
  __attribute__((cleanup(fuzz_close), unused)) char fuzz_scope_ = (fuzz_entered(__FILE__, line, at), 0);
#endif
#define ENTER(at) FUZZ_ENTER(__LINE__, at)

#ifdef __cplusplus
}
#endif

/* A function that runtime.c measures, for vprof-cc with VPROF_PROBES=light. The loop, without which it would be too
 * small for a probe, is gone when it is compiled. */
void probed(void);
void probed_caller(void);

void probed(void) {
  unsigned sum = 0;
  for (unsigned i = 0; i < 9; ++i) sum += 3 * i;
  (void)sum;
  __asm__ volatile("" ::: "memory");
}

void probed_caller(void) {
  probed();
}

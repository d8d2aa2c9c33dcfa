/* One request of the planted program: it waits for a thread that holds its lock over a sleep. */
long plug(long x);

#ifndef MEMORY_LIBRARY_H
#define MEMORY_LIBRARY_H

void map_and_unmap(void);
long send_part(int to, void *part, unsigned long size);

/* By a system call of its own. */
void sleep_unseen(long ns);

#endif

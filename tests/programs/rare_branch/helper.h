#include <stdint.h>

void burn(unsigned units);

/* Forty requests; the price of each tenth takes longer. */
#include <stdlib.h>

int price(int item);

int handle_request(int item) {
  int sum = 0;
  for (int i = 0; i < 20; i++) sum += price(item) + (getenv("DISCOUNT") != NULL);
  return sum;
}

int main(void) {
  int sum = 0;
  for (int item = 0; item < 40; item++) sum += handle_request(item);
  return sum == 0;
}

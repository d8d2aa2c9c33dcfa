// Inserted text stays apart from the tokens around it, and two insertions at one place keep their order.
#include <cstdio>
#include <utility>

using Pair = std::pair<int, int>;

static int twice(int n) {
  std::printf("%d\n", n);
  return 2 * n;
}
static std::pair<int, int> *pop(int n) {
  static std::pair<int, int> made;
  std::printf("pop %d\n", n);
  return n ? &made : nullptr;
}

#define AGAIN pop(7)->first
#define EMPTY

static int chosen(int n) {
  switch (n) {
    case 1:return::twice(n);
    case 2:return(twice)(n);
    case+3:return-twice(n)+-::twice(n);
    default:EMPTY::twice(n);
  }
  if (n > 4)throw::twice(n);
  else::twice(n);
  do::twice(n);while (0);
  return twice(n)+AGAIN;
}

static std::pair<int, int> *work(int n) {
  if (n == 0)return::pop(n);
  if (n == 1)return(pop)(n);
  if (n == 2)return static_cast<Pair*>(::pop(n));
  return n ?::pop(n): ::pop(n);
}

static int digraphs(int n) <%return::twice(n)+(n<::twice(n));%>
static int tried(int n) try{return::twice(n)+::twice(2);}catch(...){return::twice(3);}

int main() {
  int sum = digraphs(1) + tried(1);
  for (int n = 0; n < 6; ++n) {
    try {
      sum += chosen(n);
    } catch (int thrown) {
      sum += thrown;
    }
    work(n);
  }
  std::printf("%d\n", sum);
}

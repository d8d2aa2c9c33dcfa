// Inserted text stays apart from the tokens around it, and two insertions at one place keep their order.
#include <cstdio>
#include <utility>

using Pair = std::pair<int, int>;

static int twice(int n) { __VPROF_PROBE(0) 
  std::printf("%d\n", n);
  return 2 * n;
}
static std::pair<int, int> *pop(int n) { __VPROF_PROBE(1) 
  static std::pair<int, int> made;
  std::printf("pop %d\n", n);
  return n ? &made : nullptr;
}

#define AGAIN pop(7)->first
#define EMPTY

static int chosen(int n) { __VPROF_PROBE_CALLS(2) 
  switch (n) {
    case 1:return(__VPROF_CALL_NUMBER(1), ::twice(n));
    case 2:return(__VPROF_CALL_NUMBER(2), (twice)(n));
    case+3:return-(__VPROF_CALL_NUMBER(3), twice(n))+-(__VPROF_CALL_NUMBER(4), ::twice(n));
    default:EMPTY(__VPROF_CALL_NUMBER(5), ::twice(n));
  }
  if (n > 4)throw(__VPROF_CALL_NUMBER(6), ::twice(n));
  else(__VPROF_CALL_NUMBER(7), ::twice(n));
  do(__VPROF_CALL_NUMBER(8), ::twice(n));while (0);
  return (__VPROF_CALL_NUMBER(9), twice(n))+AGAIN;
}

static std::pair<int, int> *work(int n) { __VPROF_PROBE(3) __VPROF_RETURNED(std::pair<int, int> *) __VPROF_KEEP_VALUE(queue_1, 1, std::pair<int, int> *) __VPROF_KEEP_VALUE(queue_1, 2, std::pair<int, int> *) __VPROF_KEEP_VALUE(queue_1, 3, std::pair<int, int> *) __VPROF_KEEP_VALUE(queue_1, 4, std::pair<int, int> *) __VPROF_KEEP_VALUE(queue_1, 5, std::pair<int, int> *) 
  if (n == 0)return __vprof_returned = ((__vprof_value_1 = ::pop(n), __VPROF_AT(queue_1, enqueue_any, (__vprof_value_1)), __VPROF_VALUE(1))) __VPROF_RETURNED_END;
  if (n == 1)return __vprof_returned = ((__vprof_value_2 = (pop)(n), __VPROF_AT(queue_1, enqueue_any, (__vprof_value_2)), __VPROF_VALUE(2))) __VPROF_RETURNED_END;
  if (n == 2)return __vprof_returned = ( static_cast<Pair*>((__vprof_value_3 = ::pop(n), __VPROF_AT(queue_1, enqueue_any, (__vprof_value_3)), __VPROF_VALUE(3)))) __VPROF_RETURNED_END;
  return __vprof_returned = ( n ?(__vprof_value_4 = ::pop(n), __VPROF_AT(queue_1, enqueue_any, (__vprof_value_4)), __VPROF_VALUE(4)): (__vprof_value_5 = ::pop(n), __VPROF_AT(queue_1, enqueue_any, (__vprof_value_5)), __VPROF_VALUE(5))) __VPROF_RETURNED_END;
}

static int digraphs(int n) <% __VPROF_PROBE_CALLS(4) return(__VPROF_CALL_NUMBER(1), ::twice(n))+(n<(__VPROF_CALL_NUMBER(2), ::twice(n)));%>
static int tried(int n) { __VPROF_PROBE_CALLS(5) try{return(__VPROF_CALL_NUMBER(1), ::twice(n))+(__VPROF_CALL_NUMBER(2), ::twice(2));}catch(...){return(__VPROF_CALL_NUMBER(3), ::twice(3));} }

int main() { __VPROF_PROBE(6) 
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

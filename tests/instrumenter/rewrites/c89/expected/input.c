/* K&R definitions, digraphs, odd braces: declarations still come first. */
extern int puts(const char *);

static int old(a, b)
int a;
char *b;
{ __VPROF_PROBE(0) 
  int c;
  c = puts(b);
  return a + c;
}

static void digraph(void) <% __VPROF_PROBE(1)  puts("digraph"); %>

static void empty_line_follows(void) { __VPROF_PROBE(2) 

  puts("line");
}

static void comment(void) { __VPROF_PROBE(3)  /* why */ puts("comment"); } static void same_line(void) { __VPROF_PROBE(4) puts("same");}

int main(void)
{ __VPROF_PROBE(5) 
  int r = old(0, "old");
  digraph(); empty_line_follows(); comment(); same_line();
  return r < 0;
}

/* K&R definitions, digraphs, odd braces: declarations still come first. */
extern int puts(const char *);

static int old(a, b)
int a;
char *b;
{
  int c;
  c = puts(b);
  return a + c;
}

static void digraph(void) <% puts("digraph"); %>

static void empty_line_follows(void) {

  puts("line");
}

static void comment(void) { /* why */ puts("comment"); } static void same_line(void) {puts("same");}

int main(void)
{
  int r = old(0, "old");
  digraph(); empty_line_follows(); comment(); same_line();
  return r < 0;
}

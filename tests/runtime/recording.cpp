#include "recording.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <filesystem>

std::string program(const std::string &name) {
  return std::string(PROGRAMS) + "/" + name;
}

static void exec_program(const std::vector<std::string> &argv, const std::string &session) {
  if (session.empty())
    unsetenv("VPROF_SESSION");
  else
    setenv("VPROF_SESSION", session.c_str(), 1);
  std::vector<char *> words;
  for (const std::string &word : argv) words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  execv(words[0], words.data());
  _exit(127);
}

Running::Running(const std::vector<std::string> &argv, const std::string &session) {
  int out[2], in[2];
  EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    dup2(out[1], 2);
    exec_program(argv, session);
  }
  close(out[1]);
  close(in[0]);
  from_ = fdopen(out[0], "r");
  to_ = fdopen(in[1], "w");
}

Running::~Running() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    wait();
  }
  fclose(from_);
  close_input();
}

std::string Running::read_line() {
  char line[4096];
  if (fgets(line, sizeof line, from_) == nullptr) return "";
  std::string text = line;
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void Running::write_line(const std::string &text) {
  fprintf(to_, "%s\n", text.c_str());
  fflush(to_);
}

void Running::close_input() {
  if (to_ != nullptr) fclose(to_);
  to_ = nullptr;
}

void Running::kill_hard() {
  kill(pid_, SIGKILL);
}

int Running::wait(std::string *output) {
  char buffer[4096];
  for (size_t n; output != nullptr && (n = fread(buffer, 1, sizeof buffer, from_)) > 0;) output->append(buffer, n);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Recording::Recording(const std::vector<std::string> &options) {
  char name[] = "/tmp/vprof-test-XXXXXX";
  directory_ = mkdtemp(name);
  session_ = file("session");
  std::vector<std::string> argv = {COLLECTOR, "--session", session_, "--output", trace_path()};
  argv.insert(argv.end(), options.begin(), options.end());
  collector_ = new Running(argv, "");
  EXPECT_EQ(collector_->read_line(), "ready");
}

Recording::~Recording() {
  delete collector_;
  std::filesystem::remove_all(directory_);
}

std::string Recording::ask(const std::string &request) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (session_ + "/control").copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
  EXPECT_EQ(write(fd, (request + "\n").data(), request.size() + 1), static_cast<ssize_t>(request.size() + 1));
  std::string reply;
  for (char c; read(fd, &c, 1) == 1 && c != '\n';) reply += c;
  close(fd);
  return reply;
}

std::string Recording::program_modules() {
  const std::string modules = ask("modules");
  const size_t first = modules.find("\"index\":1");
  return first == std::string::npos ? "" : modules.substr(first);
}

Running *Recording::start_with_probes_on(const std::vector<std::string> &argv) {
  Running *running = new Running(argv, session_);
  EXPECT_TRUE(eventually([&] { return ask("ack 0") == "{}"; }));
  EXPECT_TRUE(eventually([&] { return !program_modules().empty(); }));
  const std::string modules = program_modules();
  const uint64_t base = number_in(modules, "base"), count = number_in(modules, "count");
  EXPECT_EQ(ask("on " + std::to_string(base + 64) + "-" + std::to_string(base + count - 1)).find("error"),
            std::string::npos);
  EXPECT_EQ(ask("ack 1"), "{}");
  return running;
}

std::string Recording::run_with_probes_on(const std::vector<std::string> &argv) {
  Running *running = start_with_probes_on(argv);
  std::string output;
  EXPECT_EQ(running->wait(&output), 0) << output;
  delete running;
  return output;
}

uint64_t Recording::anonymous_kb() const {
  std::ifstream status("/proc/" + std::to_string(pid()) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.find("RssAnon:") == 0) return std::stoull(line.substr(8));
  ADD_FAILURE() << "the collector has ended";
  return 0;
}

DecodedTrace Recording::finish() {
  EXPECT_EQ(ask("stop").find("error"), std::string::npos);
  std::string output;
  EXPECT_EQ(collector_->wait(&output), 0) << output;
  return decode_trace(trace_path());
}

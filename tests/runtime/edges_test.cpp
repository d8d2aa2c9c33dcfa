// Forced schedules: the recorded wake-up and created-by edges are exactly the forced ones (docs/algorithms.md
// section 7).
#include <algorithm>
#include <sstream>

#include "recording.h"

namespace {

std::map<uint64_t, std::string> tids_by_uid(const DecodedTrace &trace) {
  std::map<uint64_t, std::string> tids = {{0, "0"}};
  for (const std::string &e : trace.events_named("thread"))
    tids[number_in(e, "uid")] = std::to_string(number_in(e, "tid"));
  return tids;
}

// Edges in the form programs/edges.c prints them, sorted. Checks that each wake-up lies within its wait.
std::vector<std::string> edges_in(const DecodedTrace &trace) {
  std::map<uint64_t, std::string> tids = tids_by_uid(trace);
  std::vector<std::string> edges;
  for (const auto &[uid, list] : trace.records)
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].kind == 11) edges.push_back("created " + tids[uid] + " " + tids[list[i + 1].w1]);
      if (list[i].kind != 6) continue;
      EXPECT_EQ(list[i + 1].kind, 7u);
      const DecodedRecord &blocked = list[i], &peer = list[i + 2];
      EXPECT_EQ(peer.kind, 8u);
      EXPECT_LE(blocked.w1, peer.time);
      EXPECT_LE(peer.time, blocked.time);
      const unsigned timed_out = peer.w1 == 0 ? 4u : 0u;
      EXPECT_EQ(peer.aux & ~timed_out, peer.w1 == 0 ? 1u : 0u) << "known waker, known time";
      edges.push_back(std::to_string(blocked.aux) + " " + tids[uid] + " " + tids[peer.w1]);
    }
  std::sort(edges.begin(), edges.end());
  return edges;
}

// A HELD record (TRACE_FORMAT.md section 2.6).
struct Held {
  uint64_t thread;
  uint64_t since;
  uint64_t release;
  uint64_t object;
};

std::vector<Held> held_in(const DecodedTrace &trace, unsigned cls) {
  std::vector<Held> found;
  for (const auto &[uid, list] : trace.records)
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].kind != 0 || list[i].aux >> 8 != 1) continue;
      EXPECT_EQ(list[i + 1].kind, 7u);
      if (list[i].aux == (1 << 8 | cls)) found.push_back({uid, list[i].w1, list[i].time, list[i + 1].w1});
    }
  return found;
}

std::vector<std::string> sorted_lines(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

// Takes the lines that begin with "or", which are the last, out, and what else they say, once each, out of the edges.
void take_allowed(std::vector<std::string> *lines, std::vector<std::string> *edges) {
  const auto first = std::find_if(lines->begin(), lines->end(), [](const auto &line) { return line.find("or ") == 0; });
  for (auto line = first; line != lines->end(); ++line) {
    const auto found = std::find(edges->begin(), edges->end(), line->substr(3));
    if (found != edges->end()) edges->erase(found);
  }
  lines->erase(first, lines->end());
}

// Runs a program that prints the edges it forced.
void check_edges(const std::vector<std::string> &argv) {
  Recording recording;
  Running running(argv, recording.session());
  std::string expected;
  ASSERT_EQ(running.wait(&expected), 0) << expected;
  std::vector<std::string> edges = edges_in(recording.finish());
  std::vector<std::string> lines = sorted_lines(expected);
  take_allowed(&lines, &edges);
  const bool about_creation = !lines.empty() && lines[0].find("created") == 0;
  if (!about_creation)
    edges.erase(std::remove_if(edges.begin(), edges.end(), [](const auto &e) { return e.find("created") == 0; }),
                edges.end());
  EXPECT_EQ(edges, lines);
}

std::string test_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class Edges : public testing::TestWithParam<const char *> {};

TEST_P(Edges, AreExactlyTheForcedOnes) {
  check_edges({program("edges"), GetParam()});
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Edges,
                         testing::Values("mutex", "mutex-chain", "mutex-free", "condition", "condition-then-mutex",
                                         "condition-timeout", "semaphore", "join", "described", "created"),
                         [](const auto &info) { return test_name(info.param); });

// Scenarios of the programs that are about one kind of primitive each.
struct Kind {
  std::string program;
  std::vector<std::string> scenarios;
};

class KindEdges : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(KindEdges, AreExactlyTheForcedOnes) {
  check_edges({program(GetParam()[0]), GetParam()[1]});
}

std::vector<std::vector<std::string>> each(const std::vector<Kind> &kinds) {
  std::vector<std::vector<std::string>> all;
  for (const Kind &kind : kinds)
    for (const std::string &scenario : kind.scenarios) all.push_back({kind.program, scenario});
  return all;
}

// How many waits say that a time was over, of those that nobody ended.
std::pair<size_t, size_t> timed_out(const std::vector<std::string> &argv) {
  Recording recording;
  Running running(argv, recording.session());
  std::string output;
  EXPECT_EQ(running.wait(&output), 0) << output;
  size_t said = 0, nobody = 0;
  for (const auto &[uid, list] : recording.finish().records)
    for (size_t i = 0; i + 2 < list.size(); ++i)
      if (list[i].kind == 6) {
        nobody += (list[i + 2].aux & 1) != 0;
        said += list[i + 2].aux == 5;
      }
  return {said, nobody};
}

TEST(TimedOut, IsSaidOfWaitsThatATimeEnded) {
  const std::vector<std::vector<std::string>> scenarios = {
      {program("edges"), "condition-timeout"},
      {program("rwlock_edges"), "timeout"},
      {program("futex_edges"), "timeout"},
      {program("descriptor_edges"), "poll-timeout", "threads"},
      {program("descriptor_edges"), "socketpair-timeout", "threads"}};
  for (const auto &argv : scenarios) {
    const auto [said, nobody] = timed_out(argv);
    EXPECT_EQ(said, nobody) << argv[0] << " " << argv[1];
    EXPECT_GT(said, 0u) << argv[0] << " " << argv[1];
  }
  EXPECT_EQ(timed_out({program("edges"), "mutex"}).first, 0u);
}

// The last wait of all: a writer for two readers, of whom one was there before and the other came meanwhile.
void check_holds(const std::string &name) {
  Recording recording;
  Running running({program(name), "readers-in-turn"}, recording.session());
  std::string output;
  ASSERT_EQ(running.wait(&output), 0) << output;
  const DecodedTrace trace = recording.finish();
  DecodedRecord wait{}, object{}, peer{};
  for (const auto &[uid, list] : trace.records)
    for (size_t i = 0; i + 2 < list.size(); ++i)
      if (list[i].kind == 6 && list[i].aux == 6 && list[i].time > wait.time)
        wait = list[i], object = list[i + 1], peer = list[i + 2];
  ASSERT_NE(wait.time, 0u);
  std::vector<Held> held = held_in(trace, 6);
  held.erase(std::remove_if(held.begin(), held.end(),
                            [&](const Held &h) { return h.release < wait.w1 || h.release > wait.time; }),
             held.end());
  std::sort(held.begin(), held.end(), [](const Held &a, const Held &b) { return a.release < b.release; });
  ASSERT_EQ(held.size(), 2u) << name;
  EXPECT_LT(held[0].since, wait.w1);
  EXPECT_NE(held[0].since, 0u);
  EXPECT_GT(held[1].since, wait.w1);
  EXPECT_LT(held[1].since, held[0].release);
  EXPECT_EQ(held[1].release, peer.time);
  EXPECT_EQ(held[1].thread, peer.w1);
  for (const Held &h : held) EXPECT_EQ(h.object, ~object.w1) << "the side of the readers";
}

TEST(Holds, EachReaderTellsSinceWhenItHadTheLock) {
  check_holds("rwlock_edges");
}

// Sanitizers do not know static programs (CMakePresets.json).
TEST(StaticHolds, EachReaderTellsSinceWhenItHadTheLock) {
  check_holds("static_rwlock_edges");
}

std::string name_of(const testing::TestParamInfo<std::vector<std::string>> &info) {
  return test_name(info.param[0] + "_" + info.param[1]);
}

INSTANTIATE_TEST_SUITE_P(
    Scenarios, KindEdges,
    testing::ValuesIn(each({
        {"rwlock_edges", {"last-reader", "readers-in-turn", "writer", "writers", "timeout"}},
        {"lock_edges", {"spin", "many-signals", "signal-at-once", "owner-died", "reused", "uncontended"}},
        {"meeting_edges", {"barrier", "once", "once-c11"}},
        {"c11_edges", {"mutex", "condition", "join"}},
        {"semaphore_edges", {"many-posts", "interrupted", "cancelled", "named", "system-v", "system-v-zero"}},
        {"futex_edges", {"wake", "requeue", "pi", "timeout"}},
        {"std_edges",
         {"mutex", "recursive-mutex", "timed-mutex", "shared-mutex-writer", "shared-mutex-reader",
          "shared-mutex-last-reader", "condition-variable", "condition-variable-any", "counting-semaphore", "latch",
          "barrier", "atomic-wait", "future", "call-once", "jthread"}},
    })),
    name_of);

class DescriptorEdges : public testing::TestWithParam<std::tuple<const char *, const char *>> {};

TEST_P(DescriptorEdges, AreExactlyTheForcedOnes) {
  check_edges({program("descriptor_edges"), std::get<0>(GetParam()), std::get<1>(GetParam())});
}

std::string descriptor_test_name(const testing::TestParamInfo<std::tuple<const char *, const char *>> &info) {
  return test_name(std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(
    Both, DescriptorEdges,
    testing::Combine(testing::Values("pipe", "pipe-end", "pipe-full", "pipe-midway", "fifo", "eventfd", "socketpair",
                                     "socketpair-read", "socketpair-message", "socketpair-full", "socketpair-timeout",
                                     "unix-accept", "unix", "tcp-accept", "tcp", "posix-queue", "posix-queue-full",
                                     "system-v-queue", "poll", "ppoll", "ppoll-checked", "poll-timeout", "select",
                                     "pselect", "epoll", "pause", "pause-tgkill", "sigsuspend", "sigwait",
                                     "sigtimedwait", "signalfd", "nanosleep", "poll-interrupted", "flock", "lock-ofd"),
                     testing::Values("threads", "processes")),
    descriptor_test_name);
// A child has a copy of the descriptor, so that closing it unlocks nothing.
INSTANTIATE_TEST_SUITE_P(Threads, DescriptorEdges,
                         testing::Combine(testing::Values("flock-close"), testing::Values("threads")),
                         descriptor_test_name);
INSTANTIATE_TEST_SUITE_P(Processes, DescriptorEdges,
                         testing::Combine(testing::Values("lock-posix", "child", "child-exit", "child-quick",
                                                          "child-killed"),
                                          testing::Values("processes")),
                         descriptor_test_name);

// Linked with -static the same edges are found, by one way to the real functions instead of the other.
class StaticProgram : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(StaticProgram, HasTheSameEdges) {
  std::vector<std::string> argv = GetParam();
  argv[0] = program("static_" + argv[0]);
  check_edges(argv);
}

INSTANTIATE_TEST_SUITE_P(
    Edges, StaticProgram,
    testing::Values(std::vector<std::string>{"edges", "mutex"}, std::vector<std::string>{"edges", "condition"},
                    std::vector<std::string>{"edges", "semaphore"}, std::vector<std::string>{"edges", "join"},
                    std::vector<std::string>{"edges", "created"}, std::vector<std::string>{"meeting_edges", "barrier"},
                    std::vector<std::string>{"rwlock_edges", "last-reader"},
                    std::vector<std::string>{"futex_edges", "requeue"},
                    std::vector<std::string>{"semaphore_edges", "interrupted"},
                    std::vector<std::string>{"semaphore_edges", "cancelled"},
                    std::vector<std::string>{"semaphore_edges", "named"},
                    std::vector<std::string>{"descriptor_edges", "pipe", "processes"},
                    std::vector<std::string>{"descriptor_edges", "epoll", "threads"},
                    std::vector<std::string>{"descriptor_edges", "ppoll-checked", "threads"},
                    std::vector<std::string>{"descriptor_edges", "tcp-accept", "processes"},
                    std::vector<std::string>{"descriptor_edges", "child-exit", "processes"}),
    name_of);

// Between processes: what lies in shared memory is one object, at whatever addresses; private memory never is.
class SharedMemory : public testing::TestWithParam<std::tuple<const char *, const char *>> {};

TEST_P(SharedMemory, EdgesCrossProcesses) {
  check_edges({program("shared"), std::get<0>(GetParam()), std::get<1>(GetParam())});
}

INSTANTIATE_TEST_SUITE_P(
    Processes, SharedMemory,
    testing::Combine(testing::Values("anonymous", "moved", "file", "system-v"),
                     testing::Values("mutex", "condition", "semaphore", "rwlock-read", "rwlock-write", "barrier",
                                     "spin", "futex", "described", "number", "private")),
    [](const auto &info) { return test_name(std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param)); });

// Sub-microsecond holds: waits name another thread, at a time within the wait.
TEST(Contention, WaitsNameTheirWakers) {
  Recording recording({"--ring-bytes", "4194304", "--slots", "8"});
  EXPECT_EQ(Running({program("edges"), "mutex-storm"}, recording.session()).wait(), 0);
  const DecodedTrace trace = recording.finish();
  size_t waits = 0, unknown = 0;
  for (const auto &[uid, list] : trace.records)
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].kind != 6 || list[i].aux != 1) continue;
      const DecodedRecord &peer = list[i + 2];
      ++waits;
      unknown += peer.aux & 1;
      EXPECT_NE(peer.w1, uid);
      EXPECT_LE(list[i].w1, peer.time);
      EXPECT_LE(peer.time, list[i].time);
    }
  ASSERT_GT(waits, 0u);
  EXPECT_LE(unknown, 1 + waits / 50);
}

}  // namespace

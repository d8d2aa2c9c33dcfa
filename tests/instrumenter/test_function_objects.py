"""Calls through `std::function` and its like lead to what is kept in it (UNIT_METADATA.md "Calls in C++")."""

from __future__ import annotations

import pytest
from workshop import Workshop

from vprof.program.callgraph import build
from vprof.program.elf import read_program

PROGRAM = """
#include <functional>
#include <memory>
struct Handler {
  Handler();
  int clear(), secure();
  int write(char c), flush(char c);
  virtual int close(long), fail(long);
  int on_read() { return read_(*this); }
  int on_write(char c) { return write_(c); }
  int on_close(long why) { return close_(why); }
  int on_timer(short id) { return timer_(id); }
  int on_nothing(double d) { return nothing_(d); }
  std::function<int(Handler &)> read_;
  std::function<int(char)> write_;
  std::function<int(long)> close_;
  std::function<int(short)> timer_;
  std::function<int(double)> nothing_;
};
struct Special : Handler { int close(long) override; };
int tick(short id) { return id + 1; }
int Handler::clear() { return 1; }
int Handler::secure() { return 2; }
int Handler::write(char c) { return c; }
int Handler::flush(char c) { return -c; }
int Handler::close(long why) { return why; }
int Handler::fail(long why) { return -why; }
int Special::close(long why) { return -why; }
Handler::Handler() : read_(&Handler::clear) {
  read_ = &Handler::secure;
  write_ = std::bind(&Handler::write, this, std::placeholders::_1);
  close_ = std::bind(&Handler::close, this, std::placeholders::_1);
  timer_ = tick;
}
"""
CALLED = {
    "on_read": {"Handler::clear", "Handler::secure"},
    "on_write": {"Handler::write"},
    "on_close": {"Handler::close", "Special::close"},
    "on_timer": {"tick"},
    "on_nothing": set[str](),
}


@pytest.mark.parametrize("caller", CALLED)
def test_a_call_through_a_function_object_leads_to_what_is_in_it(caller: str, shop: Workshop) -> None:
    shop.write(p_cpp=PROGRAM)
    shop.cxx("-std=c++17", "-c", "p.cpp")
    graph = build(read_program(shop.path / "p.o"))
    names = {name: f for f, name in enumerate(graph.names)}
    callees = {*graph.candidates[names[f"Handler::{caller}"]], *graph.calls[names[f"Handler::{caller}"]]}
    assert {graph.names[f] for f in callees if graph.definitions[f]} == CALLED[caller]

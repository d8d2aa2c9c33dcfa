"""The driver's command line: what is wrong with it is said in one line, before anything runs."""

import pytest
from load_runs import Driver

WHERE = ["--on", "postgres", "--socket", "/nowhere"]
RUN = ["run", "noop", *WHERE, "--latencies", "/nowhere/file", "--clients", "1", "--seconds", "1"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the first argument must be setup, run, check or list"),
        (["start"], "the first argument must be setup, run, check or list"),
        (["run"], "which workload?"),
        (["run", "tpcz", *WHERE], "there is no workload 'tpcz'"),
        (["list", "all"], "list takes no arguments"),
        (["run", "noop", "--socket", "x"], "--on is missing"),
        (["check", "noop", "--on", "mysql"], "--socket is missing"),
        (["run", "noop", "--on", "oracle"], "--on oracle: must be postgres or mysql"),
        (["setup", "noop", *WHERE, "--clients", "2"], "--clients goes with run only"),
        (["run", "noop", *WHERE], "run needs --latencies"),
        ([*RUN, "--clients", "0"], "--clients 0: must be a whole number from 1 to 10000"),
        ([*RUN, "--clients", "-1"], "--clients -1: must be a whole number"),
        ([*RUN, "--scale", "1.5"], "--scale 1.5: must be a whole number"),
        ([*RUN, "--seconds", "nan"], "--seconds nan: must be a number"),
        ([*RUN, "--rate", "0"], "--rate 0: must be a number"),
        ([*RUN, "--rate", "5x"], "--rate 5x: must be a number"),
        ([*RUN, "--rate", "5", "--think", "5"], "--think and --rate exclude each other"),
        ([*RUN, "--arrivals", "even"], "--arrivals needs --rate"),
        ([*RUN, "--arrivals", "odd"], "--arrivals odd: must be poisson or even"),
        ([*RUN, "--isolation", "none"], "--isolation none: must be read committed, repeatable read or serializable"),
        ([*RUN, "--mix", "select_2=1"], "--mix select_2=1: names another type; the types of noop are select_1\n"),
        (["run", "tpcc", *RUN[2:], "--mix", "pay=1"], "the types of tpcc are new_order, payment, order_status"),
        ([*RUN, "--mix", "select_1"], "--mix select_1: must look like A=45,B=55"),
        ([*RUN, "--mix", "select_1=-1"], "--mix select_1=-1: has a weight that is not"),
        ([*RUN, "--mix", "select_1=0"], "--mix select_1=0: gives no type a weight"),
        ([*RUN, "--theta", "1"], "--theta: noop has none, leave it out"),
        ([*RUN, "--writes", "0.5"], "--writes: noop has none, leave it out"),
        ([*RUN, "--tires", "1"], "unrecognized option '--tires'"),
        ([*RUN, "more"], "'more' is not an option"),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, list) else "",
)
def test_what_is_wrong_is_said_in_one_line(arguments: list[str], said: str, driver: Driver) -> None:
    done = driver.call(*arguments)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith("vprof-load-driver: ") and said in done.stderr and done.stderr.count("\n") == 1


def test_a_dry_run_checks_options_and_needs_no_server(driver: Driver) -> None:
    right = driver.call(*RUN, "--dry-run")
    assert (right.returncode, right.stdout, right.stderr) == (0, "", "")
    wrong = driver.call(*RUN, "--theta", "1", "--dry-run")
    assert wrong.returncode == 2 and "--theta: noop has none" in wrong.stderr
    elsewhere = driver.call("check", "noop", *WHERE, "--dry-run")
    assert elsewhere.returncode == 2 and "--dry-run goes with run only" in elsewhere.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["run", "noop", "--help"]])
def test_help(arguments: list[str], driver: Driver) -> None:
    done = driver.call(*arguments)
    assert done.returncode == 0 and done.stdout.startswith("usage: vprof-load-driver") and not done.stderr


def test_list(driver: Driver) -> None:
    done = driver.call("list")
    assert done.returncode == 0 and done.stdout.startswith("noop ")

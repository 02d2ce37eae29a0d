"""How random tests run, and where shared test code is found."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Tests are imported by path, not as packages: shared modules are found here, the study above.
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from strategies import CASES

pytest.register_assert_rewrite("every_engine", "small_worlds")

# With the default number a run is repeatable: what is red stays red. A long run looks further each time.
settings.register_profile(
    "hornbeam",
    deadline=None,
    derandomize="HORNBEAM_CASES" not in os.environ,
    max_examples=max(CASES // 10, 1),
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("hornbeam")


# A shell that starts tests in the background makes them, and so their children, deaf to Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of several workers, one starts Spark, one a server and one a browser: their tests stay together."""
    for item in items:
        for system in ("spark", "postgres"):
            if system in item.nodeid.partition("[")[2]:
                item.add_marker(pytest.mark.xdist_group(system))
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("browser"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A server runs as soon as a test needs it."""
    import servers

    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if getattr(parameters.get("engine"), "name", "") == "postgres":
        servers.postgres()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Engines that are slow to start draw fewer random cases of the same tests."""
    from every_engine import SLOWER

    parameters = getattr(getattr(item, "callspec", None), "params", {})
    slower = SLOWER.get(getattr(parameters.get("engine"), "name", ""), 1)
    drawn = getattr(getattr(item, "obj", None), "_hypothesis_internal_use_settings", None)
    if slower == 1 or not getattr(item.obj, "is_hypothesis_test", False):
        yield
        return
    usual = drawn or settings.default
    fewer = max(1, usual.max_examples // slower)
    item.obj._hypothesis_internal_use_settings = settings(usual, max_examples=fewer)
    yield
    item.obj._hypothesis_internal_use_settings = drawn


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tests of an engine that cannot run here are not there at all: that is said."""
    from every_engine import MISSING

    for name, needs in MISSING.items():
        terminalreporter.write_line(f"No test ran on the engine {name}: it needs {needs}.", yellow=True)
